// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ChunkLoss: computes linear layers, the loss of classes of their results and
// the gradients of both in chunks of rows.
//
// Assumes a simplified step in which losses of classes are not decomposed.
// Whether and how a loss is chunked determines the order in which gradients are
// accumulated: it depends on shapes and on what the target says (LossChunks).
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/distillation/DistillationOps.h"
#include "dialects/ingot/partition/Partitionable.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <numeric>

namespace ingot {
#define GEN_PASS_DEF_CHUNKLOSS
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

int64_t countElements(Value value) {
  return tensorType(value).getNumElements();
}
int64_t countRows(Value value) { return tensorType(value).getDimSize(0); }

/// How an op is computed in chunks of rows: contiguous ranges of equal length
/// along the first dimension.
struct RowParts {
  enum Kind {
    None,
    /// The results are split into chunks, too.
    Rows,
    /// The results are split into chunks, but their readers need the whole
    /// tensor.
    LastRows,
    /// The result is the sum of the results of the chunks.
    Sum
  } kind = None;
  /// The operands that are split; the others are read whole.
  llvm::SmallBitVector cut = {};
  Factor factor = {};
};

/// Returns whether a factor is that of the rows of all dimensions that have it.
bool isOfRows(ArrayRef<int64_t> dims) {
  return llvm::all_of(dims, [](int64_t dim) { return dim <= 0; });
}

/// Returns how an op is split if some of its operands are split into chunks.
RowParts splitRows(Operation *op, function_ref<bool(Value)> isCut) {
  for (const Factor &factor : getFactors(op)) {
    bool isSum = factor.kind == Factor::Sum;
    if ((factor.kind != Factor::Free && !isSum) || factor.hasRanges() ||
        factor.isContiguous || !isOfRows(factor.operandDims) ||
        !isOfRows(factor.resultDims) ||
        (!isSum && llvm::is_contained(factor.resultDims, -1)))
      continue;
    RowParts split{RowParts::Sum, llvm::SmallBitVector(op->getNumOperands()),
                   factor};
    bool isWhole = false;
    for (OpOperand &operand : op->getOpOperands())
      if (factor.operandDims[operand.getOperandNumber()] == 0)
        split.cut.set(operand.getOperandNumber());
      else
        isWhole |= isCut(operand.get());
    if (isWhole || (isSum && split.cut.none()))
      continue;
    if (!isSum)
      split.kind = isContraction(op) ? RowParts::LastRows : RowParts::Rows;
    return split;
  }
  return {};
}

/// The ops that depend on the matmuls of linear layers with as many rows and
/// columns, up to results that are no larger than the layers' operands.
class Chunks {
public:
  /// The matmuls are in program order.
  Chunks(ArrayRef<MatmulOp> matmuls, int64_t minRows, int64_t maxParts);

  StringRef getProblem() const { return problem; }
  int64_t getParts() const { return parts; }
  /// Returns the bytes saved while the loss is computed.
  int64_t getBytesSaved() const;
  void rewrite() const;

private:
  bool isBig(Value value) const {
    return countElements(value) >= countElements(matmuls.front());
  }
  bool isCut(Value value) const { return cut.contains(value); }
  void follow();
  void prune();
  void check();
  using Pieces = llvm::MapVector<Value, SmallVector<Value>>;
  Value getPart(OpBuilder &builder, IRMapping &mapping, Value value,
                int64_t part) const;
  Operation *buildPart(OpBuilder &builder, IRMapping &mapping, Operation *op,
                       const RowParts &split, int64_t part) const;
  void startAfter(OpBuilder &builder, IRMapping &mapping, Pieces &pieces,
                  int64_t part) const;

  /// Mutable, because handles of ops have no const methods.
  mutable SmallVector<MatmulOp> matmuls;
  int64_t parts = 1;
  std::string problem;
  /// The values that are split into chunks, and the ops that compute them or
  /// their sum, in program order.
  DenseSet<Value> cut;
  SmallVector<std::pair<Operation *, RowParts>> ops;
};

} // namespace

Chunks::Chunks(ArrayRef<MatmulOp> matmuls, int64_t minRows, int64_t maxParts)
    : matmuls(matmuls) {
  follow();
  prune();
  check();
  int64_t rows = countRows(this->matmuls.front()), common = rows;
  for (Value value : cut)
    common = std::gcd(common, countRows(value));
  // Each chunk is compiled. Sizes that no count up to the maximum divides
  // accept a few more chunks.
  constexpr int64_t tolerance = 4;
  int64_t limit = std::min(common, tolerance * maxParts);
  for (int64_t count = 2; count <= limit; ++count)
    if (common % count == 0 && rows / count >= minRows &&
        (count <= maxParts || parts == 1))
      parts = count;
  if (problem.empty() && parts == 1)
    problem = rows < 2 * minRows ? "there are too few rows"
                                 : "no number of chunks divides the rows";
}

/// Finds all ops that can be computed in chunks.
void Chunks::follow() {
  auto test = [&](Value value) { return isCut(value); };
  for (Operation *op = matmuls.front(); op; op = op->getNextNode()) {
    if (llvm::is_contained(matmuls, op)) {
      RowParts rows = splitRows(op, [](Value) { return false; });
      rows.kind = RowParts::Rows;
      ops.push_back({op, rows});
      cut.insert(op->getResult(0));
      continue;
    }
    if (!llvm::any_of(op->getOperands(), test))
      continue;
    RowParts split = splitRows(op, test);
    if (split.kind == RowParts::None)
      continue;
    ops.push_back({op, split});
    if (split.kind == RowParts::Rows)
      cut.insert_range(op->getResults());
  }
}

/// Keeps those that large values depend on or that depend on large values.
void Chunks::prune() {
  DenseSet<Operation *> kept;
  for (auto &[op, split] : llvm::reverse(ops)) {
    bool isKept = llvm::any_of(op->getOperands(), [&](Value value) {
      return isCut(value) && isBig(value);
    });
    for (Value result : op->getResults())
      isKept |= isBig(result) ||
                llvm::any_of(result.getUsers(), [&](Operation *user) {
                  return kept.contains(user);
                });
    if (isKept)
      kept.insert(op);
    else
      for (Value result : op->getResults())
        cut.erase(result);
  }
  llvm::erase_if(ops, [&](auto &entry) { return !kept.contains(entry.first); });
}

void Chunks::check() {
  DenseSet<Operation *> inside, dependent;
  for (auto &[op, split] : ops)
    inside.insert(op);
  // No value that a chunk depends on may depend on all chunks.
  for (Operation *op = matmuls.front(); op; op = op->getNextNode()) {
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      bool isAfter = inside.contains(source) || dependent.contains(source);
      if (!isAfter)
        continue;
      if (!inside.contains(op))
        dependent.insert(op);
      else if (!isCut(operand))
        problem = "the gradient depends on the loss of all rows";
    }
  }
  for (Value value : cut)
    for (Operation *user : value.getUsers())
      if (isBig(value) && !inside.contains(user))
        problem = "the logits have other readers";
}

int64_t Chunks::getBytesSaved() const {
  auto bytes = [](Value value) { return byteSize(tensorType(value)); };
  int64_t saved = 0;
  for (MatmulOp matmul : matmuls)
    saved += bytes(matmul) - bytes(matmul) / parts;
  // The accumulated sum is live together with the next matmul.
  for (auto &[op, split] : ops)
    if (split.kind == RowParts::Sum)
      saved -= bytes(op->getResult(0));
  return saved;
}

/// Returns chunk `part` of a value that is not computed in chunks itself.
Value Chunks::getPart(OpBuilder &builder, IRMapping &mapping, Value value,
                      int64_t part) const {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape());
  SmallVector<int64_t> strides(type.getRank(), 1), shape(limits);
  shape[0] /= parts;
  starts[0] = part * shape[0];
  limits[0] = starts[0] + shape[0];
  auto partType = RankedTensorType::get(shape, type.getElementType());
  Operation *op = value.getDefiningOp();
  DenseElementsAttr constant;
  if (op && matchPattern(op, m_Constant(&constant)) && constant.isSplat()) {
    Value splat = ConstantOp::create(builder, op->getLoc(), partType,
                                     constant.resizeSplat(partType));
    mapping.map(value, splat);
    return splat;
  }
  // Large values are computed in chunks rather than stored.
  if (op && isBig(value) && op->getNumResults() == 1) {
    RowParts split = splitRows(op, [](Value) { return false; });
    if (split.kind == RowParts::Rows && isa<ScalarBody>(op) &&
        !isa<Reduction>(op))
      return buildPart(builder, mapping, op, split, part)->getResult(0);
  }
  Value slice = SliceOp::create(builder, matmuls.front().getLoc(), partType,
                                value, starts, limits, strides);
  mapping.map(value, slice);
  return slice;
}

/// Builds the op for chunk `part` of its split operands.
Operation *Chunks::buildPart(OpBuilder &builder, IRMapping &mapping,
                             Operation *op, const RowParts &split,
                             int64_t part) const {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(split.cut.test(operand.getOperandNumber())
                           ? getPart(builder, mapping, operand.get(), part)
                           : operand.get());
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  if (split.kind == RowParts::Sum)
    return copy;
  if (auto partitionable = dyn_cast<Partitionable>(copy))
    partitionable.setFactorSize(split.factor,
                                countRows(op->getResult(0)) / parts);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults())) {
    RankedTensorType type = tensorType(from);
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= parts;
    to.setType(RankedTensorType::get(shape, type.getElementType()));
    mapping.map(from, to);
  }
  return copy;
}

/// Makes a chunk depend on all results of the one before: otherwise the logits
/// of several chunks would be in memory together.
void Chunks::startAfter(OpBuilder &builder, IRMapping &mapping, Pieces &pieces,
                        int64_t part) const {
  SmallVector<Value> inputs, operands;
  for (MatmulOp matmul : matmuls)
    if (!llvm::is_contained(inputs, matmul.getLhs()))
      inputs.push_back(matmul.getLhs());
  for (Value input : inputs)
    operands.push_back(getPart(builder, mapping, input, part));
  for (auto &[result, given] : pieces)
    operands.push_back(given.back());
  auto barrier = BarrierOp::create(builder, matmuls.front().getLoc(), operands);
  for (auto [input, value] : llvm::zip(inputs, barrier->getResults()))
    mapping.map(input, value);
  for (auto [entry, value] :
       llvm::zip(pieces, barrier->getResults().drop_front(inputs.size())))
    entry.second.back() = value;
}

void Chunks::rewrite() const {
  OpBuilder builder(ops.back().first);
  DenseSet<Operation *> inside;
  for (auto &[op, split] : ops)
    inside.insert(op);
  auto isOutside = [&](OpOperand &use) {
    return !inside.contains(use.getOwner());
  };
  // The results of the chunks, or their sum, for each result that is read
  // outside.
  Pieces pieces;
  for (auto &[op, split] : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUses(), isOutside))
        pieces[result] = {};
  for (int64_t part = 0; part < parts; ++part) {
    IRMapping mapping;
    if (part != 0)
      startAfter(builder, mapping, pieces, part);
    for (auto &[op, split] : ops) {
      Operation *copy = buildPart(builder, mapping, op, split, part);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults())) {
        auto entry = pieces.find(from);
        if (entry == pieces.end())
          continue;
        SmallVector<Value> &given = entry->second;
        if (split.kind == RowParts::Sum && part != 0)
          given.back() = AddOp::create(builder, op->getLoc(), from.getType(),
                                       given.back(), to);
        else
          given.push_back(to);
      }
    }
  }
  for (auto &[result, given] : pieces) {
    Value whole = given.front();
    if (given.size() > 1)
      whole = ConcatOp::create(builder, result.getLoc(), result.getType(),
                               given, /*dim=*/0);
    result.replaceUsesWithIf(whole, isOutside);
  }
  Block *block = ops.front().first->getBlock();
  for (auto &[op, split] : llvm::reverse(ops))
    op->erase();
  // Readers of the results may come before the last op, where the chunks are
  // now.
  sortTopologically(block);
}

namespace {
struct ChunkLoss : ingot::impl::ChunkLossBase<ChunkLoss> {
  using ChunkLossBase::ChunkLossBase;

  void runOnOperation() override {
    // Losses that read one layer are chunked together, with all their layers.
    llvm::EquivalenceClasses<Operation *> together;
    llvm::SetVector<Operation *> found;
    getOperation().walk([&](ClassLoss loss) {
      Operation *first = nullptr;
      for (Value scores : loss.getScores()) {
        MatmulOp matmul = findMatmul(scores);
        if (!matmul)
          continue;
        found.insert(matmul);
        together.unionSets(first ? first : matmul, matmul);
        first = matmul;
      }
    });
    DenseSet<Operation *> known;
    for (Operation *matmul : found) {
      SmallVector<MatmulOp> matmuls;
      for (Operation *other : together.members(matmul))
        if (known.insert(other).second)
          matmuls.push_back(cast<MatmulOp>(other));
      llvm::sort(matmuls,
                 [](MatmulOp a, MatmulOp b) { return a->isBeforeInBlock(b); });
      if (!matmuls.empty())
        chunk(matmuls);
    }
    // Ops that have been replaced by their chunks.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }

private:
  /// Returns the layer that computes the logits, through ops with as many
  /// elements; null if there is none, or if there are several.
  static MatmulOp findMatmul(Value logits) {
    int64_t elements = countElements(logits);
    llvm::SetVector<Value> values;
    values.insert(logits);
    MatmulOp found;
    for (size_t i = 0; i < values.size(); ++i) {
      Operation *op = values[i].getDefiningOp();
      if (auto matmul = dyn_cast_or_null<MatmulOp>(op)) {
        if (found)
          return {};
        found = matmul;
      } else if (isa_and_nonnull<ScalarBody, ReshapeOp>(op)) {
        for (Value operand : op->getOperands())
          if (countElements(operand) == elements)
            values.insert(operand);
      }
    }
    return found && tensorType(found).getRank() == 2 && !found.getTransposeLhs()
               ? found
               : MatmulOp();
  }

  void chunk(ArrayRef<MatmulOp> matmuls) {
    MatmulOp matmul = matmuls.front();
    auto options = remarkOptions(getArgument(), "ChunkedLoss");
    std::unique_ptr<const Target> target = Target::of(matmul);
    LossChunks rule = target->getCalls().getLossChunks(
        tensorType(matmul.getLhs()).getElementType());
    Chunks chunks(matmuls, minRows != 0 ? minRows : rule.minRows, maxParts);
    if (!chunks.getProblem().empty()) {
      remark::missed(matmul.getLoc(), options)
          << remark::reason("{0}", chunks.getProblem());
      return;
    }
    int64_t saved = chunks.getBytesSaved();
    if (rule.onlyForMemory && memoryBudget.empty()) {
      remark::missed(matmul.getLoc(), options)
          << remark::reason(
                 "no memory budget asks for it: each chunk would read and "
                 "write the sum of the weights' gradients")
          << remark::metric("bytes_saved", saved);
      return;
    }
    if (saved < minBytes) {
      remark::missed(matmul.getLoc(), options)
          << remark::reason(
                 "the accumulated gradients take as much memory as the "
                 "logits free")
          << remark::metric("bytes_saved", saved);
      return;
    }
    remark::passed(matmul.getLoc(), options)
        << remark::metric("layers", static_cast<int64_t>(matmuls.size()))
        << remark::metric("chunks", chunks.getParts())
        << remark::metric("bytes_saved", saved);
    chunks.rewrite();
    ++numChunked;
  }
};
} // namespace

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// QuantizeFloat8: rounds what matmuls read to 8-bit floats, with scales.
//
// Assumes that gradients have been built, and 16-bit operands chosen.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/NamePattern.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/options/OptionValues.h"
#include "passes/precision/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_QUANTIZEFLOAT8
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Of hardware and libraries: sizes of 8-bit matmuls are multiples of it.
static constexpr int64_t kSizeUnit = 16;
/// The elements that share a scale in block scaling, along a dimension.
static constexpr int64_t kBlock = 128;

/// Returns the value behind casts and moves of elements.
static Value rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOp>(op) && !isa<MovesElements>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The op that computes the value, behind casts and moves of elements.
static Operation *originOf(Value value) {
  return rootOf(value).getDefiningOp();
}

/// Whether the value is a parameter, behind casts and moves of elements.
static bool isParameter(ModuleOp module, Signature signature, Value value) {
  auto argument = dyn_cast<BlockArgument>(rootOf(value));
  if (!argument)
    return false;
  FlatSymbolRefAttr symbol = signature.argumentState(argument.getArgNumber());
  StateOp state = symbol ? findState(module, symbol) : StateOp();
  return state && (state.getRole() == Role::Parameter ||
                   state.getRole() == Role::Frozen);
}

/// Returns the head: the ops with 8-bit reads whose results reach the loss, or
/// what the function returns if it has none, through no other such op, and
/// those of the backward pass that read what these read.
static llvm::DenseSet<Operation *> findHead(ArrayRef<PrecisionRole> readers,
                                            const ResultList &results,
                                            Operation *loss, Block &block) {
  // The values on which the loss depends, and those on which a reader does.
  llvm::DenseSet<Value> wanted, read;
  if (!loss)
    for (const ResultList::Entry &entry : results.entries)
      if (!entry.state() && !entry.gradient())
        wanted.insert(entry.value);
  llvm::DenseSet<Operation *> all(llvm::from_range, readers), head;
  llvm::DenseSet<Value> roots;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (loss && loss->isBeforeInBlock(&op))
      continue;
    auto isIn = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(op.getResults(),
                          [&](Value value) { return set.contains(value); });
    };
    bool isReader = all.contains(&op), isWanted = &op == loss || isIn(wanted),
         isRead = isIn(read);
    if (isReader && isWanted && !isRead) {
      head.insert(&op);
      for (Value operand : op.getOperands())
        roots.insert(rootOf(operand));
    }
    if (isWanted)
      wanted.insert_range(op.getOperands());
    if (isRead || isReader)
      read.insert_range(op.getOperands());
  }
  for (Operation *reader : readers)
    if (loss && loss->isBeforeInBlock(reader) &&
        llvm::any_of(reader->getOperands(), [&](Value operand) {
          return roots.contains(rootOf(operand));
        }))
      head.insert(reader);
  return head;
}

/// Returns the largest power of two with which `amax` does not exceed the
/// largest number of the type; 1 where amax is 0.
static Value scaleOf(Arithmetic a, Value amax, FloatType type) {
  MLIRContext *context = type.getContext();
  double largest =
      llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  auto f32 = Float32Type::get(context);
  Value quotient = a.div(largest, amax);
  // The reciprocal of the scale has to be a normal number.
  quotient = a.min(quotient, 0x1p126);
  Value bits = a.bitcast(quotient, IntegerType::get(context, 32));
  constexpr double exponentBits = 0x7f800000;
  bits = a.logicalAnd(bits, a.constantLike(bits, exponentBits));
  Value isZero = a.compare(Predicate::EQ, amax, 0.0);
  return a.select(isZero, 1.0, a.bitcast(bits, f32));
}

namespace {

/// Parts of a tensor that share a scale: the whole tensor, or blocks of it.
class Blocks {
public:
  explicit Blocks(ArrayRef<int64_t> shape)
      : shape(shape), padded(shape), split(shape),
        dims(llvm::to_vector(
            llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size())))) {}

  /// Makes blocks along the dimension; squares of the matrix if so.
  void cut(int64_t dim, bool isSquare) {
    split.clear();
    dims.clear();
    auto rank = static_cast<int64_t>(shape.size());
    // Matrices are the last two dimensions.
    int64_t other = dim == rank - 1 ? rank - 2 : rank - 1;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim && !(isSquare && d == other)) {
        split.push_back(shape[d]);
        continue;
      }
      int64_t block = std::min(kBlock, shape[d]);
      auto count = static_cast<int64_t>(llvm::divideCeil(shape[d], block));
      padded[d] = count * block;
      split.append({count, block});
      dims.push_back(static_cast<int64_t>(split.size()) - 1);
    }
  }

  /// Returns the largest element of each block.
  Value maxOver(OpBuilder &builder, Arithmetic a, Value magnitude) const {
    if (isPadded()) {
      SmallVector<int64_t> none(shape.size()), high;
      for (auto [to, from] : llvm::zip_equal(padded, shape))
        high.push_back(to - from);
      magnitude = PadOp::create(builder, magnitude.getLoc(), magnitude, none,
                                high, none, llvm::APFloat(0.0));
    }
    return a.maxOver(a.reshape(magnitude, split), dims);
  }

  /// Returns a number of each block, broadcast to all of its elements.
  Value expand(OpBuilder &builder, Arithmetic a, Value value) const {
    Value all = a.reshape(a.broadcastOver(value, split, dims), padded);
    if (!isPadded())
      return all;
    return SliceOp::create(builder, value.getLoc(), all,
                           SmallVector<int64_t>(shape.size()), shape,
                           SmallVector<int64_t>(shape.size(), 1));
  }

private:
  bool isPadded() const { return padded != shape; }

  SmallVector<int64_t> shape, padded, split;
  /// The dimensions of `split` that are within a block.
  SmallVector<int64_t> dims;
};

struct QuantizeFloat8 : ingot::impl::QuantizeFloat8Base<QuantizeFloat8> {
  using QuantizeFloat8Base::QuantizeFloat8Base;

  LogicalResult initialize(MLIRContext *context) override {
    if (llvm::Error error =
            checkChoice("fp8-scaling", scaling, kFloat8Scalings))
      return emitUserError(context, std::move(error));
    auto pattern = parseNamePattern("keep-fp32", keepFp32);
    if (!pattern)
      return emitUserError(context, pattern.takeError());
    kept = std::move(*pattern);
    return success();
  }

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        quantize(Signature(func));
  }

private:
  /// What is rounded: a value, to a type, in blocks along a dimension.
  using Key = std::tuple<Value, Type, int64_t>;

  void quantize(Signature signature) {
    func::FuncOp func = signature.getFunction();
    // What only evaluates does not change the history that training keeps.
    bool trains = func.getSymName() == kTrainStepName;
    ResultList results = ResultList::of(signature);
    Operation *loss = nullptr;
    if (std::optional<unsigned> index = signature.findResult("loss"))
      loss = results.entries[*index].value.getDefiningOp();
    llvm::DenseMap<Key, Value> rounded;
    size_t numResults = results.entries.size();
    SmallVector<PrecisionRole> readers;
    for (Operation &op : func.getBody().front().without_terminator())
      if (auto role = dyn_cast<PrecisionRole>(op))
        if (!role.getFloat8Reads().empty())
          readers.push_back(role);
    llvm::DenseSet<Operation *> head =
        findHead(readers, results, loss, func.getBody().front());
    llvm::erase_if(readers, [&](PrecisionRole role) {
      return !isWanted(role, head.contains(role));
    });
    for (PrecisionRole role : readers) {
      for (Float8Read read : role.getFloat8Reads()) {
        OpOperand &operand = role->getOpOperand(read.operand);
        Operation *origin = originOf(operand.get());
        bool isGradient = loss && origin && loss->isBeforeInBlock(origin);
        Value &value = rounded[keyOf(operand.get(), isGradient, read.dim)];
        if (!value)
          value = round(signature, operand.get(), isGradient, read.dim, trains,
                        results);
        operand.set(value);
      }
      ++numQuantized;
      remark::passed(role->getLoc(), remarkOptions(getArgument(), "Float8"))
          << remark::metric("op", role->getName().getStringRef())
          << remark::metric("scaling", StringRef(scaling));
    }
    if (results.entries.size() != numResults)
      results.apply(signature);
  }

  Key keyOf(Value value, bool isGradient, int64_t dim) {
    return {value, typeFor(isGradient), scaling == "block" ? dim : 0};
  }

  FloatType typeFor(bool isGradient) {
    if (isGradient && scaling != "block")
      return Float8E5M2Type::get(&getContext());
    return Float8E4M3FNType::get(&getContext());
  }

  /// Whether the op is to read 8-bit operands, and a library could.
  bool isWanted(Operation *op, bool isHead) {
    auto options = remarkOptions(getArgument(), "Float8");
    auto note = [&](StringRef why) {
      remark::missed(op->getLoc(), options)
          << remark::metric("op", op->getName().getStringRef())
          << remark::reason("{0}", why);
      return false;
    };
    if (kept && llvm::any_of(nodeNames(op->getLoc()),
                             [&](StringRef name) { return kept->match(name); }))
      return note("excluded by keep-fp32");
    if (isHead)
      return note("the head, whose results the loss reads, keeps 16 bits");
    for (Value operand : op->getOperands()) {
      RankedTensorType type = tensorType(operand);
      if (!isa<FloatType>(type.getElementType()) ||
          type.getElementTypeBitWidth() > 32)
        return note("8-bit floats stand for bf16, fp16 and fp32 alone");
      for (int64_t size : type.getShape().take_back(2))
        if (size % kSizeUnit != 0 || size == 0) {
          ++numRefused;
          return note("8-bit matmuls need sizes that are multiples of 16");
        }
    }
    return true;
  }

  /// Returns the value rounded to the 8-bit type, in its own type.
  Value round(Signature signature, Value value, bool isGradient, int64_t dim,
              bool trains, ResultList &results) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    Arithmetic a(builder, value.getLoc());
    FloatType type = typeFor(isGradient);
    Value wide = a.cast(value, builder.getF32Type());
    Blocks blocks(tensorType(wide).getShape());
    if (scaling == "block")
      blocks.cut(dim, isParameter(getOperation(), signature, value));
    Value amax = blocks.maxOver(builder, a, a.abs(wide));
    if (scaling == "delayed" && trains)
      amax = remember(signature, builder, a, amax, value, results);
    Value scale = scaleOf(a, amax, type);
    Value scaled = a.mul(wide, blocks.expand(builder, a, scale));
    Value narrow = ReducePrecisionOp::create(
        builder, value.getLoc(), scaled.getType(), scaled, TypeAttr::get(type));
    Value inverse = blocks.expand(builder, a, a.div(1.0, scale));
    return a.cast(a.mul(narrow, inverse), tensorType(value).getElementType());
  }

  /// Puts the magnitude of this step into a state, and returns the largest of
  /// the steps before.
  Value remember(Signature signature, OpBuilder &builder, Arithmetic a,
                 Value amax, Value value, ResultList &results) {
    auto type = RankedTensorType::get({static_cast<int64_t>(history)},
                                      builder.getF32Type());
    SmallVector<std::string> nodes = nodeNames(value.getLoc());
    std::string name =
        ((nodes.empty() ? StringRef("value") : StringRef(nodes.back())) +
         "/amax")
            .str();
    // The roles of scales: saved, and not exported.
    FlatSymbolRefAttr symbol =
        addState(getOperation(), name, Role::LossScale, type);
    Value old = signature.addState(symbol, type);
    Value newest = a.reshape(amax, {1});
    if (history > 1) {
      Value recent =
          SliceOp::create(builder, value.getLoc(), old, ArrayRef<int64_t>{0},
                          ArrayRef<int64_t>{static_cast<int64_t>(history) - 1},
                          ArrayRef<int64_t>{1});
      newest = ConcatOp::create(builder, value.getLoc(), type,
                                ValueRange{newest, recent},
                                builder.getI64IntegerAttr(0));
    }
    results.addState(symbol, newest);
    return a.maxOver(old, {0});
  }

  std::shared_ptr<llvm::Regex> kept;
};

} // namespace

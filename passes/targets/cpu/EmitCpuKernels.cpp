// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// EmitCpuKernels: loop nests for kernels. A nest consists of parallel loops
// over the leading dimensions, which share one index, around a loop over the
// trailing ones.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/codegen/ElementEmitter.h"
#include "passes/codegen/ReductionSpace.h"
#include "passes/targets/cpu/KernelFunction.h"
#include "passes/targets/cpu/Passes.h"
#include <set>

namespace ingot {
#define GEN_PASS_DEF_EMITCPUKERNELS
#include "passes/targets/cpu/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// The number of columns that a piece of a reduction across the innermost
/// dimension accumulates, where rows are not divided into pieces.
constexpr int64_t kStrip = 256;
/// The number of parts of the rows from which on the columns of a piece are
/// those whose accumulators fit into these bytes of the first-level cache:
/// memory is read along rows, not a part of each page at a time.
constexpr int64_t kEnoughParts = 16;
constexpr int64_t kAccumulatorBytes = 16 << 10;
/// The rows that are added at once to each accumulator, which is loaded and
/// stored once for them. Elements that take many ops have other costs, and
/// tensors of more bytes come from memory, which delivers one row after the
/// other faster than several in turn.
constexpr int64_t kRowsAtOnce = 4;
constexpr size_t kManyOps = 32;
constexpr int64_t kCachedBytes = 32 << 20;
/// The number of terms along the innermost dimension that are added to one
/// vector of sums, whose errors grow with it. Longer reductions add up the sums
/// of blocks.
constexpr int64_t kLongestSum = 65536;
/// Loops of fewer iterations may be unrolled with those around them.
constexpr int64_t kLongLoop = 32;

class KernelBuilder : KernelFunction {
public:
  using KernelFunction::KernelFunction;

  /// Emits the function next to the kernel. With `flat`, iterations of a loop
  /// are elements.
  Extent build(bool flat);

private:
  using Emit = Extent (KernelBuilder::*)(size_t split);

  /// Emits the kernel with the longest collapsed loop (smallest split) in which
  /// no index has to be delinearized.
  Extent emitMerged(size_t first, size_t last, Emit emit);

  /// Returns the bytes of all buffers.
  int64_t countBytes() const;

  Extent emitLoop(size_t split);
  SmallVector<int64_t> findSeams(ArrayRef<int64_t> shape, size_t split);
  Extent emitAlong(size_t split);
  Extent emitAcross(size_t split);
  Extent emitCustom();

  /// Emits a loop over a collapsed index; `body` gets the indices of `sizes`.
  template <typename Body>
  void loop(Value from, Value to, ArrayRef<int64_t> sizes, Body emitBody);

  /// The collapsed loop of the current attempt.
  scf::ForOp merged;
};

template <typename Body>
void KernelBuilder::loop(Value from, Value to, ArrayRef<int64_t> sizes,
                         Body emitBody) {
  OpBuilder::InsertionGuard guard(builder);
  auto op = scf::ForOp::create(builder, loc, from, to, scalars().index(1));
  builder.setInsertionPointToStart(op.getBody());
  merged = op;
  emitBody(scalars().delinearize(op.getInductionVar(), sizes));
}

/// Keeps the loops between two loops of a nest as they are. LLVM unrolls short
/// ones around a long one before it vectorizes that, and each copy becomes
/// several loops, which saves no time and takes much to compile.
static void keepRolled(scf::ForOp inner, scf::ForOp outer) {
  MLIRContext *context = inner.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), /*count=*/{},
      /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
      /*followupRemainder=*/{}, /*followupAll=*/{});
  auto annotation = LLVM::LoopAnnotationAttr::get(
      context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  for (auto loop = inner->getParentOfType<scf::ForOp>(); loop && loop != outer;
       loop = loop->getParentOfType<scf::ForOp>())
    loop->setAttr(LLVM::LoopAnnotationAttr::getMnemonic(), annotation);
}

Extent KernelBuilder::emitMerged(size_t first, size_t last, Emit emit) {
  for (size_t split = first;; ++split) {
    createFunction();
    merged = nullptr;
    Extent extent = (this->*emit)(split);
    finishFunction();
    if (split >= last || !merged || !takesIndicesApart(merged))
      return extent;
    function.erase();
  }
}

/// Returns the positions at which concatenations along the first collapsed
/// dimension switch to the next input, with both ends: between them, no element
/// tests which input it is in.
SmallVector<int64_t> KernelBuilder::findSeams(ArrayRef<int64_t> shape,
                                              size_t split) {
  // More positions would be more code than the time that they save.
  constexpr size_t kMost = 8;
  int64_t length = product(shape.drop_front(split));
  int64_t stride = product(shape.drop_front(split + 1));
  std::set<int64_t> seams = {0, length};
  for (auto concat : body.getOps<ConcatOp>()) {
    if (static_cast<size_t>(concat.getDim()) != split ||
        tensorType(concat.getResult()).getShape() != shape)
      continue;
    int64_t at = 0;
    for (Value input : concat.getInputs())
      seams.insert((at += tensorType(input).getDimSize(split)) * stride);
  }
  if (seams.size() > kMost + 1)
    return {0, length};
  return llvm::to_vector(seams);
}

/// Emits a loop kernel: one iteration computes one element of every result.
Extent KernelBuilder::emitLoop(size_t split) {
  ArrayRef<int64_t> shape = tensorType(yield()->getOperand(0)).getShape();
  ArrayRef<int64_t> outer = shape.take_front(split);
  ArrayRef<int64_t> inner = shape.drop_front(split);
  ElementEmitter emitter(kernel, builder, inputs());
  auto emitElement = [&](ValueRange indices) {
    // All elements are computed before the first store, because results may
    // overwrite inputs.
    SmallVector<Value> elements;
    for (Value result : yield()->getOperands())
      elements.push_back(emitter.element(result, indices));
    Value position = scalars().linearize(indices, shape);
    for (auto [value, buffer] : llvm::zip_equal(elements, outputs()))
      memref::StoreOp::create(builder, loc, value, buffer, position);
  };
  // A window or matmul takes longer than an element.
  int64_t work = 1;
  for (Operation &op : body.without_terminator())
    if (auto scalar = dyn_cast<ScalarBody>(op); scalar && scalar.isLooped())
      work +=
          cast<CostModel>(op).getFlops() / std::max<int64_t>(1, product(shape));

  int64_t iterations = product(outer), length = product(inner);
  if (split == 0) {
    loop(begin, end, inner, emitElement);
    return {length, std::max<int64_t>(1, kElementsPerThread / work)};
  }
  // Few long rows are split into pieces.
  int64_t pieces = 1;
  if (iterations < 16)
    pieces = std::clamp<int64_t>(length * work / kElementsPerThread, 1, 16);
  int64_t piece = llvm::divideCeil(length, pieces);
  SmallVector<int64_t> seams = findSeams(shape, split);
  loop(begin, end, {}, [&](ValueRange) {
    ScalarEmitter e = scalars();
    Value row = merged.getInductionVar();
    SmallVector<std::pair<Value, Value>> ranges;
    if (pieces > 1) {
      Value from = e.mul(e.rem(row, pieces), piece);
      Value to = arith::MinSIOp::create(builder, loc, e.add(from, piece),
                                        e.index(length));
      ranges.push_back({from, to});
      row = e.div(row, pieces);
    } else {
      ArrayRef<int64_t> bounds = seams;
      for (auto [from, to] :
           llvm::zip_equal(bounds.drop_back(), bounds.drop_front()))
        ranges.push_back({e.index(from), e.index(to)});
    }
    SmallVector<Value> leading = e.delinearize(row, outer);
    for (auto [from, to] : ranges)
      loop(from, to, inner, [&](ValueRange trailing) {
        SmallVector<Value> indices = leading;
        llvm::append_range(indices, trailing);
        emitElement(indices);
      });
  });
  return {iterations * pieces,
          std::max<int64_t>(1, kElementsPerThread / (piece * work))};
}

/// Emits reductions over the innermost dimension: each iteration computes one
/// element of the results, with sums in registers.
Extent KernelBuilder::emitAlong(size_t split) {
  ReductionSpace space(yield()->getOperands());
  SmallVector<int64_t> kept = space.sizes(space.kept);
  SmallVector<int64_t> reduced = space.sizes(space.reduced);
  ArrayRef<int64_t> outer = ArrayRef(reduced).take_front(split);
  ArrayRef<int64_t> inner = ArrayRef(reduced).drop_front(split);
  ElementEmitter emitter(kernel, builder, inputs());

  auto rows = scf::ForOp::create(builder, loc, begin, end, scalars().index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rows.getBody());
  SmallVector<Value> keptIndices =
      scalars().delinearize(rows.getInductionVar(), kept);
  SmallVector<Value> identities;
  for (Reduction root : space.roots)
    identities.push_back(root.emitIdentity(builder, loc));
  SmallVector<Value> sums = scalars().loops(
      outer, identities,
      [&](const ScalarEmitter &e, ValueRange leading, ValueRange carried) {
        // The sum of a range, onto what is carried.
        auto sumRange = [&](Value from, Value to, ValueRange onto) {
          auto loop =
              scf::ForOp::create(builder, loc, from, to, e.index(1), onto);
          merged = loop;
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(loop.getBody());
          SmallVector<Value> reducedIndices(leading);
          llvm::append_range(reducedIndices,
                             e.delinearize(loop.getInductionVar(), inner));
          SmallVector<Value> indices = space.at(keptIndices, reducedIndices);
          SmallVector<Value> next;
          for (auto [root, sum] :
               llvm::zip_equal(space.roots, loop.getRegionIterArgs()))
            next.push_back(root.emitCombine(
                builder, loc, sum,
                emitter.element(root->getOperand(0), indices)));
          scf::YieldOp::create(builder, loc, next);
          return llvm::to_vector_of<Value>(loop.getResults());
        };
        int64_t length = product(inner);
        if (length <= kLongestSum)
          return sumRange(e.index(0), e.index(length), carried);
        auto blocks =
            scf::ForOp::create(builder, loc, e.index(0), e.index(length),
                               e.index(kLongestSum), carried);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(blocks.getBody());
        Value from = blocks.getInductionVar();
        Value to = arith::MinSIOp::create(
            builder, loc, e.add(from, e.index(kLongestSum)), e.index(length));
        SmallVector<Value> next;
        for (auto [root, sum, part] :
             llvm::zip_equal(space.roots, blocks.getRegionIterArgs(),
                             sumRange(from, to, identities)))
          next.push_back(root.emitCombine(builder, loc, sum, part));
        scf::YieldOp::create(builder, loc, next);
        return llvm::to_vector_of<Value>(blocks.getResults());
      });
  if (product(inner) >= kLongLoop)
    keepRolled(merged, rows);
  for (auto [sum, buffer] : llvm::zip_equal(sums, outputs())) {
    Type type = cast<MemRefType>(buffer.getType()).getElementType();
    memref::StoreOp::create(builder, loc, scalars().convertFloat(sum, type),
                            buffer, rows.getInductionVar());
  }
  return {product(kept),
          std::max<int64_t>(1, kElementsPerThread /
                                   std::max<int64_t>(1, product(reduced)))};
}

int64_t KernelBuilder::countBytes() const {
  int64_t bytes = 0;
  for (Value buffer : buffers) {
    auto type = cast<MemRefType>(buffer.getType());
    bytes += type.getNumElements() *
             llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

/// Emits reductions across the innermost dimension: each iteration accumulates
/// a strip of adjacent columns, row after row.
Extent KernelBuilder::emitAcross(size_t split) {
  ReductionSpace space(yield()->getOperands());
  SmallVector<int64_t> kept = space.sizes(space.kept);
  SmallVector<int64_t> reduced = space.sizes(space.reduced);
  ArrayRef<int64_t> outer = ArrayRef(kept).take_front(split);
  ArrayRef<int64_t> inner = ArrayRef(kept).drop_front(split);
  int64_t columns = product(inner);
  ElementEmitter emitter(kernel, builder, inputs());

  SmallVector<Value> identities, accumulators;
  int64_t bytes = 0;
  for (Reduction root : space.roots) {
    identities.push_back(root.emitIdentity(builder, loc));
    bytes += llvm::divideCeil(
        identities.back().getType().getIntOrFloatBitWidth(), 8);
  }
  int64_t strip = kStrip;
  if (product(outer) >= kEnoughParts)
    strip = std::max(kStrip, kAccumulatorBytes / bytes);
  strip = std::min(strip, columns);
  int64_t strips = llvm::divideCeil(columns, strip);
  for (Value identity : identities)
    accumulators.push_back(memref::AllocaOp::create(
        builder, loc, MemRefType::get({strip}, identity.getType())));
  auto pieces =
      scf::ForOp::create(builder, loc, begin, end, scalars().index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(pieces.getBody());
  ScalarEmitter e = scalars();
  Value piece = pieces.getInductionVar();
  SmallVector<Value> leading = e.delinearize(e.div(piece, strips), outer);
  Value first = e.mul(e.rem(piece, strips), strip);
  Value count = e.index(strip);
  if (columns % strip != 0)
    count = arith::MinSIOp::create(builder, loc, count,
                                   e.sub(e.index(columns), first));

  auto overStrip = [&](auto emitBody) {
    loop(e.index(0), count, {},
         [&](ValueRange) { emitBody(merged.getInductionVar()); });
  };
  overStrip([&](Value i) {
    for (auto [identity, sum] : llvm::zip_equal(identities, accumulators))
      memref::StoreOp::create(builder, loc, identity, sum, i);
  });
  // Adds adjacent rows, one after the other.
  scf::ForOp summing;
  auto addRows = [&](ValueRange around, Value row, int64_t count) {
    overStrip([&](Value i) {
      summing = merged;
      SmallVector<Value> keptIndices = leading;
      llvm::append_range(keptIndices,
                         scalars().delinearize(scalars().add(first, i), inner));
      SmallVector<Value> sums;
      for (Value sum : accumulators)
        sums.push_back(memref::LoadOp::create(builder, loc, sum, i));
      for (int64_t r = 0; r < count; ++r) {
        SmallVector<Value> reducedIndices(around);
        reducedIndices.push_back(scalars().add(row, r));
        SmallVector<Value> indices = space.at(keptIndices, reducedIndices);
        for (auto [root, sum] : llvm::zip_equal(space.roots, sums))
          sum = root.emitCombine(builder, loc, sum,
                                 emitter.element(root->getOperand(0), indices));
      }
      for (auto [value, sum] : llvm::zip_equal(sums, accumulators))
        memref::StoreOp::create(builder, loc, value, sum, i);
    });
  };
  int64_t rows = reduced.back();
  bool isCached = countBytes() <= kCachedBytes;
  int64_t atOnce =
      isCached && body.getOperations().size() <= kManyOps ? kRowsAtOnce : 1;
  scalars().loops(
      ArrayRef(reduced).drop_back(), {},
      [&](const ScalarEmitter &e, ValueRange around,
          ValueRange) -> SmallVector<Value> {
        auto addRange = [&](int64_t from, int64_t to, int64_t count) {
          if (to - from <= count)
            return addRows(around, e.index(from), to - from);
          auto loop = scf::ForOp::create(builder, loc, e.index(from),
                                         e.index(to), e.index(count));
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(loop.getBody());
          addRows(around, loop.getInductionVar(), count);
        };
        int64_t whole = rows / atOnce * atOnce;
        if (whole > 0)
          addRange(0, whole, atOnce);
        scf::ForOp most = summing;
        if (whole < rows || whole == 0)
          addRange(whole, rows, atOnce);
        if (most)
          summing = most;
        return {};
      });
  overStrip([&](Value i) {
    Value row = scalars().mul(scalars().div(piece, strips), columns);
    Value position = scalars().add(row, scalars().add(first, i));
    for (auto [sum, buffer] : llvm::zip_equal(accumulators, outputs())) {
      Type type = cast<MemRefType>(buffer.getType()).getElementType();
      Value value = memref::LoadOp::create(builder, loc, sum, i);
      memref::StoreOp::create(builder, loc, scalars().convertFloat(value, type),
                              buffer, position);
    }
  });
  if (strip >= kLongLoop)
    keepRolled(summing, pieces);
  merged = summing;
  return {
      product(outer) * strips,
      std::max<int64_t>(1, kElementsPerThread /
                               std::max<int64_t>(1, strip * product(reduced)))};
}

/// Kernels with their own loop nest access memory in its shape.
Extent KernelBuilder::emitCustom() {
  createFunction();
  auto custom = cast<KernelBody>(body.front());
  emitKernelBody(builder, loc, custom, buffers, begin, end);
  finishFunction();
  return {custom.getParallelExtent(), 16};
}

Extent KernelBuilder::build(bool flat) {
  auto kind = symbolizeFusionKind(kernel.getKind());
  if (kind == FusionKind::Custom)
    return emitCustom();
  if (kind == FusionKind::Row)
    return emitRows(kernel);
  if (kind == FusionKind::Reduction) {
    ReductionSpace space(yield()->getOperands());
    bool along = space.foldsInnermost();
    ArrayRef<int64_t> dims = along ? space.reduced : space.kept;
    size_t merges = std::max<size_t>(1, space.trailing(dims));
    size_t last = dims.size() - 1;
    return emitMerged(dims.size() - merges, last,
                      along ? &KernelBuilder::emitAlong
                            : &KernelBuilder::emitAcross);
  }
  size_t rank = tensorType(yield()->getOperand(0)).getRank();
  return emitMerged(0, rank == 0 || flat ? 0 : rank - 1,
                    &KernelBuilder::emitLoop);
}

/// Returns a reduction that a kernel yields whose partial results are several
/// values, or those of rows, or null.
Operation *findMerged(exec::KernelOp kernel) {
  auto kind = symbolizeFusionKind(kernel.getKind());
  Block &body = kernel.getBody().front();
  std::optional<RowSpace> rows;
  if (kind == FusionKind::Row)
    rows = RowSpace::of(llvm::to_vector_of<Operation *>(
        llvm::make_pointer_range(body.without_terminator())));
  for (Value value : body.getTerminator()->getOperands()) {
    auto reduction = value.getDefiningOp<Reduction>();
    if (reduction && kind == FusionKind::Reduction &&
        reduction.getPartialTypes().size() != 1)
      return reduction;
    if (reduction && rows && rows->isOverRows(reduction))
      return reduction;
  }
  return nullptr;
}

struct EmitCpuKernels : ingot::impl::EmitCpuKernelsBase<EmitCpuKernels> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, Extent> extents;
    // The kernels that are launched for the elements of a shard.
    llvm::DenseSet<StringAttr> flat;
    getOperation().walk([&](exec::LaunchOp launch) {
      if (launch.getShard())
        flat.insert(launch.getKernelAttr().getAttr());
    });
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<exec::KernelOp>())) {
      if (Operation *op = findMerged(kernel)) {
        op->emitOpError("is reduced by merging partial results, which only "
                        "kernels for GPUs do");
        return signalPassFailure();
      }
      StringAttr name = kernel.getSymNameAttr();
      auto kind = symbolizeFusionKind(kernel.getKind());
      if (kind == FusionKind::Epilogue)
        emitEpilogue(kernel);
      else if (kind == FusionKind::Group)
        extents[name] = buildGroup(kernel);
      else
        extents[name] = KernelBuilder(kernel).build(flat.contains(name));
      kernel.erase();
      ++numKernels;
    }
    auto setExtent = [&](exec::LaunchOp launch) -> WalkResult {
      Extent extent = extents.lookup(launch.getKernelAttr().getAttr());
      bool isOfElements = llvm::any_of(launch.getOutputs(), [&](Value output) {
        return cast<MemRefType>(output.getType()).getNumElements() ==
               extent.iterations;
      });
      if (launch.getShard() && !isOfElements)
        return launch.emitOpError("runs ")
               << extent.iterations
               << " iterations, not one for each element of its shards";
      launch.setExtent(extent.iterations);
      launch.setGrain(extent.grain);
      return WalkResult::advance();
    };
    auto check = [](exec::MatmulEpilogueOp product) -> WalkResult {
      if (product.getKernel() && !product.getExtra())
        return WalkResult::advance();
      return product.emitOpError(
          "uses an epilogue that only GPU targets support");
    };
    if (getOperation().walk(setExtent).wasInterrupted() ||
        getOperation().walk(check).wasInterrupted())
      signalPassFailure();
  }

  static Extent buildGroup(exec::KernelOp group) {
    SmallVector<GroupPart> parts = outlineParts(group);
    llvm::MapVector<exec::KernelOp, Extent> built;
    SmallVector<Extent> extents;
    for (GroupPart &part : parts) {
      auto [it, isNew] = built.try_emplace(part.kernel);
      if (isNew)
        it->second = KernelBuilder(part.kernel).build(/*flat=*/false);
      extents.push_back(it->second);
    }
    Extent extent = emitGroup(group, parts, extents);
    for (auto &[kernel, ignored] : built)
      kernel.erase();
    return extent;
  }
};

} // namespace

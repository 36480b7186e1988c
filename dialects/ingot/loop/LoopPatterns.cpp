// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Canonicalization of loops: what is not used, what is the same in every
// iteration, and conversions at the border of the body.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace ingot;

static bool isSplat(Value value, DenseElementsAttr &attribute) {
  return matchPattern(value, m_Constant(&attribute)) && attribute.isSplat();
}

static bool isHalf(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
}

static Type elementOf(Value value) {
  return tensorType(value).getElementType();
}

/// Creates the loop without these results, whose values nothing reads any more,
/// and without the carried values among them.
static void dropResults(LoopOp loop, const llvm::BitVector &dropped,
                        PatternRewriter &rewriter) {
  unsigned count = loop.countCarried();
  SmallVector<Type> types;
  SmallVector<Value> initial, yielded;
  llvm::BitVector arguments(loop.getBlock().getNumArguments());
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    if (dropped[i]) {
      if (i < count)
        arguments.set(i);
      continue;
    }
    types.push_back(loop.getResult(i).getType());
    yielded.push_back(loop.getYield()->getOperand(i));
    if (i < count)
      initial.push_back(loop.getInitial()[i]);
  }
  rewriter.setInsertionPoint(loop);
  auto smaller = LoopOp::create(rewriter, loop.getLoc(), types, loop.getCount(),
                                loop.getReverse(), initial, loop.getSequences(),
                                loop.getCaptures());
  rewriter.inlineRegionBefore(loop.getBody(), smaller.getBody(),
                              smaller.getBody().begin());
  rewriter.modifyOpInPlace(smaller.getYield(),
                           [&] { smaller.getYield()->setOperands(yielded); });
  rewriter.modifyOpInPlace(
      smaller, [&] { smaller.getBlock().eraseArguments(arguments); });
  unsigned next = 0;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (!dropped[i])
      rewriter.replaceAllUsesWith(loop.getResult(i), smaller.getResult(next++));
  rewriter.eraseOp(loop);
}

/// Replaces the value by a splat at the start of its block.
static void replaceBySplat(Value value, DenseElementsAttr splat,
                           PatternRewriter &rewriter) {
  if (value.use_empty())
    return;
  rewriter.setInsertionPointToStart(value.getParentBlock());
  RankedTensorType type = tensorType(value);
  rewriter.replaceAllUsesWith(value,
                              ConstantOp::create(rewriter, value.getLoc(), type,
                                                 splat.resizeSplat(type)));
}

namespace {

/// Removes carried values and outputs that nothing reads, and values that stay
/// as they are.
struct DropResults : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp loop,
                                PatternRewriter &rewriter) const override {
    Operation *yield = loop.getYield();
    unsigned count = loop.countCarried();
    llvm::BitVector dropped(loop.getNumResults());
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument argument = loop.getBlock().getArgument(i);
      if (yield->getOperand(i) != argument)
        continue;
      Value initial = loop.getInitial()[i];
      rewriter.replaceAllUsesWith(loop.getResult(i), initial);
      BlockArgument capture;
      rewriter.modifyOpInPlace(loop,
                               [&] { capture = loop.addCapture(initial); });
      rewriter.replaceAllUsesWith(argument, capture);
      dropped.set(i);
    }
    llvm::BitVector read = findRead(loop);
    for (unsigned i = 0; i < loop.getNumResults(); ++i) {
      if (read[i])
        continue;
      dropped.set(i);
      // Only what is dropped as well depends on it.
      if (i < count)
        replaceByZero(loop.getBlock().getArgument(i), rewriter);
    }
    for (unsigned i = count; i < loop.getNumResults(); ++i)
      for (unsigned j = count; j < i && !dropped[i]; ++j)
        if (!dropped[j] && yield->getOperand(i) == yield->getOperand(j)) {
          rewriter.replaceAllUsesWith(loop.getResult(i), loop.getResult(j));
          dropped.set(i);
        }
    if (dropped.none())
      return failure();
    dropResults(loop, dropped, rewriter);
    return success();
  }

private:
  static void replaceByZero(Value value, PatternRewriter &rewriter) {
    if (value.use_empty())
      return;
    rewriter.setInsertionPointToStart(value.getParentBlock());
    rewriter.replaceAllUsesWith(
        value, splat(rewriter, value.getLoc(), tensorType(value), 0.0));
  }

  /// Returns the results that are read, and the carried values that these
  /// depend on.
  static llvm::BitVector findRead(LoopOp loop) {
    Operation *yield = loop.getYield();
    llvm::BitVector read(loop.getNumResults());
    llvm::SmallPtrSet<Operation *, 32> seen;
    SmallVector<Value> work;
    auto need = [&](unsigned result) {
      if (read[result])
        return;
      read.set(result);
      work.push_back(yield->getOperand(result));
    };
    for (auto [i, result] : llvm::enumerate(loop.getResults()))
      if (!result.use_empty())
        need(i);
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *def = value.getDefiningOp();
      if (!def) {
        unsigned number = cast<BlockArgument>(value).getArgNumber();
        if (number < loop.countCarried())
          need(number);
      } else if (seen.insert(def).second) {
        llvm::append_range(work, def->getOperands());
      }
    }
    return read;
  }
};

/// Removes sequences and captures that are not used, are given twice, or are
/// splats.
struct DropOperands : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp loop,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    rewriter.startOpModification(loop);
    for (bool isCapture : {true, false}) {
      MutableOperandRange operands =
          isCapture ? loop.getCapturesMutable() : loop.getSequencesMutable();
      unsigned first =
          loop.countCarried() + (isCapture ? loop.getSequences().size() : 0);
      DenseMap<Value, BlockArgument> known;
      for (unsigned i = operands.size(); i-- > 0;) {
        BlockArgument argument = loop.getBlock().getArgument(first + i);
        Value operand = operands[i].get();
        auto [other, isNew] = known.try_emplace(operand, argument);
        DenseElementsAttr splat;
        if (!isNew)
          rewriter.replaceAllUsesWith(argument, other->second);
        else if (isSplat(operand, splat))
          replaceBySplat(argument, splat, rewriter);
        if (!argument.use_empty())
          continue;
        if (isNew)
          known.erase(operand);
        loop.getBlock().eraseArgument(first + i);
        operands.erase(i);
        changed = true;
      }
    }
    changed ? rewriter.finalizeOpModification(loop)
            : rewriter.cancelOpModification(loop);
    return success(changed);
  }
};

/// Computes before the loop what is the same in all iterations, unless that
/// takes more memory.
struct HoistInvariant : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp loop,
                                PatternRewriter &rewriter) const override {
    unsigned first = loop.countCarried() + loop.getSequences().size();
    auto isCapture = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getArgNumber() >= first;
    };
    for (Operation &op : loop.getBlock().without_terminator()) {
      int64_t read = 0, written = 0;
      for (Value operand : op.getOperands())
        read += byteSize(tensorType(operand));
      for (Value result : op.getResults())
        written += byteSize(tensorType(result));
      if (op.getNumOperands() == 0 || !isPure(&op) || written > read ||
          !llvm::all_of(op.getOperands(), isCapture))
        continue;
      rewriter.setInsertionPoint(loop);
      Operation *before = rewriter.clone(op);
      for (OpOperand &operand : before->getOpOperands())
        operand.set(loop->getOperand(
            cast<BlockArgument>(operand.get()).getArgNumber()));
      rewriter.modifyOpInPlace(loop, [&] {
        for (auto [inside, outside] :
             llvm::zip_equal(op.getResults(), before->getResults()))
          rewriter.replaceAllUsesWith(inside, loop.addCapture(outside));
      });
      rewriter.eraseOp(&op);
      return success();
    }
    return failure();
  }
};

/// A row of a capture that is selected by the number of the iteration is a
/// slice of it.
struct ReadSlice : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp loop,
                                PatternRewriter &rewriter) const override {
    if (loop.getReverse())
      return failure();
    for (auto gather : loop.getBlock().getOps<GatherOp>()) {
      auto argument = dyn_cast<BlockArgument>(gather.getOperand());
      unsigned first = loop.countCarried() + loop.getSequences().size();
      auto dim = static_cast<int64_t>(gather.getDim());
      auto count = static_cast<int64_t>(loop.getCount());
      if (!argument || argument.getArgNumber() < first ||
          tensorType(argument).getDimSize(dim) < count ||
          !isIteration(loop, gather.getIndices()))
        continue;
      rewriter.setInsertionPoint(loop);
      Value rows =
          takeRows(rewriter, gather.getLoc(),
                   loop->getOperand(argument.getArgNumber()), dim, count);
      BlockArgument slice;
      rewriter.modifyOpInPlace(loop, [&] {
        loop.getSequencesMutable().append(rows);
        slice = loop.getBlock().insertArgument(first, gather.getType(),
                                               gather.getLoc());
      });
      rewriter.replaceOp(gather, slice);
      return success();
    }
    return failure();
  }

private:
  /// Returns whether a scalar of the body is the number of the iteration, or
  /// what an index computed from it is where that is not negative.
  static bool isIteration(LoopOp loop, Value value) {
    if (tensorType(value).getRank() != 0)
      return false;
    if (auto select = value.getDefiningOp<SelectOp>()) {
      auto compare = select.getOperand(0).getDefiningOp<CompareOp>();
      DenseElementsAttr bound;
      return compare && compare.getPredicate() == Predicate::LT &&
             isSplat(compare.getOperand(1), bound) &&
             bound.getSplatValue<APInt>().isZero() &&
             isIteration(loop, compare.getOperand(0)) &&
             isIteration(loop, select.getOperand(2));
    }
    auto argument = dyn_cast<BlockArgument>(value);
    unsigned first = loop.countCarried();
    if (!argument || argument.getOwner() != &loop.getBlock() ||
        argument.getArgNumber() < first ||
        argument.getArgNumber() >= first + loop.getSequences().size())
      return false;
    return loop->getOperand(argument.getArgNumber()).getDefiningOp<IotaOp>();
  }

  static Value takeRows(OpBuilder &builder, Location loc, Value value,
                        int64_t dim, int64_t count) {
    SmallVector<int64_t> limits(tensorType(value).getShape());
    if (limits[dim] != count) {
      limits[dim] = count;
      SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
      value = SliceOp::create(builder, loc, value, starts, limits, strides);
    }
    if (dim == 0)
      return value;
    SmallVector<int64_t> order =
        llvm::to_vector(llvm::seq<int64_t>(0, limits.size()));
    order.erase(order.begin() + dim);
    order.insert(order.begin(), dim);
    return TransposeOp::create(builder, loc, value, order);
  }
};

/// Moves conversions between f32 and 16 bits over the border of the body such
/// that sequences and outputs are in 16 bits.
struct NarrowSlices : OpRewritePattern<LoopOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp loop,
                                PatternRewriter &rewriter) const override {
    unsigned first = loop.countCarried();
    for (unsigned i = 0; i < loop.getSequences().size(); ++i)
      if (narrowSequence(loop, first + i, rewriter))
        return success();
    for (unsigned i = first; i < loop.getNumResults(); ++i)
      if (narrowOutput(loop, i, rewriter))
        return success();
    return failure();
  }

private:
  /// Returns the 16-bit type to which all uses of an f32 value convert it; null
  /// if there are others.
  static Type findNarrowUses(Value value) {
    Type narrow;
    if (!elementOf(value).isF32() || value.use_empty())
      return {};
    for (Operation *user : value.getUsers()) {
      auto cast = dyn_cast<CastOp>(user);
      if (!cast || !isHalf(elementOf(cast.getResult())) ||
          (narrow && narrow != elementOf(cast.getResult())))
        return {};
      narrow = elementOf(cast.getResult());
    }
    return narrow;
  }

  /// Replaces the value, whose type has just become narrow, where it is used:
  /// conversions to its type by itself, other uses by the value in f32.
  static void adaptUses(Value value, PatternRewriter &rewriter) {
    SmallVector<OpOperand *> others;
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      auto cast = dyn_cast<CastOp>(use.getOwner());
      if (cast && elementOf(cast.getResult()) == elementOf(value))
        rewriter.replaceOp(cast, value);
      else
        others.push_back(&use);
    }
    if (others.empty())
      return;
    Value wide = castTo(rewriter, value.getLoc(), value, rewriter.getF32Type());
    for (OpOperand *use : others)
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(wide); });
  }

  static bool narrowSequence(LoopOp loop, unsigned number,
                             PatternRewriter &rewriter) {
    Value sequence = loop->getOperand(number);
    BlockArgument argument = loop.getBlock().getArgument(number);
    Type narrow;
    auto cast = sequence.getDefiningOp<CastOp>();
    if (cast && elementOf(sequence).isF32() &&
        isHalf(elementOf(cast.getOperand()))) {
      sequence = cast.getOperand();
      narrow = elementOf(sequence);
    } else {
      narrow = findNarrowUses(argument);
      if (!narrow)
        return false;
      rewriter.setInsertionPoint(loop);
      sequence = castTo(rewriter, loop.getLoc(), sequence, narrow);
    }
    rewriter.modifyOpInPlace(loop, [&] {
      loop->setOperand(number, sequence);
      argument.setType(withElement(tensorType(argument), narrow));
    });
    rewriter.setInsertionPointToStart(&loop.getBlock());
    adaptUses(argument, rewriter);
    return true;
  }

  static bool narrowOutput(LoopOp loop, unsigned number,
                           PatternRewriter &rewriter) {
    Value output = loop.getResult(number);
    Value slice = loop.getYield()->getOperand(number);
    auto cast = slice.getDefiningOp<CastOp>();
    if (cast && elementOf(slice).isF32() &&
        isHalf(elementOf(cast.getOperand()))) {
      slice = cast.getOperand();
    } else {
      Type narrow = findNarrowUses(output);
      if (!narrow)
        return false;
      rewriter.setInsertionPoint(loop.getYield());
      slice = castTo(rewriter, loop.getLoc(), slice, narrow);
    }
    rewriter.modifyOpInPlace(
        loop.getYield(), [&] { loop.getYield()->setOperand(number, slice); });
    rewriter.modifyOpInPlace(loop, [&] {
      output.setType(withElement(tensorType(output), elementOf(slice)));
    });
    rewriter.setInsertionPointAfter(loop);
    adaptUses(output, rewriter);
    return true;
  }
};

} // namespace

void LoopOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns
      .add<DropResults, DropOperands, HoistInvariant, ReadSlice, NarrowSlices>(
          context);
}

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// LegalizeAttention: rewrites attention into the form that cuDNN's kernel
// supports.
//
// Assumes attention formed and no gradients: these are built from the rewritten
// form.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/attention/PlainAttention.h"
#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/targets/cuda/Passes.h"

#include <limits>

namespace ingot {
#define GEN_PASS_DEF_LEGALIZEATTENTION
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Replaces results of queries that attend to no key by 0. `allowed` is [batch,
/// heads, queries, keys], where any size may be 1.
static void clearUnseeing(AttentionOp op, Value allowed) {
  OpBuilder builder(op);
  Arithmetic a(builder, op.getLoc());
  ArrayRef<int64_t> shape = tensorType(allowed).getShape();
  Value sees = a.maxOver(a.cast(allowed, builder.getF32Type()), 3);
  sees = a.compare(Predicate::GT, sees, 0.0);
  // Transposes to the layout of the result.
  auto turned = RankedTensorType::get({shape[0], shape[2], shape[1]},
                                      builder.getI1Type());
  sees = TransposeOp::create(builder, op.getLoc(), turned, sees,
                             ArrayRef<int64_t>{0, 2, 1});
  sees = a.reshape(sees, {shape[0], shape[2], shape[1], 1});
  Value result = op.getResult();
  builder.setInsertionPointAfter(op);
  Value seen = a.select(broadcastTrailing(builder, op.getLoc(), sees,
                                          tensorType(result).getShape()),
                        result, 0.0);
  result.replaceUsesWithIf(seen, [&](OpOperand &use) {
    return use.getOwner() != seen.getDefiningOp();
  });
}

/// Turns the masks of an attention into a bias and key sequence lengths: masked
/// scores get a bias so low that their weight is 0. A fully masked row would
/// then result in the mean of its values: its result is replaced by 0, and with
/// it the cotangent that reaches it. Lengths of 0 become 1, since the kernel
/// does not support them. The bias has a row for each query.
static void adaptTerms(AttentionOp op) {
  // The exponential of the difference to any other score is 0; and the rounding
  // error of the difference of two such scores is small (a power of 2 below
  // ten), so that the weights of fully masked rows stay finite in f16 too.
  constexpr double hidden = -0x1p24;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Arithmetic a(builder, loc);
  Type f32 = builder.getF32Type();
  AttentionSizes sizes = op.getSizes();
  auto left = static_cast<int64_t>(op.getLeft());
  auto right = static_cast<int64_t>(op.getRight());
  Value bias = op.getBias(), allowed = op.getMask();
  auto require = [&](Value &all, Value holds) {
    SmallVector<int64_t> shape = commonShape({all, holds});
    holds = broadcastTrailing(builder, loc, holds, shape);
    all = all ? a.logicalAnd(broadcastTrailing(builder, loc, all, shape), holds)
              : holds;
  };
  Value lengths = op.getLengths();
  // A window may be after all keys: every query has to attend to one there.
  if (lengths && left >= 0) {
    require(allowed, emitWithinLengths(builder, loc, sizes, lengths));
    op.getLengthsMutable().clear();
    lengths = {};
  }
  if (lengths)
    op.getLengthsMutable().assign(a.max(lengths, 1.0));
  if (bias || allowed) {
    SmallVector<int64_t> shape = commonShape({bias, allowed});
    if (bias) {
      bias = a.cast(bias, f32);
      require(allowed, a.compare(Predicate::NE, bias, -infinity));
      bias = a.max(broadcastTrailing(builder, loc, bias, shape), hidden);
    } else {
      bias = a.constant(RankedTensorType::get(shape, f32), 0.0);
    }
    bias = a.select(allowed, bias, hidden);
    // cuDNN 9's gradient is wrong where all queries share a bias.
    shape[2] = sizes.queries;
    op.getBiasMutable().assign(broadcastTrailing(builder, loc, bias, shape));
    op.getMaskMutable().clear();
    if (lengths)
      require(allowed, emitWithinLengths(builder, loc, sizes, lengths));
    if (left >= 0 || right >= 0)
      require(allowed,
              a.reshape(emitWithinBounds(builder, loc, sizes, left, right),
                        {1, 1, sizes.queries, sizes.keys}));
  } else {
    // The first key is within the bounds.
    allowed = a.reshape(a.compare(Predicate::GE, lengths, 1.0),
                        {sizes.batch, 1, 1, 1});
  }
  clearUnseeing(op, allowed);
}

/// Gives cuDNN's random number generator a separate seed for each attention and
/// step: 48 bits of the first numbers of Ingot's dropout.
static void adaptSeed(AttentionOp op) {
  OpBuilder builder(op);
  Arithmetic a(builder, op.getLoc());
  auto two = RankedTensorType::get({2}, builder.getF64Type());
  Value drawn = RandomUniformOp::create(builder, op.getLoc(), two, op.getSeed(),
                                        op.getStep(), op.getStream());
  auto take = [&](int64_t i) -> Value {
    return SliceOp::create(builder, op.getLoc(), drawn, ArrayRef<int64_t>{i},
                           ArrayRef<int64_t>{i + 1}, ArrayRef<int64_t>{1});
  };
  // The upper 24 bits, then the lower ones.
  Value bits = a.add(a.mul(take(0), 0x1p48), a.mul(take(1), 0x1p24));
  op.getSeedMutable().assign(a.reshape(a.cast(bits, builder.getI64Type()), {}));
}

namespace {

struct LegalizeAttention
    : ingot::impl::LegalizeAttentionBase<LegalizeAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) { attentions.push_back(op); });
    for (AttentionOp op : attentions) {
      if (op.getBias() || op.getMask() || op.getLengths())
        adaptTerms(op);
      if (!op.getSeed())
        continue;
      adaptSeed(op);
      remark::analysis(op.getLoc(),
                       remarkOptions(getArgument(), "AttentionDropout"))
          << remark::metric("generator", "library")
          << remark::metric("ratio", op.getRatio().convertToDouble());
    }
    // Erases the ops that were replaced.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }
};

} // namespace

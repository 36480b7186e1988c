// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// SplitMaskedLoops: masks elements beyond the end only in the last iterations.
//
// A masked loop compares its index, plus a constant, with a bound that only few
// iterations reach. Each thread runs those before as a loop without masks. It
// processes the same elements in the same order.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/targets/cuda/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_SPLITMASKEDLOOPS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// A comparison that is true while the loop's index is below a limit.
struct Mask {
  arith::CmpIOp test;
  int64_t limit;
};

struct SplitMaskedLoops : ingot::impl::SplitMaskedLoopsBase<SplitMaskedLoops> {
  using SplitMaskedLoopsBase::SplitMaskedLoopsBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      split(loop);
  }

private:
  void split(scf::ForOp loop);
};

} // namespace

/// Returns what is added to the loop's index; nothing if `value` is not a sum
/// of it and a constant that is not negative.
static std::optional<int64_t> getOffset(Value value, Value index) {
  int64_t offset = 0;
  APInt constant;
  while (value != index) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::IndexCastOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto sum = dyn_cast_or_null<arith::AddIOp>(op);
    if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&constant)) ||
        constant.isNegative())
      return std::nullopt;
    offset += constant.getSExtValue();
    value = sum.getLhs();
  }
  return offset;
}

static SmallVector<Mask> findMasks(scf::ForOp loop) {
  SmallVector<Mask> masks;
  for (auto test : loop.getBody()->getOps<arith::CmpIOp>()) {
    APInt bound;
    if (test.getPredicate() != arith::CmpIPredicate::slt ||
        !matchPattern(test.getRhs(), m_ConstantInt(&bound)))
      continue;
    if (auto offset = getOffset(test.getLhs(), loop.getInductionVar()))
      masks.push_back({test, bound.getSExtValue() - *offset});
  }
  return masks;
}

void SplitMaskedLoops::split(scf::ForOp loop) {
  SmallVector<Mask> masks = findMasks(loop);
  if (masks.empty())
    return;
  auto remark = remarkOptions(getArgument(), "Masks");
  auto miss = [&](StringRef reason) {
    remark::missed(loop.getLoc(), remark)
        << remark::metric("function", getOperation().getName())
        << remark::reason("{0}", reason);
  };
  APInt step, upper;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return miss("the number of iterations is not a constant");
  int64_t by = step.getSExtValue(), limit = upper.getSExtValue();
  for (const Mask &mask : masks)
    limit = std::min(limit, mask.limit);
  // The code is there twice.
  if (limit < leastIterations * by)
    return miss("too few iterations have no masks");

  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value end = arith::ConstantIndexOp::create(builder, loc, limit);
  auto whole = cast<scf::ForOp>(builder.clone(*loop));
  whole.setUpperBound(end);
  // The clone's masks are in the order of the loop's.
  Value always =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  always.getDefiningOp()->moveBefore(whole);
  SmallVector<Mask> copies = findMasks(whole);
  for (Mask &mask : copies)
    mask.test.getResult().replaceAllUsesWith(always);
  // The first index at or behind the limit.
  Value begin = loop.getLowerBound();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  Value left = arith::SubIOp::create(builder, loc, end, begin);
  left = arith::MaxSIOp::create(builder, loc, left, constant(0));
  left = arith::AddIOp::create(builder, loc, left, constant(by - 1));
  Value done = arith::DivUIOp::create(builder, loc, left, constant(by));
  done = arith::MulIOp::create(builder, loc, done, constant(by));
  loop.setLowerBound(arith::AddIOp::create(builder, loc, begin, done));
  loop.getInitArgsMutable().assign(whole.getResults());
  ++numSplit;
  remark::passed(loc, remark)
      << remark::metric("function", getOperation().getName())
      << remark::metric("masks", static_cast<int64_t>(masks.size()))
      << remark::metric("until", limit);
}

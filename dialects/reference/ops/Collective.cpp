//===----------------------------------------------------------------------===//
// Collectives: docs/spec/collective.md.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/collective/BucketLayout.h"
#include "dialects/reference/Registry.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

static void start(AllReduceStartOp op, Operands in, Results out) {
  BucketLayout layout = BucketLayout::of(op.getParts().getTypes());
  for (size_t part = 0; part < in.size(); ++part)
    for (int64_t i = 0; i < in[part].size(); ++i)
      out[0].real(layout.offsets[part] + i) = in[part].real(i);
}

static void wait(AllReduceWaitOp op, Operands in, Results out) {
  BucketLayout layout = BucketLayout::of(op.getParts().getTypes());
  for (size_t part = 0; part < out.size(); ++part)
    for (int64_t i = 0; i < out[part].size(); ++i)
      out[part].real(i) = in[0].real(layout.offsets[part] + i);
}

void ingot::reference::registerCollective(Registry &registry) {
  registry.add<AllReduceStartOp>(start);
  registry.add<AllReduceWaitOp>(wait);
}

void ingot::reference::combineRanks(Operation *op, ArrayRef<Results> results) {
  if (!isa<AllReduceStartOp>(op))
    return;
  Tensor sum = results.front()[0];
  for (Results other : results.drop_front()) {
    for (int64_t i = 0; i < sum.size(); ++i)
      sum.real(i) += other[0].real(i);
    sum.roundToElementType();
  }
  for (Results rank : results)
    rank[0] = sum;
}

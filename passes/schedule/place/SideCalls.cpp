// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/place/SideCalls.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;

LogicalResult SideCalls::check(func::FuncOp func) {
  int64_t last = -1, most = -1;
  for (Operation &op : func.getBody().front().without_terminator()) {
    // It is a call of its own, which no region goes over.
    if (isa<StateGatherWaitOp>(op))
      last = -1;
    if (op.hasTrait<SameBytes>())
      continue;
    auto side = op.getAttrOfType<IntegerAttr>(kSideAttr);
    int64_t number = side ? side.getInt() : -1;
    if (side && (number < 0 || (number <= most && number != last)))
      return op.emitOpError("is in region ")
             << number << ", which does not follow the regions before it";
    if (side && isa<BucketEnd>(op))
      return op.emitOpError("is in flight by itself, in a region");
    last = number;
    most = std::max(most, number);
  }
  return success();
}

static void createCall(StringRef entry, size_t region, Location loc,
                       OpBuilder &builder) {
  ingot_side_desc desc = {};
  desc.number = static_cast<int32_t>(region);
  exec::CallOp::create(builder, loc, entry, ArrayRef<Value>(), desc);
}

int64_t SideCalls::leave(int64_t instant, Location loc,
                         OpBuilder &builder) const {
  int64_t calls = 0;
  for (auto [i, region] : llvm::enumerate(regions))
    if (region.end == instant) {
      createCall("ingot_side_end", i, loc, builder);
      ++calls;
    }
  for (auto [i, region] : llvm::enumerate(regions)) {
    // A wait for the next region is one for this.
    bool isCovered =
        i + 1 < regions.size() && regions[i + 1].wait == region.wait;
    if (region.wait != instant || isCovered)
      continue;
    createCall("ingot_side_wait", i, loc, builder);
    ++calls;
  }
  return calls;
}

int64_t SideCalls::enter(int64_t instant, Location loc,
                         OpBuilder &builder) const {
  int64_t calls = 0;
  for (auto [i, region] : llvm::enumerate(regions))
    if (region.first == instant) {
      createCall("ingot_side_start", i, loc, builder);
      ++calls;
    }
  return calls;
}

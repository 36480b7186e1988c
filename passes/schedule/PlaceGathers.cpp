// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PlaceGathers: gathers buckets of parameters ahead of their readers, and again
// where memory does not keep them.
//
// Assumes the final order of kernels.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/support/Remarks.h"
#include "passes/options/OptionValues.h"
#include "passes/schedule/GatherPlacement.h"
#include "passes/schedule/Passes.h"
#include "passes/schedule/arena/ArenaUse.h"
#include "passes/schedule/arena/StatePlaces.h"
#include "passes/schedule/graph/StepGraph.h"

namespace ingot {
#define GEN_PASS_DEF_PLACEGATHERS
#include "passes/schedule/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct PlaceGathers : ingot::impl::PlaceGathersBase<PlaceGathers> {
  using PlaceGathersBase::PlaceGathersBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    size_t count = GatherPlacement::countBuckets(func);
    if (count == 0)
      return;
    placement.place(func, buckets);
    // With more room, no bucket is gathered more often.
    if (std::optional<int64_t> budget = findBudget(func)) {
      std::unique_ptr<const Target> target = Target::of(func);
      auto fits = [&](size_t room) {
        placement.place(func, room);
        return StepGraph(Signature(func), *target).fitsArena(*budget);
      };
      size_t most = 0, tooMuch = count + 1;
      if (fits(count))
        most = count;
      while (most + 1 < tooMuch) {
        size_t middle = most + (tooMuch - most) / 2;
        (fits(middle) ? most : tooMuch) = middle;
      }
      placement.place(func, most == 0 ? buckets : most);
    }
    report();
  }

private:
  /// Returns the bytes that the arena may have; none if nothing says so.
  std::optional<int64_t> findBudget(func::FuncOp func) {
    if (memoryBudget.empty() || memoryBudget.isPercent)
      return std::nullopt;
    StatePlaces states(func->getParentOfType<ModuleOp>());
    return static_cast<int64_t>(memoryBudget.number) - states.getBytes() -
           states.mappedBytes - states.shardBytes -
           getStagingBytes(Signature(func), *Target::of(func));
  }

  void report() {
    SmallVector<int64_t> times(placement.getBuckets().size(), 0);
    for (const GatherStay &stay : placement.getStays())
      ++times[stay.bucket];
    for (auto [bucket, count] :
         llvm::zip_equal(placement.getBuckets(), times)) {
      numGathers += count;
      numAgain += count > 1;
      auto options = remarkOptions(getArgument(), "Gather");
      if (count > 1)
        remark::missed(bucket.loc, options)
            << remark::metric("bytes", bucket.bytes)
            << remark::metric("times", count)
            << remark::reason("there is room for {0} of the largest buckets: "
                              "it is gathered again for later readers",
                              placement.getRoom());
      else
        remark::passed(bucket.loc, options)
            << remark::metric("bytes", bucket.bytes)
            << remark::metric("times", count);
    }
  }

  GatherPlacement placement;
};

} // namespace

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// KeepBlocks: leaves the first of the model's repeated blocks.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Signature.h"
#include "passes/plan/BlockRuns.h"
#include "passes/plan/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_KEEPBLOCKS
#include "passes/plan/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct KeepBlocks : ingot::impl::KeepBlocksBase<KeepBlocks> {
  using KeepBlocksBase::KeepBlocksBase;

  void runOnOperation() override {
    constexpr int64_t fewest = 2;
    if (count < fewest) {
      getOperation().emitError("'count' is at least 2");
      return signalPassFailure();
    }
    func::FuncOp forward = findFunction(getOperation(), kForwardName);
    if (!forward)
      return;
    SmallVector<BlockRun> runs = findBlockRuns(forward);
    keepBlocks(forward, runs, SmallVector<int64_t>(runs.size(), count));
    for (const BlockRun &run : runs)
      numBlocks +=
          static_cast<unsigned>(std::max<int64_t>(0, run.count - count));
  }
};

} // namespace

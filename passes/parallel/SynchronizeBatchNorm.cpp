// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SynchronizeBatchNorm: computes the statistics of batch normalization over the
// batches of all ranks.
//
// Assumes a step that has not been differentiated.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/parallel/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_SYNCHRONIZEBATCHNORM
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct SynchronizeBatchNorm
    : ingot::impl::SynchronizeBatchNormBase<SynchronizeBatchNorm> {
  void runOnOperation() override {
    func::FuncOp func = findFunction(getOperation(), kTrainStepName);
    if (!func)
      return;
    func.walk([&](BatchNormOp norm) {
      norm.setOverRanks(true);
      ++numSynchronized;
      remark::passed(norm.getLoc(),
                     remarkOptions(getArgument(), "SynchronizedBatchNorm"))
          << remark::metric("exchanges", 3);
    });
    if (numSynchronized.getValue() == 0)
      remark::missed(func.getLoc(),
                     remarkOptions(getArgument(), "SynchronizedBatchNorm"))
          << remark::reason("the model has no batch normalization");
  }
};

} // namespace

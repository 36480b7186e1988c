// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// VerifyLowered: what translation to LLVM IR assumes.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/verify/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_VERIFYLOWERED
#include "passes/verify/Passes.h.inc"
} // namespace ingot

using namespace mlir;

namespace {
struct VerifyLowered : ingot::impl::VerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override {
    WalkResult result =
        getOperation().getBodyRegion().walk<WalkOrder::PreOrder>(
            [](Operation *op) -> WalkResult {
              if (isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
                return WalkResult::advance();
              return op->emitOpError("is not of the LLVM dialect");
            });
    if (result.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// VerifyKernels: what the schedule and code generation assume of kernels. How
// the ops of a fusion fit together is verified by `ingot.fusion` itself.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/verify/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "passes/verify/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct VerifyKernels : ingot::impl::VerifyKernelsBase<VerifyKernels> {
  void runOnOperation() override {
    target = Target::of(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        for (Operation &op : func.getBody().front().without_terminator())
          if (failed(verifyOp(op)))
            return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyOp(Operation &op) {
    if (auto fusion = dyn_cast<FusionOp>(op))
      return verifyFusion(fusion);
    if (auto call = dyn_cast<LibraryCall>(op))
      return verifyCall(call);
    if (op.hasTrait<SameBytes>() || op.hasTrait<OpTrait::ConstantLike>() ||
        isa<RepeatOp>(op))
      return success();
    return op.emitOpError("is neither in a fusion nor a library call, a view "
                          "or a constant");
  }

  LogicalResult verifyCall(LibraryCall call) {
    LibrarySupport support = target->getCalls().getSupport(call);
    if (support)
      return success();
    return call->emitOpError("is no library call of the target: ")
           << support.reason;
  }

  LogicalResult verifyFusion(FusionOp fusion) {
    Operation *anchor = fusion.getAnchor();
    if (anchor && failed(verifyCall(cast<LibraryCall>(anchor))))
      return failure();
    for (Operation &op : fusion.getBody().front()) {
      if (auto part = dyn_cast<FusionOp>(op)) {
        if (failed(verifyFusion(part)))
          return failure();
      } else if (&op != anchor && isa<Decomposable>(op)) {
        return op.emitOpError("is a composite within a fusion");
      }
    }
    return success();
  }

  std::shared_ptr<const Target> target;
};
} // namespace

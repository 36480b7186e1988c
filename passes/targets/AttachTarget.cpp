// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AttachTarget: sets the target attribute of a module.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/target/Target.h"
#include "passes/targets/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_ATTACHTARGET
#include "passes/targets/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct AttachTarget : ingot::impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    TargetSpec spec = {target, arch, tf32 ? MathMode::TF32 : MathMode::Exact};
    ModuleOp module = getOperation();
    if (auto found = Target::get(spec); !found) {
      module.emitError() << llvm::toString(found.takeError());
      return signalPassFailure();
    }
    module->setAttr(kTargetAttr, TargetAttr::get(&getContext(), spec.kind,
                                                 spec.arch, spec.math));
  }
};
} // namespace

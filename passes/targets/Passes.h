// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes of all targets.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_PASSES_H
#define INGOT_PASSES_TARGETS_PASSES_H

#include "dialects/ingot/target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/targets/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/targets/Passes.h.inc"

/// Returns the target that options select. Fails with a UserError about
/// `target` or `arch`.
llvm::Expected<std::unique_ptr<const Target>>
chooseTarget(const TargetSpec &spec);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_PASSES_H

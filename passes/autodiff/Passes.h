// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes from a forward graph to a training step.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_AUTODIFF_PASSES_H
#define INGOT_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/DistillRule.h"
#include "passes/options/OptionValues.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/autodiff/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_AUTODIFF_PASSES_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that form kernels.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_PASSES_H
#define INGOT_PASSES_FUSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/fusion/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_FUSION_PASSES_H

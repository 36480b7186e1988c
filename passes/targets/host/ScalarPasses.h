// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes over scalar code in kernels that all targets share.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_SCALARPASSES_H
#define INGOT_PASSES_TARGETS_HOST_SCALARPASSES_H

#include "mlir/Pass/PassManager.h"
#include "passes/targets/host/Passes.h"

namespace ingot {

/// Adds the passes from scalar ops as op bodies emit them to arithmetic that
/// CPUs and GPUs support: 16-bit floats are computed in f32, and functions
/// become polynomials from level 1 on.
void addScalarPasses(mlir::OpPassManager &functions, unsigned level,
                     const ExpandMathOptions &units = {});

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_SCALARPASSES_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels of the runtime that a module needs, so that its trainer has no
// others.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_COMPILE_USEDKERNELS_H
#define INGOT_TOOLS_INGOTC_COMPILE_USEDKERNELS_H

#include "runtime/cpu/plan/KernelFamilies.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace ingot {

/// Returns the families of kernels for CPUs that the calls of a module with
/// steps can reach.
cpu::KernelFamilies findUsedKernels(mlir::ModuleOp module);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_COMPILE_USEDKERNELS_H

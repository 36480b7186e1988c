// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that generate code for CUDA GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_PASSES_H
#define INGOT_PASSES_TARGETS_CUDA_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/OptionValues.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/targets/cuda/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/targets/cuda/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_PASSES_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that verify the levels of the pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_VERIFY_PASSES_H
#define INGOT_PASSES_VERIFY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace ingot {

#define GEN_PASS_DECL
#include "passes/verify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/verify/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_VERIFY_PASSES_H

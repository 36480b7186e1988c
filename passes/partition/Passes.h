// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that split tensors along axes of the mesh of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_PASSES_H
#define INGOT_PASSES_PARTITION_PASSES_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Pass/Pass.h"
#include "passes/options/OptionValues.h"

namespace ingot {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_PASSES_H

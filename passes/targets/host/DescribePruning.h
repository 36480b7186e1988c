// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The part of the manifest of a module that is about weights that are pruned.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_HOST_DESCRIBEPRUNING_H
#define INGOT_PASSES_TARGETS_HOST_DESCRIBEPRUNING_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/PruningSpec.h"

#include <vector>

namespace ingot {

/// Returns the list for the key kPruningKey; empty for a module without pruned
/// weights.
std::vector<runtime::PruningSpec> describePruning(mlir::ModuleOp module);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_HOST_DESCRIBEPRUNING_H

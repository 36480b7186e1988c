// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The representation of booleans in memory, for all targets.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_BOOLEANS_H
#define INGOT_PASSES_CODEGEN_BOOLEANS_H

#include "mlir/IR/Operation.h"

namespace ingot::codegen {

/// Replaces loads and stores of `i1` in the LLVM dialect by those of bytes:
/// LLVM's vectorizers scalarize `i1`.
void widenBooleans(mlir::Operation *root);

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_BOOLEANS_H

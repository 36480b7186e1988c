// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The element types that trainers and their files know (DType, which
// runtime/abi/Manifest.td lists) and those of tensors in the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_SUPPORT_ELEMENTTYPES_H
#define INGOT_DIALECTS_INGOT_SUPPORT_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/abi/ManifestTypes.h"

namespace ingot {

/// Returns what trainers know elements of the type as. 8-bit floats are bytes
/// to them: they live within a step, and nothing reads them as numbers.
runtime::DType getDType(mlir::Type element);

/// The inverse, of all types that files may hold.
mlir::Type getElementType(mlir::MLIRContext *context, runtime::DType type);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_SUPPORT_ELEMENTTYPES_H

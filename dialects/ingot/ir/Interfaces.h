//===----------------------------------------------------------------------===//
//
// C++ side of Interfaces.td.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_INTERFACES_H
#define INGOT_DIALECTS_INGOT_IR_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot {

/// See the interface PrecisionRole.
enum class Precision { Low, Keep, Follow };

/// Emits the element of operand `operand` at `indices`.
using ElementSource =
    llvm::function_ref<mlir::Value(unsigned operand, mlir::ValueRange indices)>;

namespace detail {
int64_t elementwiseFlops(mlir::Operation *op);
int64_t operandAndResultBytes(mlir::Operation *op);
} // namespace detail

} // namespace ingot

#include "dialects/ingot/ir/Interfaces.h.inc"

#endif // INGOT_DIALECTS_INGOT_IR_INTERFACES_H

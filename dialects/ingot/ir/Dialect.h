//===----------------------------------------------------------------------===//
//
// The `ingot` dialect: ops of all families, attributes, and the names of the
// attributes that functions carry.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_DIALECT_H
#define INGOT_DIALECTS_INGOT_IR_DIALECT_H

#include "dialects/ingot/ir/Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/ingot/ir/Dialect.h.inc"
#include "dialects/ingot/Enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/ingot/Attributes.h.inc"
#define GET_OP_CLASSES
#include "dialects/ingot/Ops.h.inc"

namespace ingot {

/// Names of the attributes on arguments and results of functions.
inline constexpr llvm::StringLiteral kStateAttr = "ingot.state";
inline constexpr llvm::StringLiteral kNameAttr = "ingot.name";
inline constexpr llvm::StringLiteral kKindAttr = "ingot.kind";

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_DIALECT_H

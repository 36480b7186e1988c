//===----------------------------------------------------------------------===//
//
// The `exec` dialect: see Exec.td.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_EXEC_H
#define INGOT_DIALECTS_EXEC_EXEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot::exec {

/// One field of a descriptor struct: an integer of 4 or 8 bytes, or an address
/// that code generation fills in.
struct Field {
  enum Kind { Number, KernelName, KernelCode };

  /// What the target's runtime finds a kernel by; null without one.
  static Field nameOf(mlir::StringAttr kernel) {
    return {sizeof(void *), 0, KernelName, kernel};
  }
  /// The kernel's function for the CPU, which takes so many indices behind its
  /// buffers; null where there is none.
  static Field codeOf(mlir::StringAttr kernel, int64_t indices) {
    return {sizeof(void *), indices, KernelCode, kernel};
  }

  unsigned bytes;
  int64_t value;
  Kind kind = Number;
  mlir::StringAttr kernel = {};
};

} // namespace ingot::exec

#include "dialects/exec/Exec.h.inc"
#include "dialects/exec/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.h.inc"
#include "dialects/exec/ExecInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

#endif // INGOT_DIALECTS_EXEC_EXEC_H

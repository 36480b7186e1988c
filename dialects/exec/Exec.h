// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The `exec` dialect: see Exec.td.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_EXEC_H
#define INGOT_DIALECTS_EXEC_EXEC_H

#include "dialects/exec/Descriptor.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ingot::exec {

/// Attributes of modules, states and calls: see Exec.td.
constexpr llvm::StringLiteral kStateBytesAttr = "exec.state_bytes";
constexpr llvm::StringLiteral kMappedBytesAttr = "exec.mapped_bytes";
constexpr llvm::StringLiteral kWeightsFileAttr = "exec.weights_file";
constexpr llvm::StringLiteral kHomeAttr = "exec.home";
constexpr llvm::StringLiteral kMessagesAttr = "exec.messages";
constexpr llvm::StringLiteral kOffsetAttr = "exec.offset";
constexpr llvm::StringLiteral kBoundAttr = "exec.bound";
constexpr llvm::StringLiteral kPartAttr = "exec.part";
constexpr llvm::StringLiteral kGradientsAttr = "exec.gradients";
constexpr llvm::StringLiteral kManifestAttr = "exec.manifest";
constexpr llvm::StringLiteral kDeviceCodeAttr = "exec.device_code";
constexpr llvm::StringLiteral kDeviceTextAttr = "exec.device_text";
constexpr llvm::StringLiteral kNextModuleAttr = "exec.next_module";
constexpr llvm::StringLiteral kWeightBytesAttr = "exec.weight_bytes";
constexpr llvm::StringLiteral kExportBytesAttr = "exec.export_bytes";

} // namespace ingot::exec

#include "dialects/exec/Exec.h.inc"
#include "dialects/exec/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttributes.h.inc"
#include "dialects/exec/ExecInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

namespace ingot::exec {

/// Visits the calls of a step in their order, each once, with the number of
/// times that a step executes it.
void forEachCall(StepOp step,
                 llvm::function_ref<void(AbiCall call, int64_t times)> visit);

} // namespace ingot::exec

#endif // INGOT_DIALECTS_EXEC_EXEC_H

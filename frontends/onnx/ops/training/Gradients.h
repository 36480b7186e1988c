// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Functions that the importers of gradient operators share: the gradients of an
// op of the dialect, in the form that --ingot-differentiate gives them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_TRAINING_GRADIENTS_H
#define INGOT_FRONTENDS_ONNX_OPS_TRAINING_GRADIENTS_H

#include "frontends/onnx/ops/runtime/Compose.h"
#include "llvm/ADT/SmallBitVector.h"

namespace ingot::onnx_import {

/// Returns a user of the value that is an op of the type and satisfies the
/// predicate: the forward op of a gradient. Null if there is none.
template <typename OpT, typename Predicate>
OpT findUser(mlir::Value value, Predicate &&predicate) {
  for (mlir::Operation *user : value.getUsers())
    if (auto op = llvm::dyn_cast<OpT>(user); op && predicate(op))
      return op;
  return nullptr;
}

/// Builds the gradients by the operands of `op`, given the cotangents of its
/// results (null where there is none). The node's output `i` becomes the
/// gradient by operand `operands[i]`, unless nothing reads it.
llvm::LogicalResult setGradients(Node &node, mlir::Operation *op,
                                 llvm::ArrayRef<mlir::Value> cotangents,
                                 llvm::ArrayRef<unsigned> operands);

/// Imports the standard operator `opType` with the node's attributes, and
/// returns the gradients by its inputs `wanted`, given the cotangents of its
/// results (null where there is none). The forward ops that this needs are
/// merged with those of the forward node; a gradient is null where it is zero.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
pullBack(Node &node, llvm::StringRef opType, llvm::ArrayRef<mlir::Value> inputs,
         llvm::ArrayRef<mlir::Value> cotangents,
         llvm::ArrayRef<unsigned> wanted);

/// Makes each gradient the node's output at its position; those that are null
/// are zeros like the input.
void setResults(Node &node, llvm::ArrayRef<mlir::Value> gradients,
                llvm::ArrayRef<mlir::Value> inputs);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_TRAINING_GRADIENTS_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Operators of ONNX Runtime that are others in sequence.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_RUNTIME_COMPOSE_H
#define INGOT_FRONTENDS_ONNX_OPS_RUNTIME_COMPOSE_H

#include "frontends/onnx/model/Node.h"

namespace ingot::onnx_import {

/// Imports the node as if it were the standard operator with its attributes and
/// these inputs (null where omitted); returns the results of the operator.
llvm::FailureOr<llvm::SmallVector<Binding>>
importAs(Node &node, const onnx::NodeProto &proto,
         llvm::ArrayRef<mlir::Value> inputs);

/// A standard operator with attributes of its own.
class Standard {
public:
  explicit Standard(llvm::StringRef opType, int outputs = 1);
  Standard &set(llvm::StringRef name, int64_t value);
  Standard &set(llvm::StringRef name, double value);

  /// Imports it in the place of the node, with these inputs (null where
  /// omitted), and returns its outputs.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>>
  import(Node &node, llvm::ArrayRef<mlir::Value> inputs) const;

private:
  onnx::NodeProto proto;
};

/// Imports the operator with the attributes of the node, and returns its first
/// output.
llvm::FailureOr<mlir::Value> importLike(Node &node, llvm::StringRef opType,
                                        llvm::ArrayRef<mlir::Value> inputs);

/// Returns the sum of x and an optional input, which is broadcast to it.
llvm::FailureOr<mlir::Value> addInput(Node &node, mlir::Value x, size_t input);

/// Applies the operator that the node's attribute `activation` names, if it is
/// there. Its parameters are `params`, in the order of the names of its
/// attributes.
llvm::FailureOr<mlir::Value> activate(Node &node, mlir::Value x,
                                      llvm::ArrayRef<double> params);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_RUNTIME_COMPOSE_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The order of nodes. ONNX asks for one in which a node follows those whose
// results it takes; fusions of other programs append nodes at the end, and
// runtimes sort them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_NODEORDER_H
#define INGOT_FRONTENDS_ONNX_MODEL_NODEORDER_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::onnx_import {

/// Adds the names that the node reads, and those that graphs within it take
/// from around them.
void addReadNames(onnx::NodeProto &node, llvm::StringSet<> &names);

/// Sorts the nodes of the model's graph, of the graphs within it and of its
/// functions, each after those whose results it takes. Nodes that are in order
/// stay as they are. Fails, and names the nodes, if some wait for each other.
llvm::LogicalResult sortNodes(mlir::Location file, onnx::ModelProto &model);

/// Fails, and names the node, if one takes a name of the graph that nothing
/// gives a value.
llvm::LogicalResult checkNames(mlir::MLIRContext *context,
                               const onnx::GraphProto &graph);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_NODEORDER_H

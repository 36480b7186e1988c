// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The role of a constant input of an operator: a setting, a weight, a running
// statistic.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_INPUTROLES_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_INPUTROLES_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot::onnx_import {

/// Returns whether the input is a setting of the operator rather than an
/// operand: a bound, an exponent, a ratio.
bool isSetting(const onnx::NodeProto &node, int input);

/// Returns whether a constant at the input is a weight by the operator's
/// meaning: the filter of a convolution, the matrix of a product, the scale of
/// a normalization, the table of an embedding.
bool isWeight(const onnx::NodeProto &node, int input);

/// Returns whether the input is a running statistic, which training updates.
bool isStatistic(const onnx::NodeProto &node, int input);

/// Returns whether the node's first output holds the elements of the input
/// without arithmetic: moved, converted, or with others beside them.
bool passesOn(const onnx::NodeProto &node, int input);

/// Calls `visit` with each node of the graph, in order, and of the graphs in
/// its nodes, before the node that holds them.
void walkNodes(const onnx::GraphProto &graph,
               llvm::function_ref<void(const onnx::NodeProto &)> visit);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_INPUTROLES_H

// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/InputRoles.h"
#include "frontends/onnx/model/Node.h"
#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using namespace ingot::onnx_import;

using llvm::StringRef;

bool onnx_import::isSetting(const onnx::NodeProto &node, int input) {
  StringRef op = node.op_type();
  return (op == "Clip" && input > 0) || (op == "Pow" && input == 1) ||
         // Cosines and sines, which PyTorch calls buffers.
         (op == "RotaryEmbedding" && input > 0) ||
         (op == "GroupQueryAttention" && input >= 5 && input <= 9) ||
         (op == "Pad" && input > 0) || (op == "Dropout" && input > 0) ||
         (op == "OneHot" && input == 2) ||
         ((op == "Resize" || op == "Upsample") && input > 0) || op == "Range";
}

bool onnx_import::isStatistic(const onnx::NodeProto &node, int input) {
  return (input == 3 || input == 4) &&
         ((node.op_type() == "BatchNormalization" &&
           canonicalDomain(node.domain()).empty()) ||
          node.op_type() == "BatchNormInternal");
}

bool onnx_import::isWeight(const onnx::NodeProto &node, int input) {
  StringRef op = node.op_type();
  // The operators of ONNX Runtime fuse products and normalizations with what
  // they read.
  if (canonicalDomain(node.domain()) == "com.microsoft")
    return input > 0 || op.starts_with("FusedMatMul");
  if (op == "MatMul" || op == "Einsum")
    return true;
  if (op == "Gather" || op == "GatherND")
    return input == 0;
  if (op == "Gemm" || op == "PRelu" || op == "Conv" || op == "ConvTranspose" ||
      op == "DeformConv")
    return input > 0;
  if (op == "RNN" || op == "GRU" || op == "LSTM")
    return (input > 0 && input < 4) || input == 7;
  if (op.ends_with("Normalization"))
    return input > 0 && !isStatistic(node, input);
  return false;
}

bool onnx_import::passesOn(const onnx::NodeProto &node, int input) {
  StringRef op = node.op_type();
  if (op == "Concat")
    return true;
  return input == 0 && llvm::is_contained(
                           {"Identity", "Cast", "Transpose", "Reshape",
                            "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split",
                            "Expand", "DequantizeLinear", "QuantizeLinear"},
                           op);
}

void onnx_import::walkNodes(
    const onnx::GraphProto &graph,
    llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::NodeProto &node : graph.node()) {
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        walkNodes(attribute.g(), visit);
      for (const onnx::GraphProto &inner : attribute.graphs())
        walkNodes(inner, visit);
    }
    visit(node);
  }
}

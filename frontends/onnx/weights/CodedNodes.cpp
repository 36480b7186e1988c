// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/CodedNodes.h"

#include "frontends/onnx/model/Node.h"
#include "llvm/ADT/STLExtras.h"

using namespace ingot;
using namespace ingot::onnx_import;
using llvm::StringRef;
using onnx::TensorProto;

int64_t onnx_import::getInteger(const onnx::NodeProto &node, StringRef name,
                                int64_t otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return otherwise;
}

static bool isOf(const onnx::NodeProto &node, StringRef domain, StringRef op) {
  return canonicalDomain(node.domain()) == domain && node.op_type() == op;
}

std::optional<CodesForm>
onnx_import::getCodesForm(const onnx::NodeProto &node) {
  if (isOf(node, "com.microsoft", "MatMulNBits"))
    return CodesForm::Integers;
  if (isOf(node, "com.microsoft", "MatMulBnb4"))
    return CodesForm::Floats;
  if ((isOf(node, "", "DequantizeLinear") ||
       isOf(node, "com.microsoft", "DequantizeLinear")) &&
      getInteger(node, "block_size", 0) > 0)
    return CodesForm::Blocks;
  return std::nullopt;
}

CodesLayout onnx_import::getCodesLayout(const onnx::NodeProto &node,
                                        CodesForm form,
                                        const TensorProto &codes) {
  CodesLayout layout;
  layout.block = getInteger(node, "block_size", 0);
  switch (form) {
  case CodesForm::Integers:
    layout.rows = getInteger(node, "N", 0);
    layout.columns = getInteger(node, "K", 0);
    layout.bits = getInteger(node, "bits", 4);
    break;
  case CodesForm::Floats: {
    bool isTransposed = getInteger(node, "transB", 1);
    layout.rows = getInteger(node, isTransposed ? "N" : "K", 0);
    layout.columns = getInteger(node, isTransposed ? "K" : "N", 0);
    layout.kind = getInteger(node, "quant_type", 1) == 1 ? INGOT_CODE_NF4
                                                         : INGOT_CODE_FP4;
    return layout;
  }
  case CodesForm::Blocks: {
    int64_t axis = getInteger(node, "axis", 1);
    layout.isTransposed = axis == 0 || axis == -2;
    layout.rows = codes.dims(layout.isTransposed ? 1 : 0);
    layout.columns = codes.dims(layout.isTransposed ? 0 : 1);
    layout.bits = codes.data_type() == TensorProto::INT4 ||
                          codes.data_type() == TensorProto::UINT4
                      ? 4
                      : 8;
    layout.isSigned = codes.data_type() == TensorProto::INT4 ||
                      codes.data_type() == TensorProto::INT8;
    // Those that begin at 0 have an offset without a zero point, too.
    layout.hasMiddle = layout.isSigned;
    layout.isInNode = false;
    break;
  }
  }
  layout.kind = layout.bits == 4 ? INGOT_CODE_INT4 : INGOT_CODE_INT8;
  return layout;
}

int onnx_import::getCodesInput(CodesForm form) {
  return form == CodesForm::Blocks ? 0 : 1;
}

std::string onnx_import::getPartNames(const onnx::NodeProto &node,
                                      CodesForm form) {
  int first = getCodesInput(form);
  std::string names;
  for (int i = first; i < first + 3; ++i)
    names += (i < node.input_size() ? node.input(i) : "") + "\n";
  return names;
}

bool onnx_import::hasFloats(const TensorProto &tensor) {
  return llvm::is_contained(
      {TensorProto::FLOAT, TensorProto::FLOAT16, TensorProto::BFLOAT16},
      tensor.data_type());
}

int64_t onnx_import::countElements(const TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.dims())
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return -1;
  return count;
}

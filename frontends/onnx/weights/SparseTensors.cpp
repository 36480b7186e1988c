// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/weights/SparseTensors.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"

#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// Returns the tensor with its zeros.
static FailureOr<onnx::TensorProto>
toDense(Location file, const onnx::SparseTensorProto &sparse) {
  const std::string &name = sparse.values().name();
  auto fail = [&](const Twine &what) {
    return emitUserError(file, "sparse tensor '" + Twine(name) + "' " + what,
                         "convert it to a dense tensor");
  };
  FailureOr<std::string> values = tensorBytes(file, sparse.values());
  FailureOr<std::string> indices = tensorBytes(file, sparse.indices());
  if (failed(values) || failed(indices))
    return failure();
  constexpr int64_t mostElements = int64_t(1) << 30;
  int64_t elements = 1, rank = sparse.dims_size();
  for (int64_t size : sparse.dims()) {
    if (size < 0 || (size && elements > mostElements / size))
      return fail("is too large");
    elements *= size;
  }
  int64_t count =
      sparse.values().dims_size() == 1 ? sparse.values().dims(0) : 0;
  bool isFlat = sparse.indices().dims_size() == 1;
  size_t wanted = count * (isFlat ? 1 : rank) * sizeof(int64_t);
  if (sparse.indices().data_type() != onnx::TensorProto::INT64 ||
      indices->size() != wanted)
    return fail("has indices that do not fit its values");
  onnx::TensorProto dense;
  dense.set_name(name);
  dense.set_data_type(sparse.values().data_type());
  *dense.mutable_dims() = sparse.dims();
  std::string bytes;
  Type element = elementType(file.getContext(), dense.data_type());
  if (!element)
    return fail("has no ordinary element type");
  size_t width = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  bytes.resize(elements * width);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < (isFlat ? 1 : rank); ++d) {
      int64_t index;
      std::memcpy(&index,
                  indices->data() +
                      (i * (isFlat ? 1 : rank) + d) * sizeof index,
                  sizeof index);
      int64_t size = isFlat ? elements : sparse.dims(static_cast<int>(d));
      if (index < 0 || index >= size)
        return fail("has an index beyond its sizes");
      at = isFlat ? index : at * size + index;
    }
    std::memcpy(bytes.data() + at * width, values->data() + i * width, width);
  }
  dense.set_raw_data(std::move(bytes));
  return dense;
}

static LogicalResult makeDense(Location file, onnx::GraphProto &graph) {
  for (const onnx::SparseTensorProto &sparse : graph.sparse_initializer()) {
    FailureOr<onnx::TensorProto> dense = toDense(file, sparse);
    if (failed(dense))
      return failure();
    *graph.add_initializer() = std::move(*dense);
  }
  graph.clear_sparse_initializer();
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && failed(makeDense(file, *attribute.mutable_g())))
        return failure();
      if (node.op_type() != "Constant" || attribute.name() != "sparse_value")
        continue;
      FailureOr<onnx::TensorProto> dense =
          toDense(file, attribute.sparse_tensor());
      if (failed(dense))
        return failure();
      attribute.clear_sparse_tensor();
      attribute.set_name("value");
      attribute.set_type(onnx::AttributeProto::TENSOR);
      *attribute.mutable_t() = std::move(*dense);
    }
  return success();
}

LogicalResult onnx_import::makeDense(Location file, onnx::ModelProto &model) {
  return ::makeDense(file, *model.mutable_graph());
}

// SPDX-License-Identifier: Apache-2.0

// The export template put back together is the model that was imported.

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Tensor.h"
#include "frontends/onnx/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "gtest/gtest.h"
#include <fstream>

using namespace ingot;
using onnx_import::ExportTemplate;

namespace {

onnx::TensorProto &addInitializer(onnx::GraphProto &graph, const char *name,
                                  std::initializer_list<int64_t> shape) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t size : shape)
    tensor.add_dims(size);
  return tensor;
}

void addNode(onnx::GraphProto &graph, const char *op,
             std::initializer_list<const char *> inputs, const char *output) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(output);
  for (const char *input : inputs)
    node.add_input(input);
  node.add_output(output);
}

void addValue(onnx::ValueInfoProto &value, const char *name,
              const char *batch) {
  value.set_name(name);
  auto &type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param(batch);
  type.mutable_shape()->add_dim()->set_dim_value(3);
}

/// y = (x * raw + typed) * scalar + unused, in part; weights in both encodings.
onnx::ModelProto makeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(17);
  auto *metadata = model.add_metadata_props();
  metadata->set_key("author");
  metadata->set_value("someone");
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("g");
  addValue(*graph.add_input(), "x", "n");
  addValue(*graph.add_output(), "y", "n");
  addNode(graph, "Mul", {"x", "raw"}, "a");
  addNode(graph, "Add", {"a", "typed"}, "y");
  float values[] = {1.5f, -2.0f, 0.25f};
  addInitializer(graph, "raw", {3}).set_raw_data(values, sizeof(values));
  onnx::TensorProto &typed = addInitializer(graph, "typed", {1, 3});
  for (float value : {4.0f, 5.0f, 6.0f})
    typed.add_float_data(value);
  addInitializer(graph, "unused", {1}).add_float_data(7.0f);
  return model;
}

/// The template's model with the module's initial values in its holes.
std::string assemble(const ExportTemplate &exported, mlir::ModuleOp module) {
  std::string bytes;
  size_t at = 0;
  for (const ExportTemplate::Segment &segment : exported.segments) {
    bytes.append(exported.literal, at, segment.literalBytes);
    at += segment.literalBytes;
    if (segment.state.empty())
      continue;
    auto state = module.lookupSymbol<StateOp>(segment.state);
    EXPECT_TRUE(state) << segment.state;
    auto tensor = reference::Tensor::fromAttribute(state.getInitial());
    EXPECT_TRUE(bool(tensor));
    std::vector<char> raw = tensor->getRawData();
    bytes.append(raw.begin(), raw.end());
  }
  EXPECT_EQ(at, exported.literal.size());
  return bytes;
}

mlir::FailureOr<onnx_import::ImportedModel>
importModel(const onnx::ModelProto &model,
            const onnx_import::ImportOptions &options,
            mlir::MLIRContext &context) {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("model", "onnx", path))
    return mlir::failure();
  llvm::FileRemover remover(path);
  std::ofstream(path.c_str(), std::ios::binary) << model.SerializeAsString();
  return onnx_import::importOnnx(path, options, context);
}

TEST(ExportTemplate, LeavesLargeWeightsToAnotherFile) {
  onnx::ModelProto model = makeModel();
  onnx::GraphProto &graph = *model.mutable_graph();
  std::vector<float> wide(3 * 128, 0.5f);
  addInitializer(graph, "wide", {3, 128})
      .set_raw_data(wide.data(), wide.size() * sizeof(float));
  addNode(graph, "MatMul", {"a", "wide"}, "z");
  addValue(*graph.add_output(), "z", "n");
  graph.mutable_output(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(128);

  mlir::MLIRContext context;
  onnx_import::ImportOptions options;
  options.batch = 4;
  options.externalData = true;
  auto imported = importModel(model, options, context);
  ASSERT_TRUE(mlir::succeeded(imported));
  const ExportTemplate &exported = imported->exportTemplate;
  EXPECT_TRUE(exported.isExternal);
  EXPECT_EQ(exported.obstacle, "");
  ASSERT_EQ(exported.segments.size(), 4u);
  EXPECT_EQ(exported.segments[0].state, "raw");
  EXPECT_EQ(exported.segments[1].state, "typed");
  EXPECT_EQ(exported.segments[2].state, "");
  EXPECT_GT(exported.segments[2].literalBytes, 0);
  EXPECT_EQ(exported.segments[3].state, "wide");

  ExportTemplate inside = exported;
  inside.segments.pop_back();
  size_t head = exported.segments[3].literalBytes;
  inside.literal.resize(inside.literal.size() - head);
  onnx::ModelProto back;
  ASSERT_TRUE(back.ParseFromString(assemble(inside, *imported->module)));
  ASSERT_EQ(back.graph().initializer_size(), 3);
  EXPECT_EQ(back.graph().initializer(2).name(), "unused");
  onnx::TensorProto tensor;
  ASSERT_TRUE(tensor.ParseFromString(
      exported.literal.substr(exported.literal.size() - head)));
  EXPECT_EQ(tensor.name(), "wide");
  EXPECT_EQ(tensor.dims_size(), 2);
  EXPECT_FALSE(tensor.has_raw_data());
}

TEST(ExportTemplate, GivesTheModelBack) {
  onnx::ModelProto model = makeModel();
  mlir::MLIRContext context;
  onnx_import::ImportOptions options;
  options.batch = 4;
  auto imported = importModel(model, options, context);
  ASSERT_TRUE(mlir::succeeded(imported));
  const ExportTemplate &exported = imported->exportTemplate;
  EXPECT_EQ(exported.obstacle, "");
  ASSERT_EQ(exported.segments.size(), 3u);
  EXPECT_EQ(exported.segments[0].state, "raw");
  EXPECT_EQ(exported.segments[1].state, "typed");
  EXPECT_EQ(exported.segments[2].state, "");

  onnx::ModelProto back;
  ASSERT_TRUE(back.ParseFromString(assemble(exported, *imported->module)));
  // Everything as it was, the batch as in the file; typed data has become raw.
  for (int i : {1, 2}) {
    onnx::TensorProto &tensor = *model.mutable_graph()->mutable_initializer(i);
    std::string raw(reinterpret_cast<const char *>(tensor.float_data().data()),
                    tensor.float_data_size() * sizeof(float));
    tensor.clear_float_data();
    tensor.set_raw_data(raw);
  }
  EXPECT_EQ(back.SerializeAsString(), model.SerializeAsString());
}

} // namespace

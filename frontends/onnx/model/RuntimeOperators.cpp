// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/model/RuntimeOperators.h"
#include "onnx/defs/schema.h"
#include "onnx/defs/shape_inference.h"
#include <string>
#include <vector>

using namespace ingot;
using onnx::AttributeProto;
using onnx::OpSchema;

namespace {

/// One operator. Optional inputs and outputs end with a question mark.
struct Operator {
  std::string name;
  /// The opset from which it is known; its successor, if any, follows later.
  int since;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, AttributeProto::AttributeType>> attributes;
};

} // namespace

static OpSchema schemaOf(const Operator &op) {
  OpSchema schema;
  schema.SetName(op.name).SetDomain(onnx::ONNX_DOMAIN).SinceVersion(op.since);
  auto parse = [](const std::string &name) {
    bool isOptional = name.back() == '?';
    return std::pair(isOptional ? name.substr(0, name.size() - 1) : name,
                     isOptional ? OpSchema::Optional : OpSchema::Single);
  };
  for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) {
    auto [name, option] = parse(op.inputs[i]);
    schema.Input(i, name, "", "T", option);
  }
  for (int i = 0; i < static_cast<int>(op.outputs.size()); ++i) {
    auto [name, option] = parse(op.outputs[i]);
    schema.Output(i, name, "", "T", option);
  }
  for (const auto &[name, type] : op.attributes)
    schema.Attr(name, "", type, /*required=*/false);
  schema.TypeConstraint("T", OpSchema::all_tensor_types(), "");
  schema.TypeAndShapeInferenceFunction(
      onnx::propagateShapeAndTypeFromFirstInput);
  return schema;
}

void onnx_import::registerRuntimeOperators() {
  static const bool isDone = [] {
    const auto i = AttributeProto::INT;
    const auto f = AttributeProto::FLOAT;
    const auto ints = AttributeProto::INTS;
    const auto floats = AttributeProto::FLOATS;
    const std::vector<Operator> operators = {
        // Those that ONNX Runtime adds. ONNX has the first since opset 17.
        {"LayerNormalization",
         1,
         {"X", "Scale", "B?"},
         {"Y", "Mean?", "InvStdDev?"},
         {{"axis", i}, {"epsilon", f}, {"stash_type", i}}},
        {"SimplifiedLayerNormalization",
         1,
         {"X", "Scale"},
         {"Y", "InvStdDev?"},
         {{"axis", i}, {"epsilon", f}, {"stash_type", i}}},
        // ONNX's experiments, which old converters write, up to opset 9.
        {"Affine", 1, {"X"}, {"Y"}, {{"alpha", f}, {"beta", f}}},
        {"Crop", 1, {"X"}, {"Y"}, {{"border", ints}, {"scale", ints}}},
        {"DynamicSlice", 1, {"X", "Starts", "Ends", "Axes?"}, {"Y"}, {}},
        {"ImageScaler", 1, {"X"}, {"Y"}, {{"bias", floats}, {"scale", f}}},
        {"ParametricSoftplus", 1, {"X"}, {"Y"}, {{"alpha", f}, {"beta", f}}},
        {"Scale", 1, {"X"}, {"Y"}, {{"scale", f}}},
        {"MeanVarianceNormalization",
         1,
         {"X"},
         {"Y"},
         {{"across_channels", i}, {"normalize_variance", i}}},
        {"ThresholdedRelu", 1, {"X"}, {"Y"}, {{"alpha", f}}},
        {"ScaledTanh", 1, {"X"}, {"Y"}, {{"alpha", f}, {"beta", f}}},
        // ONNX marks the form with values of each group as deprecated, though
        // opset 18 to 20 have no other.
        {"GroupNormalization",
         18,
         {"X", "Scale", "Bias"},
         {"Y"},
         {{"epsilon", f}, {"num_groups", i}}},
    };
    // The first look-up makes the library's own operators known.
    if (onnx::OpSchemaRegistry::Schema("GroupNormalization", 18))
      onnx::DeregisterSchema("GroupNormalization", 18, onnx::ONNX_DOMAIN);
    for (const Operator &op : operators)
      onnx::RegisterSchema(schemaOf(op));
    return true;
  }();
  (void)isDone;
}

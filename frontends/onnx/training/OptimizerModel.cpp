// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/training/OptimizerModel.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "llvm/ADT/STLExtras.h"
#include <charconv>

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static constexpr StringLiteral kHint =
    "generate it with onnxblock.optim.AdamW or SGD, or choose another with "
    "--optimizer and leave out --optimizer-model";

double onnx_import::shortestDecimal(float value) {
  char text[32] = {};
  std::to_chars(text, text + sizeof text - 1, value);
  return std::strtod(text, nullptr);
}

namespace {
/// The attributes of a node, each read once.
class Attributes {
public:
  Attributes(Location file, const onnx::NodeProto &node)
      : file(file), node(node) {}

  const onnx::AttributeProto *find(StringRef name) const {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  }
  int64_t getInt(StringRef name, int64_t otherwise) const {
    const onnx::AttributeProto *attribute = find(name);
    return attribute ? attribute->i() : otherwise;
  }
  /// Reads a number in [low, high].
  LogicalResult read(StringRef name, double otherwise, double low, double high,
                     double &value) const {
    const onnx::AttributeProto *attribute = find(name);
    value = attribute ? shortestDecimal(attribute->f()) : otherwise;
    if (value >= low && value <= high)
      return success();
    return emitUserError(file,
                         "node '" + Twine(nodeName(node)) + "': " + name +
                             " is " + std::to_string(value),
                         kHint);
  }

private:
  Location file;
  const onnx::NodeProto &node;
};
} // namespace

/// ONNX Runtime has the formula of PyTorch (mode 0) and that of Hugging Face
/// Transformers (mode 1).
static LogicalResult readAdamW(Location file, const onnx::NodeProto &node,
                               GivenOptimizer &result) {
  Attributes attributes(file, node);
  int64_t mode = attributes.getInt("adam_mode", 0);
  bool corrects = attributes.getInt("correct_bias", 1) != 0;
  double beta1, beta2, eps, decay;
  if (failed(attributes.read("alpha", 0.9, 0, 1, beta1)) ||
      failed(attributes.read("beta", 0.999, 0, 1, beta2)) ||
      failed(attributes.read("epsilon", 1e-8, 0, 1, eps)) ||
      failed(attributes.read("weight_decay", 1e-2, 0, 1e6, decay)))
    return failure();
  if (mode != 0 && mode != 1)
    return emitUserError(file,
                         "node '" + Twine(nodeName(node)) + "': adam_mode is " +
                             Twine(mode),
                         kHint);
  if (mode == 0 && !corrects)
    return emitUserError(file,
                         "node '" + Twine(nodeName(node)) +
                             "': adam_mode 0 without correct_bias is not "
                             "supported",
                         kHint);
  result.name = mode == 0 ? "adamw" : "adamw-hf";
  result.hyperparameters = {{"lr", 1e-3},
                            {"beta1", beta1},
                            {"beta2", beta2},
                            {"eps", eps},
                            {"weight_decay", decay}};
  if (mode == 1)
    result.hyperparameters.emplace_back("correct_bias", corrects ? 1.0 : 0.0);
  result.moments = {"exp_avg", "exp_avg_sq"};
  return success();
}

FailureOr<GivenOptimizer>
onnx_import::readOptimizerModel(Location file, const onnx::ModelProto &model) {
  GivenOptimizer result;
  std::optional<double> clipNorm;
  for (const onnx::NodeProto &node : model.graph().node()) {
    StringRef op = node.op_type();
    bool isKnown = node.domain() == "com.microsoft";
    if (isKnown && op == "InplaceClipGradNorm" && result.name.empty()) {
      double norm;
      if (failed(Attributes(file, node).read("max_norm", 1.0, 0, 1e30, norm)))
        return failure();
      clipNorm = norm;
    } else if (isKnown && op == "AdamWOptimizer" && result.name.empty()) {
      if (failed(readAdamW(file, node, result)))
        return failure();
    } else if (isKnown && op == "SGDOptimizerV2" && result.name.empty()) {
      result.name = "sgd";
      result.hyperparameters = {{"lr", 1e-3}, {"weight_decay", 0.0}};
    } else {
      return emitUserError(file,
                           "node '" + Twine(nodeName(node)) +
                               "': the optimizer's operator " + op +
                               " is not supported",
                           kHint);
    }
  }
  if (result.name.empty())
    return emitUserError(file, "holds no optimizer", kHint);
  if (clipNorm)
    result.hyperparameters.emplace_back("clip_norm", *clipNorm);
  return result;
}

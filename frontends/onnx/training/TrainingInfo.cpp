// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/training/TrainingInfo.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Tensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static constexpr StringLiteral kDomain = "ai.onnx.preview.training";
static constexpr StringLiteral kHint =
    "train the model's graph instead: remove training_info, and choose --loss "
    "and --optimizer";

namespace {
class InfoReader {
public:
  InfoReader(Location file, const onnx::ModelProto &model)
      : file(file), model(model), info(model.training_info(0)) {}

  FailureOr<TrainingInfo> run();

private:
  LogicalResult fail(const Twine &what, const Twine &hint = kHint) {
    return emitUserError(file, what, hint);
  }
  LogicalResult combine();
  LogicalResult initialize();
  const onnx::TensorProto *initializer(StringRef name) const;
  std::optional<double> scalar(StringRef name);
  LogicalResult readRate(StringRef name, double &rate);
  LogicalResult readSteps(const onnx::NodeProto &node, bool usesCount);
  LogicalResult readOptimizer(const onnx::NodeProto &node);
  LogicalResult readAttributes(const onnx::NodeProto &node, double rate);
  LogicalResult readDescent(StringRef parameter, const onnx::NodeProto &node);
  LogicalResult setOptimizer(GivenOptimizer optimizer);
  LogicalResult readUpdates();
  LogicalResult findLoss();
  void makeEvaluation();

  Location file;
  const onnx::ModelProto &model;
  const onnx::TrainingInfoProto &info;
  TrainingInfo result;
  llvm::StringMap<const onnx::NodeProto *> makers;
  /// The value that replaces each initializer.
  llvm::StringMap<std::string> bindings;
  /// Initializers whose update is understood.
  llvm::StringSet<> understood;
};
} // namespace

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// The training graph is the model's graph followed by the algorithm.
LogicalResult InfoReader::combine() {
  result.step = model;
  result.step.clear_training_info();
  onnx::GraphProto &graph = *result.step.mutable_graph();
  const onnx::GraphProto &algorithm = info.algorithm();
  graph.mutable_node()->MergeFrom(algorithm.node());
  graph.mutable_initializer()->MergeFrom(algorithm.initializer());
  graph.mutable_input()->MergeFrom(algorithm.input());
  graph.mutable_output()->MergeFrom(algorithm.output());
  graph.mutable_value_info()->MergeFrom(algorithm.value_info());
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      makers[output] = &node;
  for (const onnx::StringStringEntryProto &binding : info.update_binding()) {
    if (!initializer(binding.key()))
      return fail("training_info updates '" + binding.key() +
                  "', which is no initializer");
    if (!bindings.try_emplace(binding.key(), binding.value()).second)
      return fail("training_info updates '" + binding.key() + "' twice");
  }
  return success();
}

const onnx::TensorProto *InfoReader::initializer(StringRef name) const {
  for (const onnx::TensorProto &tensor : result.step.graph().initializer())
    if (tensor.name() == name)
      return &tensor;
  return nullptr;
}

/// Initial values are constants of the initialization.
LogicalResult InfoReader::initialize() {
  const onnx::GraphProto &start = info.initialization();
  for (const onnx::StringStringEntryProto &binding :
       info.initialization_binding()) {
    const onnx::TensorProto *value = nullptr;
    for (const onnx::TensorProto &tensor : start.initializer())
      if (tensor.name() == binding.value())
        value = &tensor;
    for (const onnx::NodeProto &node : start.node())
      if (node.op_type() == "Constant" && node.output_size() == 1 &&
          node.output(0) == binding.value())
        for (const onnx::AttributeProto &attribute : node.attribute())
          if (attribute.name() == "value")
            value = &attribute.t();
    if (!value)
      return fail("training_info initializes '" + binding.key() +
                      "' by a value that is no constant",
                  "store the initial value in the model's initializer");
    bool found = false;
    for (onnx::TensorProto &tensor :
         *result.step.mutable_graph()->mutable_initializer())
      if (tensor.name() == binding.key()) {
        found = true;
        std::string name = tensor.name();
        tensor = *value;
        tensor.set_name(name);
      }
    if (!found)
      return fail("training_info initializes '" + binding.key() +
                  "', which is no initializer");
  }
  return success();
}

std::optional<double> InfoReader::scalar(StringRef name) {
  const onnx::TensorProto *tensor = initializer(name);
  if (!tensor)
    return std::nullopt;
  FailureOr<std::string> bytes = tensorBytes(file, *tensor);
  if (failed(bytes))
    return std::nullopt;
  auto as = [&](auto value) -> std::optional<double> {
    if (bytes->size() != sizeof value)
      return std::nullopt;
    std::memcpy(&value, bytes->data(), sizeof value);
    if constexpr (std::is_same_v<decltype(value), float>)
      return shortestDecimal(value);
    return static_cast<double>(value);
  };
  switch (tensor->data_type()) {
  case onnx::TensorProto::FLOAT:
    return as(0.0F);
  case onnx::TensorProto::DOUBLE:
    return as(0.0);
  case onnx::TensorProto::INT64:
    return as(int64_t(0));
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

/// The rate is a number of the model, or an input, for which the trainer's
/// option stands.
LogicalResult InfoReader::readRate(StringRef name, double &rate) {
  rate = 1e-3;
  auto *inputs = result.step.mutable_graph()->mutable_input();
  auto input = llvm::find_if(*inputs, [&](const onnx::ValueInfoProto &value) {
    return value.name() == name;
  });
  if (input != inputs->end() && !initializer(name)) {
    inputs->erase(input);
    return success();
  }
  std::optional<double> value = scalar(name);
  if (!value)
    return fail("the learning rate '" + name +
                "' of training_info is neither a number nor an input");
  rate = *value;
  return success();
}

/// Reads the count of steps, T, which is bound to T + 1. Where the update reads
/// T before it is increased, its first step has the number T.
LogicalResult InfoReader::readSteps(const onnx::NodeProto &node,
                                    bool usesCount) {
  std::string name = node.input(1);
  bool isIncreased = false;
  if (auto maker = makers.find(name); maker != makers.end()) {
    const onnx::NodeProto &add = *maker->second;
    if (add.op_type() != "Add" || add.input_size() != 2)
      return fail("node '" + nodeName(node) +
                  "': the count of steps is not an initializer plus 1");
    isIncreased = true;
    name = initializer(add.input(0)) && bindings.contains(add.input(0))
               ? add.input(0)
               : add.input(1);
  }
  understood.insert(name);
  std::optional<double> steps = scalar(name);
  if (!usesCount)
    return success();
  if (!steps || !bindings.contains(name))
    return fail("node '" + nodeName(node) +
                "': the count of steps is not an initializer that is updated");
  result.group.step = static_cast<int64_t>(*steps) - (isIncreased ? 0 : 1);
  return success();
}

LogicalResult InfoReader::setOptimizer(GivenOptimizer optimizer) {
  GivenOptimizer &known = result.optimizer;
  if (!known.name.empty() &&
      (known.name != optimizer.name ||
       known.hyperparameters != optimizer.hyperparameters))
    return fail("training_info updates parameters by several optimizers, or "
                "with several settings");
  known = std::move(optimizer);
  return success();
}

LogicalResult InfoReader::readAttributes(const onnx::NodeProto &node,
                                         double rate) {
  auto number = [&](StringRef name, float otherwise) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == name)
        return shortestDecimal(attribute.f());
    return shortestDecimal(otherwise);
  };
  auto require = [&](StringRef name, double wanted, float otherwise) {
    if (number(name, otherwise) == wanted)
      return success();
    return fail("node '" + nodeName(node) + "': " + name + " other than " +
                Twine(static_cast<int>(wanted)) + " is not supported");
  };
  StringRef op = node.op_type();
  if (op == "Momentum") {
    std::string mode = "standard";
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == "mode")
        mode = attribute.s();
    if (mode != "standard" && mode != "nesterov")
      return fail("node '" + nodeName(node) + "': mode '" + mode +
                  "' is not supported");
    if (failed(require("beta", 1, 1)))
      return failure();
    return setOptimizer({mode == "nesterov" ? "nesterov" : "momentum",
                         {{"lr", rate},
                          {"momentum", number("alpha", 0)},
                          {"weight_decay", number("norm_coefficient", 0)}},
                         {"momentum"}});
  }
  if (op == "Adagrad") {
    if (failed(require("decay_factor", 0, 0)))
      return failure();
    return setOptimizer({"adagrad",
                         {{"lr", rate},
                          {"eps", number("epsilon", 1e-6F)},
                          {"weight_decay", number("norm_coefficient", 0)}},
                         {"sum"}});
  }
  if (failed(require("norm_coefficient", 0, 0)) ||
      failed(require("norm_coefficient_post", 0, 0)))
    return failure();
  return setOptimizer({"adamw-hf",
                       {{"lr", rate},
                        {"beta1", number("alpha", 0.9F)},
                        {"beta2", number("beta", 0.999F)},
                        {"eps", number("epsilon", 1e-6F)},
                        {"weight_decay", 0.0},
                        {"correct_bias", 1.0}},
                       {"exp_avg", "exp_avg_sq"}});
}

/// Inputs: the rate, the count of steps, then parameters, gradients, and one or
/// two moments of each. Results: the next values of all but the gradients.
LogicalResult InfoReader::readOptimizer(const onnx::NodeProto &node) {
  int moments = node.op_type() == "Adam" ? 2 : 1;
  int count = (node.input_size() - 2) / (2 + moments);
  if (count < 1 || node.input_size() != 2 + count * (2 + moments) ||
      node.output_size() != count * (1 + moments))
    return fail("node '" + nodeName(node) + "' has " +
                Twine(node.input_size()) + " inputs and " +
                Twine(node.output_size()) + " outputs");
  double rate;
  if (failed(readRate(node.input(0), rate)) ||
      failed(readSteps(node, node.op_type() == "Adam")) ||
      failed(readAttributes(node, rate)))
    return failure();
  auto isUpdated = [&](const std::string &name, int output) {
    auto binding = bindings.find(name);
    understood.insert(name);
    return binding != bindings.end() && binding->second == node.output(output);
  };
  for (int i = 0; i < count; ++i) {
    const std::string &parameter = node.input(2 + i);
    if (!initializer(parameter) || !isUpdated(parameter, i))
      return fail("node '" + nodeName(node) + "' computes the next '" +
                  parameter + "', and no update_binding stores it");
    result.training.gradients.emplace_back(parameter,
                                           node.input(2 + count + i));
    auto &entry = result.group.moments.emplace_back();
    entry.first = parameter;
    for (int m = 0; m < moments; ++m) {
      const std::string &moment = node.input(2 + (2 + m) * count + i);
      const onnx::TensorProto *start = initializer(moment);
      if (!start || !isUpdated(moment, (1 + m) * count + i))
        return fail("node '" + nodeName(node) + "': '" + moment +
                    "' is not an initializer that is updated");
      FailureOr<std::string> bytes = tensorBytes(file, *start);
      if (failed(bytes))
        return failure();
      onnx::TensorProto &tensor = entry.second.emplace_back(*start);
      tensor.clear_float_data();
      tensor.set_raw_data(*bytes);
    }
  }
  return success();
}

/// X - R * G
LogicalResult InfoReader::readDescent(StringRef parameter,
                                      const onnx::NodeProto &node) {
  auto product = node.op_type() == "Sub" && node.input_size() == 2 &&
                         node.input(0) == parameter
                     ? makers.find(node.input(1))
                     : makers.end();
  if (product == makers.end() || product->second->op_type() != "Mul" ||
      product->second->input_size() != 2)
    return fail("training_info updates '" + parameter +
                "' in a way that is not recognized");
  const onnx::NodeProto &mul = *product->second;
  bool isFirst = !makers.contains(mul.input(0));
  double rate;
  if (failed(readRate(mul.input(isFirst ? 0 : 1), rate)))
    return failure();
  understood.insert(parameter);
  result.training.gradients.emplace_back(parameter.str(),
                                         mul.input(isFirst ? 1 : 0));
  return setOptimizer({"sgd", {{"lr", rate}, {"weight_decay", 0.0}}, {}});
}

LogicalResult InfoReader::readUpdates() {
  for (const onnx::NodeProto &node : info.algorithm().node())
    if (node.domain() == kDomain && node.op_type() != "Gradient" &&
        failed(readOptimizer(node)))
      return failure();
  for (const onnx::StringStringEntryProto &binding : info.update_binding()) {
    if (understood.contains(binding.key()))
      continue;
    auto maker = makers.find(binding.value());
    if (maker == makers.end())
      return fail("training_info updates '" + binding.key() + "' by '" +
                  binding.value() + "', which nothing computes");
    // Running statistics are updated by the norm itself.
    if (maker->second->op_type() == "BatchNormalization")
      continue;
    if (failed(readDescent(binding.key(), *maker->second)))
      return failure();
  }
  if (result.training.gradients.empty())
    return fail("training_info updates no parameter");
  auto *nodes = result.step.mutable_graph()->mutable_node();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(),
                              [](const onnx::NodeProto &node) {
                                return node.domain() == kDomain &&
                                       node.op_type() != "Gradient";
                              }),
               nodes->end());
  return success();
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// The loss is what Gradient differentiates; of a graph that computes gradients
/// itself, the first output of the algorithm that is no update.
LogicalResult InfoReader::findLoss() {
  std::string &loss = result.training.loss;
  for (const onnx::NodeProto &node : info.algorithm().node()) {
    if (node.domain() != kDomain || node.op_type() != "Gradient")
      continue;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.name() != "y")
        continue;
      if (!loss.empty() && loss != attribute.s())
        return fail("training_info differentiates '" + loss + "' and '" +
                    attribute.s() + "'");
      loss = attribute.s();
    }
  }
  llvm::StringSet<> updates;
  for (const auto &binding : bindings)
    updates.insert(binding.second);
  for (const onnx::ValueInfoProto &output : info.algorithm().output())
    if (loss.empty() && !updates.contains(output.name()))
      loss = output.name();
  if (loss.empty())
    return fail("training_info has no loss: no Gradient, and no output that is "
                "no update");
  // The start of the backward pass, as an initializer that the importer makes
  // an input of.
  result.training.cotangent = loss + "/cotangent";
  onnx::TensorProto &one = *result.step.mutable_graph()->add_initializer();
  one.set_name(result.training.cotangent);
  one.set_data_type(onnx::TensorProto::FLOAT);
  one.add_float_data(1.0F);
  return success();
}

void InfoReader::makeEvaluation() {
  EvaluationGraph &evaluation = result.evaluation;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    evaluation.predictions.push_back(output.name());
  for (const onnx::ValueInfoProto &input : info.algorithm().input())
    if (llvm::any_of(result.step.graph().input(),
                     [&](const onnx::ValueInfoProto &left) {
                       return left.name() == input.name();
                     }))
      evaluation.labels.push_back(input.name());
  evaluation.loss = "output:" + result.training.loss;
  EvaluationGraph kept = evaluation;
  kept.predictions.push_back(result.training.loss);
  result.evaluationModel = result.step;
  keepPredictions(kept, result.evaluationModel);
  auto *outputs = result.evaluationModel.mutable_graph()->mutable_output();
  if (llvm::none_of(*outputs, [&](const onnx::ValueInfoProto &output) {
        return output.name() == result.training.loss;
      })) {
    onnx::ValueInfoProto &loss = *outputs->Add();
    loss.set_name(result.training.loss);
    loss.mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
}

FailureOr<TrainingInfo> InfoReader::run() {
  if (model.training_info_size() != 1)
    return fail("holds " + Twine(model.training_info_size()) +
                " pieces of training information; one is supported");
  if (failed(combine()) || failed(initialize()) || failed(readUpdates()) ||
      failed(findLoss()))
    return failure();
  makeEvaluation();
  return std::move(result);
}

FailureOr<TrainingInfo>
onnx_import::readTrainingInfo(Location file, const onnx::ModelProto &model) {
  return InfoReader(file, model).run();
}

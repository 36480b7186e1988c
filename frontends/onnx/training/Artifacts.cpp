// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/training/Artifacts.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/model/Node.h"
#include "frontends/onnx/model/Opsets.h"
#include "frontends/onnx/model/Tensors.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static constexpr StringLiteral kDomain = "com.microsoft";
static constexpr StringLiteral kBufferSuffix = "_grad.accumulation.buffer";
static constexpr StringLiteral kAgain =
    "generate the artifacts again with onnxruntime.training.artifacts";

static bool isAccumulator(const onnx::NodeProto &node) {
  return node.domain() == kDomain.data() &&
         StringRef(node.op_type()).starts_with("InPlaceAccumulator");
}

bool onnx_import::accumulatesGradients(const onnx::ModelProto &model) {
  return llvm::any_of(model.graph().node(), isAccumulator);
}

/// Removes the elements of a repeated field.
template <typename Field, typename Predicate>
static void removeIf(Field *field, Predicate &&predicate) {
  field->erase(std::remove_if(field->begin(), field->end(), predicate),
               field->end());
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Fails unless the checkpoint's tensor has the type of the input.
static LogicalResult checkParameter(Location file,
                                    const onnx::ValueInfoProto &input,
                                    const onnx::TensorProto &tensor) {
  const auto &type = input.type().tensor_type();
  bool fits =
      type.elem_type() == tensor.data_type() &&
      (!type.has_shape() || type.shape().dim_size() == tensor.dims_size());
  Shape wanted;
  if (type.has_shape())
    for (const auto &[i, dim] : llvm::enumerate(type.shape().dim())) {
      wanted.push_back(dim.dim_value());
      fits = fits && (!dim.has_dim_value() ||
                      dim.dim_value() == tensor.dims(static_cast<int>(i)));
    }
  if (fits)
    return success();
  return emitUserError(
      file,
      "parameter '" + Twine(input.name()) + "' is " +
          dataTypeName(type.elem_type()) + " " + shapeText(wanted) +
          ", in the checkpoint " + dataTypeName(tensor.data_type()) + " " +
          shapeText(Shape(tensor.dims().begin(), tensor.dims().end())),
      "give the checkpoint that was generated with this model");
}

/// Replaces the inputs that are in the checkpoint by initializers.
static LogicalResult fillParameters(Location file, onnx::GraphProto &graph,
                                    const Checkpoint &checkpoint) {
  for (const onnx::ValueInfoProto &input : graph.input())
    if (const onnx::TensorProto *tensor = checkpoint.find(input.name())) {
      if (failed(checkParameter(file, input, *tensor)))
        return failure();
      *graph.add_initializer() = *tensor;
    }
  removeIf(graph.mutable_input(), [&](const onnx::ValueInfoProto &input) {
    return checkpoint.find(input.name()) != nullptr;
  });
  return success();
}

/// ONNX Runtime puts operators of its own, such as MaxPoolGrad, in the default
/// domain, where ONNX's checker refuses them.
static void moveForeignOperators(onnx::ModelProto &model) {
  int opset = opsetVersion(model, "");
  auto isForeign = [&](const onnx::NodeProto &node) {
    return canonicalDomain(node.domain()).empty() &&
           !onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "") &&
           Registry::get().lookup(kDomain, node.op_type());
  };
  for (onnx::NodeProto &node : *model.mutable_graph()->mutable_node())
    if (isForeign(node))
      node.set_domain(kDomain.str());
}

/// Some gradients lack operands of the forward node that they are made of,
/// which become additional inputs: the operand of a pool, whose size nothing
/// else tells, and bias and peepholes of an LSTM. The forward node computed an
/// input of the gradient, or the value that the gradient is called after.
static void addForwardOperands(onnx::GraphProto &graph) {
  llvm::StringMap<const onnx::NodeProto *> makers;
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      if (!output.empty())
        makers[output] = &node;
  auto forwardOf = [&](StringRef value, StringRef opType, int inputs) {
    auto maker = makers.find(value);
    bool isForward = maker != makers.end() &&
                     maker->second->op_type() == opType &&
                     maker->second->input_size() >= inputs;
    return isForward ? maker->second : nullptr;
  };
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    StringRef op = node.op_type();
    if (op == "MaxPoolGrad" && node.input_size() == 2) {
      if (const auto *pool = forwardOf(node.input(1), "MaxPool", 1))
        node.add_input(pool->input(0));
    } else if (op == "AveragePoolGrad" && node.input_size() == 1) {
      StringRef gradient = node.input(0);
      if (const auto *pool = forwardOf(
              gradient.take_front(gradient.rfind("_grad")), "AveragePool", 1))
        node.add_input(pool->input(0));
    } else if (op == "LSTMGrad" && node.input_size() > 8) {
      const auto *lstm = forwardOf(node.input(8), "LSTMTraining", 3);
      while (lstm && node.input_size() < 12)
        node.add_input("");
      for (int i : {3, 7})
        if (lstm)
          node.add_input(i < lstm->input_size() ? lstm->input(i) : "");
    }
    // The importer differentiates the forward op again, so that it neither
    // computes nor reads what the forward node keeps of each step.
    int unread = op == "LSTMGrad" ? 2 : op == "GRUGrad" ? 1 : 0;
    for (int i = 7; i < std::min(7 + unread, node.input_size()); ++i)
      node.set_input(i, "");
  }
}

//===----------------------------------------------------------------------===//
// The training model
//===----------------------------------------------------------------------===//

/// Returns the parameters with the gradients that are added to their buffers.
static FailureOr<llvm::StringMap<std::string>>
findGradients(Location file, const onnx::GraphProto &graph,
              const Checkpoint &checkpoint) {
  llvm::StringMap<std::string> gradients;
  for (const onnx::NodeProto &node : graph.node()) {
    if (!isAccumulator(node))
      continue;
    StringRef name = node.input_size() > 1 ? StringRef(node.input(0)) : "";
    if (!name.consume_back(kBufferSuffix))
      return emitUserError(
          file,
          "node '" + Twine(nodeName(node)) +
              "' accumulates a gradient in a buffer that is not called after "
              "a parameter",
          kAgain);
    if (llvm::none_of(checkpoint.trained, [&](const onnx::TensorProto &tensor) {
          return tensor.name() == name;
        }))
      return emitUserError(
          file,
          "the checkpoint has no parameter '" + name +
              "', whose gradient the model computes",
          "give the checkpoint that was generated with this model");
    gradients[name] = node.input(1);
  }
  return gradients;
}

/// Finds the initializer `<loss>_grad` of one element, which is 1.
static std::string findCotangent(Location file, const onnx::GraphProto &graph,
                                 StringRef loss) {
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (tensor.name() != (loss + "_grad").str() ||
        tensor.data_type() != onnx::TensorProto::FLOAT)
      continue;
    FailureOr<std::string> bytes = tensorBytes(file, tensor);
    float value = 0;
    if (failed(bytes) || bytes->size() != sizeof value)
      break;
    std::memcpy(&value, bytes->data(), sizeof value);
    if (value == 1.0F)
      return tensor.name();
  }
  return "";
}

FailureOr<TrainingGraph>
onnx_import::readTrainingGraph(Location file, onnx::ModelProto &model,
                               const Checkpoint &checkpoint) {
  onnx::GraphProto &graph = *model.mutable_graph();
  auto found = findGradients(file, graph, checkpoint);
  if (failed(found))
    return failure();
  TrainingGraph result;
  for (const onnx::TensorProto &tensor : checkpoint.trained)
    if (auto gradient = found->find(tensor.name()); gradient != found->end())
      result.gradients.emplace_back(tensor.name(), gradient->second);
  if (result.gradients.empty())
    return emitUserError(file, "computes no gradients",
                         "name the training model, or leave out --checkpoint "
                         "for a model without gradients");

  llvm::StringSet<> accumulation;
  for (const onnx::NodeProto &node : graph.node())
    if (isAccumulator(node)) {
      // Buffers and the flag are inputs; results are outputs of the graph.
      for (int i = 0; i < node.input_size(); ++i)
        if (i != 1)
          accumulation.insert(node.input(i));
      accumulation.insert(node.output().begin(), node.output().end());
    }
  auto isOfAccumulation = [&](const onnx::ValueInfoProto &value) {
    return accumulation.contains(value.name());
  };
  removeIf(graph.mutable_node(), isAccumulator);
  removeIf(graph.mutable_input(), isOfAccumulation);
  removeIf(graph.mutable_output(), isOfAccumulation);
  if (graph.output_size() == 0)
    return emitUserError(file, "has no output that is the loss", kAgain);
  result.loss = graph.output(0).name();
  result.cotangent = findCotangent(file, graph, result.loss);
  if (failed(fillParameters(file, graph, checkpoint)))
    return failure();
  moveForeignOperators(model);
  addForwardOperands(graph);
  return result;
}

//===----------------------------------------------------------------------===//
// The evaluation model
//===----------------------------------------------------------------------===//

std::string onnx_import::evaluationModelPath(StringRef trainingModel) {
  StringRef stem = trainingModel;
  if (!stem.consume_back("training_model.onnx"))
    return "";
  return (stem + "eval_model.onnx").str();
}

/// Returns the types of the graph's values, by name.
static llvm::StringMap<onnx::ValueInfoProto>
inferTypes(const onnx::ModelProto &model) {
  onnx::ModelProto inferred = model;
  try {
    onnx::shape_inference::InferShapes(inferred);
  } catch (const std::exception &) {
    // What the file itself says is left.
  }
  llvm::StringMap<onnx::ValueInfoProto> types;
  for (const onnx::ValueInfoProto &value : inferred.graph().value_info())
    types[value.name()] = value;
  for (const onnx::ValueInfoProto &value : inferred.graph().output())
    types[value.name()] = value;
  return types;
}

/// Returns whether a loss block of ONNX Runtime made the node.
static bool isOfLoss(const onnx::NodeProto &node) {
  return StringRef(node.name()).starts_with("onnx::");
}

/// Returns the name of the loss if Ingot has one that is equal: a mean cross
/// entropy of scores and an input, of which samples can be left out.
static std::string findCrossEntropy(const onnx::GraphProto &graph,
                                    const EvaluationGraph &evaluation) {
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.op_type() != "SoftmaxCrossEntropyLoss" ||
        !canonicalDomain(node.domain()).empty() || node.output_size() == 0 ||
        node.output(0) != graph.output(0).name())
      continue;
    bool isPlain = node.input_size() == 2;
    for (const onnx::AttributeProto &attribute : node.attribute())
      isPlain =
          isPlain && (attribute.name() == "reduction" ? attribute.s() == "mean"
                                                      : attribute.i() == -100);
    bool hasLabels =
        llvm::any_of(graph.input(), [&](const onnx::ValueInfoProto &input) {
          return node.input(1) == input.name() &&
                 input.type().tensor_type().elem_type() ==
                     onnx::TensorProto::INT64;
        });
    if (isPlain && hasLabels && !evaluation.predictions.empty() &&
        evaluation.predictions.front() == node.input(0))
      return "cross-entropy:1";
  }
  return "";
}

FailureOr<EvaluationGraph>
onnx_import::readEvaluationGraph(Location file, onnx::ModelProto &model,
                                 const Checkpoint &checkpoint) {
  onnx::GraphProto &graph = *model.mutable_graph();
  if (graph.output_size() == 0)
    return emitUserError(file, "has no output that is the loss", kAgain);
  if (failed(fillParameters(file, graph, checkpoint)))
    return failure();
  EvaluationGraph result;
  llvm::StringSet<> ofModel, ofLoss, readByModel, predicted;
  for (const onnx::NodeProto &node : graph.node()) {
    auto &made = isOfLoss(node) ? ofLoss : ofModel;
    made.insert(node.output().begin(), node.output().end());
    if (!isOfLoss(node))
      readByModel.insert(node.input().begin(), node.input().end());
  }
  auto predict = [&](const std::string &name) {
    if (ofModel.contains(name) && predicted.insert(name).second)
      result.predictions.push_back(name);
  };
  for (const onnx::NodeProto &node : graph.node())
    if (isOfLoss(node))
      llvm::for_each(node.input(), predict);
  for (const onnx::ValueInfoProto &output : llvm::drop_begin(graph.output()))
    predict(output.name());
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!ofLoss.empty() && !readByModel.contains(input.name()))
      result.labels.push_back(input.name());
  llvm::StringMap<onnx::ValueInfoProto> types = inferTypes(model);
  std::string loss = graph.output(0).name();
  result.loss = findCrossEntropy(graph, result);
  // Outputs: the predictions, and the loss unless Ingot computes it.
  bool computesLoss = result.loss.empty();
  if (computesLoss)
    result.loss = "output:" + loss;
  onnx::ValueInfoProto lossInfo = graph.output(0);
  graph.clear_output();
  for (const std::string &name : result.predictions) {
    // ONNX infers no types across operators of other domains.
    auto type = types.find(name);
    if (type == types.end())
      graph.add_output()->set_name(name);
    else
      *graph.add_output() = type->second;
  }
  if (computesLoss)
    *graph.add_output() = lossInfo;
  return result;
}

void onnx_import::keepPredictions(const EvaluationGraph &evaluation,
                                  onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringSet<> needed;
  needed.insert(evaluation.predictions.begin(), evaluation.predictions.end());
  std::vector<bool> keeps(graph.node_size());
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto &node = graph.node(i);
    keeps[i] = llvm::any_of(node.output(), [&](const std::string &name) {
      return needed.contains(name);
    });
    if (keeps[i])
      needed.insert(node.input().begin(), node.input().end());
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (auto [i, node] : llvm::enumerate(graph.node())) {
    if (!keeps[i])
      continue;
    onnx::NodeProto &kept = *nodes.Add();
    kept = node;
    // ONNX Runtime leaves a batch norm its statistics as results, which the
    // mode for inference does not have.
    while (kept.op_type() == "BatchNormalization" && kept.output_size() > 1 &&
           !needed.contains(kept.output(kept.output_size() - 1)))
      kept.mutable_output()->RemoveLast();
  }
  *graph.mutable_node() = std::move(nodes);
  auto isUnused = [&](const auto &value) {
    return !needed.contains(value.name());
  };
  removeIf(graph.mutable_input(), isUnused);
  removeIf(graph.mutable_initializer(), isUnused);
  removeIf(graph.mutable_output(), isUnused);
}

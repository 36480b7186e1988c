// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/export/TrainingModel.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "frontends/onnx/export/OpWriter.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_export;

namespace {

/// Newer versions of the format are not needed.
constexpr int kIrVersion = 10;

class TrainingModelWriter {
public:
  explicit TrainingModelWriter(ModuleOp module) : module(module) {}

  FailureOr<std::string> run();

private:
  /// Writes the function's arguments and ops.
  LogicalResult writeBody(Signature signature, onnx::GraphProto &graph,
                          OpWriter &writer);
  LogicalResult addState(StateOp state, onnx::GraphProto &graph);
  void addHyperparameter(StringRef name, onnx::GraphProto &graph);
  LogicalResult writePredict(Signature predict);
  LogicalResult writeStep(Signature step);

  ModuleOp module;
  onnx::ModelProto model;
  /// States that are initializers of the model's graph, which the step shares.
  llvm::StringSet<> shared;
  /// Inputs of either graph: both are one graph when the step is taken.
  llvm::StringSet<> inputs;
};

LogicalResult TrainingModelWriter::addState(StateOp state,
                                            onnx::GraphProto &graph) {
  RankedTensorType type = state.getTensorType();
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(state.getSymName().str());
  tensor.set_data_type(dataType(type.getElementType()));
  if (tensor.data_type() == onnx::TensorProto::UNDEFINED || state.getShard())
    return emitUserError(state.getLoc(), "this state has no ONNX form",
                         "write the step in fp32, on one rank");
  for (int64_t size : type.getShape())
    tensor.add_dims(size);
  std::string storage;
  StringRef bytes = stateBytes(state, storage);
  tensor.set_raw_data(bytes.data(), bytes.size());
  return success();
}

void TrainingModelWriter::addHyperparameter(StringRef name,
                                            onnx::GraphProto &graph) {
  double value = 0;
  for (Attribute each :
       module->getAttrOfType<ArrayAttr>(kHyperparametersAttr)) {
    auto hyper = cast<DictionaryAttr>(each);
    if (hyper.getAs<StringAttr>("name").getValue() == name)
      value = hyper.getAs<FloatAttr>("default").getValueAsDouble();
  }
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name.str());
  tensor.set_data_type(onnx::TensorProto::DOUBLE);
  tensor.set_raw_data(&value, sizeof value);
}

LogicalResult TrainingModelWriter::writeBody(Signature signature,
                                             onnx::GraphProto &graph,
                                             OpWriter &writer) {
  func::FuncOp func = signature.getFunction();
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (FlatSymbolRefAttr symbol = signature.argumentState(i)) {
      writer.set(argument, symbol.getValue().str());
      if (!shared.contains(symbol.getValue()) &&
          failed(addState(findState(module, symbol), graph)))
        return failure();
      continue;
    }
    StringRef name = signature.argumentName(i);
    writer.set(argument, name.str());
    if (signature.argumentKind(i) == "hyper")
      addHyperparameter(name, graph);
    else if (inputs.insert(name).second)
      describe(*graph.add_input(), name, argument.getType());
  }
  for (Operation &op : func.getBody().front().without_terminator())
    if (failed(writer.write(&op)))
      return failure();
  return success();
}

/// Results have names of their own: a value may be several, or an argument.
std::string addOutput(onnx::GraphProto &graph, OpWriter &writer,
                      std::string name, Value value) {
  onnx::NodeProto &copy = *graph.add_node();
  copy.set_op_type("Identity");
  copy.set_name("output/" + name);
  copy.add_input(writer.get(value));
  copy.add_output(name);
  describe(*graph.add_output(), name, value.getType());
  return name;
}

LogicalResult TrainingModelWriter::writePredict(Signature predict) {
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("predict");
  OpWriter writer(graph);
  if (failed(writeBody(predict, graph, writer)))
    return failure();
  Operation *result = predict.getReturn();
  for (unsigned i = 0; i < result->getNumOperands(); ++i)
    addOutput(graph, writer, predict.resultName(i).str(),
              result->getOperand(i));
  for (unsigned i = 0; i < predict.getFunction().getNumArguments(); ++i)
    if (FlatSymbolRefAttr state = predict.argumentState(i))
      shared.insert(state.getValue());
  return success();
}

LogicalResult TrainingModelWriter::writeStep(Signature step) {
  onnx::TrainingInfoProto &training = *model.add_training_info();
  onnx::GraphProto &graph = *training.mutable_algorithm();
  graph.set_name("train_step");
  OpWriter writer(graph);
  if (failed(writeBody(step, graph, writer)))
    return failure();
  Operation *result = step.getReturn();
  for (unsigned i = 0; i < result->getNumOperands(); ++i) {
    Value value = result->getOperand(i);
    FlatSymbolRefAttr state = step.resultState(i);
    if (!state) {
      addOutput(graph, writer, step.resultName(i).str(), value);
      continue;
    }
    std::string name = state.getValue().str();
    onnx::StringStringEntryProto &binding = *training.add_update_binding();
    binding.set_key(name);
    binding.set_value(addOutput(graph, writer, name + "/next", value));
  }
  return success();
}

FailureOr<std::string> TrainingModelWriter::run() {
  model.set_ir_version(kIrVersion);
  model.set_producer_name("ingotc");
  model.add_opset_import()->set_version(kOpset);
  for (auto func : module.getOps<func::FuncOp>()) {
    StringRef name = func.getName();
    if (name != kTrainStepName && name != kEvalStepName && name != kPredictName)
      return emitUserError(
          module.getLoc(), "a step of several functions has no ONNX form",
          "leave out --grad-accumulation, and give each --dim one size");
  }
  // States of @predict are initializers before the step refers to them.
  if (failed(writePredict(Signature(findFunction(module, kPredictName)))) ||
      failed(writeStep(Signature(findFunction(module, kTrainStepName)))))
    return failure();
  std::string bytes;
  if (model.ByteSizeLong() >= (size_t(1) << 31) ||
      !model.SerializeToString(&bytes))
    return emitUserError(module.getLoc(),
                         "the training graph is larger than 2 GiB, the limit "
                         "of the format",
                         "write a smaller model");
  return bytes;
}

} // namespace

FailureOr<std::string> onnx_export::writeTrainingModel(ModuleOp module) {
  return TrainingModelWriter(module).run();
}

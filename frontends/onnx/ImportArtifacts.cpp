// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/ImportArtifacts.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/support/Imported.h"
#include "dialects/ingot/support/Remarks.h"
#include "frontends/onnx/export/Export.h"
#include "frontends/onnx/export/OpWriter.h"
#include "frontends/onnx/import/Graph.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/ModelFile.h"
#include "frontends/onnx/model/PrepareModel.h"
#include "frontends/onnx/model/Tensors.h"
#include "frontends/onnx/training/Artifacts.h"
#include "frontends/onnx/training/OptimizerModel.h"
#include "frontends/onnx/training/TrainingInfo.h"
#include "frontends/onnx/weights/Parameters.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

static Location fileLocation(MLIRContext *context, StringRef path) {
  return FileLineColLoc::get(context, path, 0, 0);
}

namespace {
class ArtifactsImporter {
public:
  ArtifactsImporter(StringRef path, Location file, onnx::ModelProto &model,
                    const ImportOptions &options)
      : path(path), file(file), context(file.getContext()), model(model),
        options(options) {}

  FailureOr<ImportedModel> run();

private:
  LogicalResult readInformation();
  LogicalResult readFiles();
  LogicalResult readEvaluation();
  FailureOr<llvm::StringMap<Role>> classify(const onnx::ModelProto &graph);
  LogicalResult addMoments(const CheckpointGroup &group);
  LogicalResult restoreOptimizer();
  void describeOutputs();
  void report();

  std::string path;
  Location file;
  MLIRContext *context;
  onnx::ModelProto &model;
  const ImportOptions &options;

  Checkpoint checkpoint;
  TrainingGraph training;
  GivenOptimizer optimizer;
  /// Empty, with no loss, if there is no evaluation model.
  onnx::ModelProto evaluationModel;
  EvaluationGraph evaluation;
  /// The model that the trainer's --export fills in; without nodes if there is
  /// nothing to predict.
  onnx::ModelProto exported;
  ImportedModel result;
};
} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

LogicalResult ArtifactsImporter::readFiles() {
  if (options.checkpoint.empty())
    return emitUserError(file,
                         "is a training model of ONNX Runtime, whose "
                         "parameters are in a checkpoint",
                         "add --checkpoint FILE, and --optimizer-model FILE");
  FailureOr<Checkpoint> read = readCheckpoint(
      options.checkpoint, fileLocation(context, options.checkpoint));
  if (failed(read))
    return failure();
  checkpoint = std::move(*read);
  if (!options.optimizerModel.empty()) {
    Location where = fileLocation(context, options.optimizerModel);
    onnx::ModelProto graph;
    if (failed(readModel(options.optimizerModel, where, graph,
                         result.externalFiles, /*leavesOut=*/false)))
      return failure();
    FailureOr<GivenOptimizer> given = readOptimizerModel(where, graph);
    if (failed(given))
      return failure();
    optimizer = std::move(*given);
  }
  return readEvaluation();
}

LogicalResult ArtifactsImporter::readEvaluation() {
  std::string name = evaluationModelPath(path);
  if (name.empty() || !llvm::sys::fs::exists(name)) {
    remark::missed(file, remarkOptions("import-onnx", "EvaluationModel"))
        << remark::reason("there is no eval_model.onnx beside the training "
                          "model: its forward pass is evaluated");
    return success();
  }
  Location where = fileLocation(context, name);
  if (failed(readModel(name, where, evaluationModel, result.externalFiles,
                       /*leavesOut=*/false)))
    return failure();
  result.externalFiles.push_back(name);
  FailureOr<EvaluationGraph> read =
      readEvaluationGraph(where, evaluationModel, checkpoint);
  if (failed(read) || failed(storeRaw(where, evaluationModel)))
    return failure();
  evaluation = std::move(*read);
  if (!evaluation.predictions.empty()) {
    exported = evaluationModel;
    keepPredictions(evaluation, exported);
  }
  // A valid model states the types of its outputs; the importer infers them.
  for (onnx::ValueInfoProto &output :
       *evaluationModel.mutable_graph()->mutable_output())
    if (!output.has_type())
      onnx_export::describe(
          output, output.name(),
          RankedTensorType::get({}, Float32Type::get(context)));
  return prepareModel(where, evaluationModel);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Returns the roles of initializers: those with a gradient are trained;
/// everything else is as in any model.
FailureOr<llvm::StringMap<Role>>
ArtifactsImporter::classify(const onnx::ModelProto &graph) {
  ExporterMetadata metadata;
  metadata.exists = true;
  for (const auto &gradient : training.gradients)
    metadata.parameterNames.insert(gradient.first);
  // What has no gradient cannot be trained, whatever the option says.
  if (failed(keepTrainable(options, metadata.parameterNames, context)))
    return failure();
  ImportOptions chosen = options;
  chosen.trainable = {};
  return classifyInitializers(graph.graph(), metadata, chosen, context);
}

/// Adds the moments of a checkpoint as states.
LogicalResult ArtifactsImporter::addMoments(const CheckpointGroup &group) {
  Location where = fileLocation(context, options.checkpoint);
  ModuleOp module = *result.module;
  OpBuilder builder(*module.getOps<func::FuncOp>().begin());
  for (const auto &[parameter, moments] : group.moments) {
    auto state = module.lookupSymbol<StateOp>(parameter);
    if (!state || state.getRole() != Role::Parameter)
      continue;
    if (moments.size() != optimizer.moments.size())
      return emitUserError(where,
                           "holds " + Twine(moments.size()) + " moments of '" +
                               parameter + "' where the optimizer has " +
                               Twine(optimizer.moments.size()),
                           "give the optimizer model that the checkpoint was "
                           "trained with");
    for (const auto &[name, tensor] :
         llvm::zip_equal(optimizer.moments, moments)) {
      RankedTensorType type = onnx_import::tensorType(context, tensor);
      if (type != state.getTensorType())
        return emitUserError(where,
                             "a moment of '" + Twine(parameter) +
                                 "' has another type than the parameter",
                             "write the checkpoint again");
      std::string symbol = parameter + "/" + name;
      StateOp::create(builder, state.getLoc(), symbol, Role::Moment, type,
                      elementsAttr(type, rawBytes(tensor).str(), symbol));
    }
  }
  return success();
}

/// The state of the optimizer, so that training goes on where it was.
LogicalResult ArtifactsImporter::restoreOptimizer() {
  if (checkpoint.groups.empty() || optimizer.name.empty())
    return success();
  if (checkpoint.groups.size() > 1)
    return emitUserError(fileLocation(context, options.checkpoint),
                         "holds " + Twine(checkpoint.groups.size()) +
                             " optimizer groups",
                         "only one group is supported: all parameters are "
                         "trained alike");
  const CheckpointGroup &group = checkpoint.groups.front();
  if (group.initialLearningRate > 0)
    for (auto &[name, value] : optimizer.hyperparameters)
      if (name == "lr")
        value = shortestDecimal(group.initialLearningRate);
  if (failed(addMoments(group)))
    return failure();
  ModuleOp module = *result.module;
  Builder builder(context);
  auto type = RankedTensorType::get({}, builder.getI64Type());
  auto steps = DenseElementsAttr::get(type, ArrayRef<int64_t>{group.step});
  for (StateOp state : module.getOps<StateOp>())
    if (state.getRole() == Role::Step) {
      state.setInitialAttr(steps);
      return success();
    }
  OpBuilder at(*module.getOps<func::FuncOp>().begin());
  StateOp::create(at, module.getLoc(), "step", Role::Step, type, steps);
  return success();
}

void ArtifactsImporter::report() {
  remark::passed(
      file,
      remarkOptions("import-onnx", "TrainingGraph").function(kTrainStepName))
      << remark::metric("gradients", training.gradients.size())
      << remark::metric("loss", training.loss)
      << remark::metric("cotangent", training.cotangent)
      << remark::metric("optimizer", optimizer.name)
      << remark::metric("predictions",
                        llvm::join(evaluation.predictions, ", "));
  for (const auto &[name, value] : checkpoint.properties)
    remark::analysis(file, remarkOptions("import-onnx", "CheckpointProperty"))
        << remark::metric("name", name) << remark::metric("value", value);
}

/// Training information is in the model itself.
LogicalResult ArtifactsImporter::readInformation() {
  if (!options.checkpoint.empty())
    return emitOptionError(context, "checkpoint",
                           "the model holds its own training information",
                           "leave the option out");
  FailureOr<TrainingInfo> info = readTrainingInfo(file, model);
  if (failed(info))
    return failure();
  exported = model;
  exported.clear_training_info();
  if (failed(storeRaw(file, exported)))
    return failure();
  model = std::move(info->step);
  training = std::move(info->training);
  optimizer = std::move(info->optimizer);
  checkpoint.groups.push_back(std::move(info->group));
  evaluation = std::move(info->evaluation);
  evaluationModel = std::move(info->evaluationModel);
  return prepareModel(file, evaluationModel);
}

/// Gives the exported model's outputs the types that the import found, where
/// ONNX could infer none.
void ArtifactsImporter::describeOutputs() {
  for (onnx::ValueInfoProto &output :
       *exported.mutable_graph()->mutable_output())
    for (func::FuncOp function : result.module->getOps<func::FuncOp>())
      for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
        auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
        if (name && name == output.name() && !output.has_type())
          onnx_export::describe(output, output.name(), type);
      }
}

FailureOr<ImportedModel> ArtifactsImporter::run() {
  if (model.training_info_size()) {
    if (failed(readInformation()))
      return failure();
  } else {
    if (failed(readFiles()))
      return failure();
    FailureOr<TrainingGraph> graph = readTrainingGraph(file, model, checkpoint);
    if (failed(graph))
      return failure();
    training = std::move(*graph);
  }
  if (failed(storeRaw(file, model)) || failed(prepareModel(file, model)))
    return failure();
  FailureOr<llvm::StringMap<Role>> roles = classify(model);
  if (failed(roles))
    return failure();
  result.module = ModuleOp::create(file);
  ModuleOp module = *result.module;
  bool evaluates = !evaluation.loss.empty();
  GraphImporter importer(model, options, std::move(*roles), file, module,
                         {&training, evaluates ? &evaluation : nullptr});
  if (failed(importer.run()))
    return failure();
  llvm::StringSet<> states = importer.getStates();
  if (evaluates) {
    FailureOr<llvm::StringMap<Role>> evaluated = classify(evaluationModel);
    if (failed(evaluated))
      return failure();
    GraphImporter forward(evaluationModel, options, std::move(*evaluated), file,
                          module, {nullptr, &evaluation});
    if (failed(forward.run()))
      return failure();
    states.insert_range(forward.getStates().keys());
    describeOutputs();
  }
  if (failed(restoreOptimizer()))
    return failure();
  Builder builder(context);
  module->setAttr(kLossAttr,
                  builder.getStringAttr(evaluates ? evaluation.loss
                                                  : "output:" + training.loss));
  if (!optimizer.name.empty()) {
    NamedAttrList given;
    given.set("name", builder.getStringAttr(optimizer.name));
    for (const auto &[name, value] : optimizer.hyperparameters)
      given.set(name, builder.getF64FloatAttr(value));
    module->setAttr(kGivenOptimizerAttr, given.getDictionary(context));
  }
  report();
  if (exported.graph().node_size() == 0)
    result.exportTemplate.obstacle =
        "no eval_model.onnx beside the training model has outputs to predict";
  else
    result.exportTemplate = makeExportTemplate(
        serializeForExport(exported, options.externalData ? 0 : kMostModelBytes,
                           /*parts=*/{}),
        exported, states, /*parts=*/{});
  return std::move(result);
}

FailureOr<ImportedModel>
onnx_import::importArtifacts(StringRef path, Location file,
                             onnx::ModelProto &model,
                             const ImportOptions &options) {
  return ArtifactsImporter(path, file, model, options).run();
}

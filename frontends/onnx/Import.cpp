// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/Import.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/ImportArtifacts.h"
#include "frontends/onnx/LinkTeacher.h"
#include "frontends/onnx/export/Export.h"
#include "frontends/onnx/import/Graph.h"
#include "frontends/onnx/model/MappedData.h"
#include "frontends/onnx/model/ModelFile.h"
#include "frontends/onnx/model/PrepareModel.h"
#include "frontends/onnx/rewrite/Quantize.h"
#include "frontends/onnx/weights/CodedWeights.h"
#include "frontends/onnx/weights/ConstantNodes.h"
#include "frontends/onnx/weights/Copies.h"
#include "frontends/onnx/weights/Parameters.h"
#include "frontends/onnx/weights/SparseTensors.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

/// ONNX's inference accepts some invalid models, for example operands of
/// different types; the first violation that an op finds is reported as the
/// node's.
static LogicalResult verifyImport(ModuleOp module) {
  std::optional<Location> where;
  std::string what;
  {
    ScopedDiagnosticHandler handler(
        module.getContext(), [&](Diagnostic &diagnostic) {
          if (where || diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return;
          where = diagnostic.getLocation();
          what = diagnostic.str();
        });
    if (succeeded(verify(module)))
      return success();
  }
  return emitUserError(where.value_or(module.getLoc()), what,
                       "the model is not valid here: check the node's types, "
                       "shapes and attributes with onnx.checker");
}

/// Names the model in the module, and verifies it.
static LogicalResult finishImport(StringRef path, ModuleOp module) {
  module->setAttr(kModelAttr, StringAttr::get(module.getContext(),
                                              llvm::sys::path::filename(path)));
  return verifyImport(module);
}

/// Imports the model with one size for each dimension.
static FailureOr<ImportedModel> importVariant(StringRef path,
                                              const ImportOptions &options,
                                              MLIRContext &context) {
  Location file = FileLineColLoc::get(&context, path, 0, 0);
  MappedDataScope mappings;
  onnx::ModelProto model;
  ImportedModel result;
  if (failed(readModel(path, file, model, result.externalFiles,
                       options.withoutData)) ||
      failed(makeDense(file, model)))
    return failure();
  bool isArtifact = !options.checkpoint.empty() ||
                    accumulatesGradients(model) ||
                    model.training_info_size() > 0;
  if (isArtifact && !options.qat.empty())
    return emitOptionError(&context, "qat",
                           "the model comes with its backward pass",
                           "compile an ONNX file that holds a forward graph");
  if (isArtifact) {
    FailureOr<ImportedModel> imported =
        importArtifacts(path, file, model, options);
    if (succeeded(imported))
      llvm::append_range(imported->externalFiles, result.externalFiles);
    if (failed(imported) || failed(finishImport(path, *imported->module)))
      return failure();
    return imported;
  }
  if (!options.optimizerModel.empty())
    return emitOptionError(&context, "optimizer-model",
                           "the model is not a training model of ONNX Runtime",
                           "leave the option out, or name training_model.onnx "
                           "and its checkpoint");
  if (failed(liftConstants(file, model, options)) ||
      failed(storeRaw(file, model)))
    return failure();
  separateCopies(file, model);
  if (options.untie)
    splitMerged(file, model);
  else
    tieCopies(file, model);
  FailureOr<Quantization> quantized = quantizeModel(file, model, options);
  if (failed(quantized))
    return failure();
  std::string classes = takeClasses(model);
  FailureOr<CodedWeights> coded = findCodedWeights(file, model, options);
  if (failed(coded))
    return failure();
  for (const auto &zeroPoint : quantized->zeroPoints)
    coded->parts.insert({zeroPoint.getKey(), zeroPoint.getValue()});
  SerializedModel serialized = serializeForExport(
      model, options.externalData ? 0 : kMostModelBytes, coded->parts);
  if (failed(takeCodedWeights(file, model, *coded)))
    return failure();
  if (failed(prepareModel(file, model, UnsupportedResults::LeftOut)))
    return failure();

  ExporterMetadata metadata = readMetadata(model.graph());
  FailureOr<llvm::StringMap<Role>> roles =
      classifyInitializers(model.graph(), metadata, options, &context);
  if (failed(roles))
    return failure();
  for (const auto &weight : coded->weights)
    (*roles)[weight.getKey()] = Role::Frozen;
  for (const std::string &name : quantized->statistics)
    (*roles)[name] = Role::Frozen;
  for (const std::string &name : quantized->constants)
    roles->erase(name);
  for (const auto &[scale, quantizer] : quantized->quantizers) {
    (*roles)[scale] = quantizer.isLearned ? Role::Parameter : Role::Running;
    if (quantizer.isAffine)
      (*roles)[quantizer.zeroPoint] = Role::Running;
    else
      roles->erase(quantizer.zeroPoint);
  }
  result.module = ModuleOp::create(file);
  GraphImporter importer(model, options, std::move(*roles), file,
                         *result.module);
  importer.setCodedWeights(coded->weights);
  importer.setQuantizers(quantized->quantizers, quantized->rounded);
  if (failed(importer.run()))
    return failure();
  warnOfExport(file, model.graph(), metadata);
  if (failed(finishImport(path, *result.module)))
    return failure();
  result.exportTemplate =
      makeExportTemplate(serialized, model, importer.getStates(), coded->parts);
  result.exportTemplate.classes = std::move(classes);
  return result;
}

/// Imports the model and its teacher, with one size for each dimension.
static FailureOr<ImportedModel>
importPair(StringRef path, const ImportOptions &options, MLIRContext &context) {
  ImportOptions ofStudent = options, ofTeacher = options;
  for (const auto &[student, teacher] : options.pairs) {
    ofStudent.paired.push_back(student);
    ofTeacher.paired.push_back(teacher);
  }
  FailureOr<ImportedModel> student = importVariant(path, ofStudent, context);
  if (failed(student))
    return failure();
  ofTeacher.trainable = NamePattern();
  ofTeacher.qat.clear();
  ofTeacher.freeze = llvm::cantFail(NamePattern::parse("freeze", ".*"));
  ofTeacher.withoutData = false;
  FailureOr<ImportedModel> teacher =
      importVariant(options.teacher, ofTeacher, context);
  if (failed(teacher) ||
      failed(linkTeacher(*student->module, *teacher->module)))
    return failure();
  llvm::append_range(student->externalFiles, teacher->externalFiles);
  return student;
}

FailureOr<ImportedModel> onnx_import::importOnnx(StringRef path,
                                                 const ImportOptions &options,
                                                 MLIRContext &context) {
  context.loadDialect<IngotDialect, func::FuncDialect>();
  auto importVariant = options.teacher.empty() ? ::importVariant : importPair;
  std::vector<Variant> variants = listVariants(options.dims);
  if (variants.size() == 1)
    return importVariant(path, options, context);
  ImportedModel result;
  result.module = ModuleOp::create(FileLineColLoc::get(&context, path, 0, 0));
  for (const Variant &variant : variants) {
    ImportOptions one = options;
    one.dims = variant.dims;
    FailureOr<ImportedModel> imported = importVariant(path, one, context);
    if (failed(imported))
      return failure();
    imported->module->setSymName(variant.name);
    result.module->push_back(imported->module.release());
    // Variants have the same parameters.
    if (&variant == &variants.front()) {
      result.exportTemplate = std::move(imported->exportTemplate);
      result.externalFiles = std::move(imported->externalFiles);
    }
  }
  return result;
}

std::vector<std::string> onnx_import::supportedOperators() {
  std::vector<std::string> names;
  for (const auto &entry : Registry::get().getTable())
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

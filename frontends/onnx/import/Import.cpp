// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/import/Import.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/export/Export.h"
#include "frontends/onnx/import/Copies.h"
#include "frontends/onnx/import/Graph.h"
#include "frontends/onnx/import/Parameters.h"
#include "frontends/onnx/model/ModelFile.h"
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

FailureOr<ImportedModel> onnx_import::importOnnx(StringRef path,
                                                 const ImportOptions &options,
                                                 MLIRContext &context) {
  context.loadDialect<IngotDialect, func::FuncDialect>();
  Location file = FileLineColLoc::get(&context, path, 0, 0);
  onnx::ModelProto model;
  if (failed(readModel(path, file, model)) || failed(storeRaw(file, model)))
    return failure();
  separateCopies(file, model);
  std::string serialized = serializeForExport(model);
  if (failed(prepareModel(file, model)))
    return failure();

  ExporterMetadata metadata = readMetadata(model.graph());
  FailureOr<llvm::StringMap<Role>> roles =
      classifyInitializers(model.graph(), metadata, options, &context);
  if (failed(roles))
    return failure();
  ImportedModel result;
  result.module = ModuleOp::create(file);
  GraphImporter importer(model, options, std::move(*roles), file,
                         *result.module);
  if (failed(importer.run()))
    return failure();
  (*result.module)
      ->setAttr(kModelAttr,
                StringAttr::get(&context, llvm::sys::path::filename(path)));
  warnOfExport(file, model.graph(), metadata);
  if (failed(verifyImport(*result.module)))
    return failure();
  result.exportTemplate = makeExportTemplate(serialized, importer.getStates());
  return result;
}

std::vector<std::string> onnx_import::supportedOperators() {
  std::vector<std::string> names;
  for (const auto &entry : Registry::get().getTable())
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

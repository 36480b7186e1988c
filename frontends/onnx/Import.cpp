#include "frontends/onnx/Import.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "frontends/onnx/Export.h"
#include "frontends/onnx/Graph.h"
#include "frontends/onnx/ModelFile.h"
#include "frontends/onnx/Parameters.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::onnx_import;

FailureOr<ImportedModel> onnx_import::importOnnx(StringRef path,
                                                 const ImportOptions &options,
                                                 MLIRContext &context) {
  context.loadDialect<IngotDialect, func::FuncDialect>();
  Location file = FileLineColLoc::get(&context, path, 0, 0);
  onnx::ModelProto model;
  if (failed(readModel(path, file, model)))
    return failure();
  FailureOr<std::string> serialized = serializeForExport(file, model);
  if (failed(serialized) || failed(prepareModel(file, model)))
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
  if (failed(verify(*result.module)))
    return failure();
  result.exportTemplate = makeExportTemplate(*serialized, importer.getStates());
  return result;
}

std::vector<std::string> onnx_import::supportedOperators() {
  std::vector<std::string> names;
  for (const auto &entry : Registry::get().getTable())
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

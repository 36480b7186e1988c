// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-eval/Load.h"

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Parser/Parser.h"
#include "runtime/core/Error.h"
#include "tools/support/MlirInput.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ingot;

OwningOpRef<ModuleOp> loadModule(const std::string &path,
                                 const onnx_import::ImportOptions &options,
                                 MLIRContext &context) {
  if (llvm::StringRef(path).ends_with(".onnx")) {
    llvm::FailureOr<onnx_import::ImportedModel> model =
        onnx_import::importOnnx(path, options, context);
    if (failed(model))
      return nullptr;
    return std::move(model->module);
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(readMlir(path), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    llvm::errs() << "hint: give a module that ingot-opt reads\n";
  return module;
}

func::FuncOp findFunction(ModuleOp module, const std::string &name) {
  llvm::SmallVector<llvm::StringRef> names;
  func::FuncOp only;
  for (auto function : module.getOps<func::FuncOp>()) {
    names.push_back(function.getName());
    only = function;
  }
  std::string list = names.empty() ? "the module has no function"
                                   : "it has: " + llvm::join(names, ", ");
  if (!name.empty()) {
    if (auto function = module.lookupSymbol<func::FuncOp>(name))
      return function;
    throw runtime::usageError(
        "--function", "the module has no function '" + name + "'", list);
  }
  if (auto forward = module.lookupSymbol<func::FuncOp>(kForwardName))
    return forward;
  if (names.size() == 1)
    return only;
  throw runtime::usageError(
      "--function", "required, since there is no function 'forward'", list);
}

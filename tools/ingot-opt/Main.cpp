// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-opt: runs passes on a module or an ONNX model. Everything of mlir-opt
// (its dialects, passes, options) is there too.
//
//===----------------------------------------------------------------------===//

#include "passes/Registration.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/ingot-opt/OnnxInput.h"
#include "tools/support/MlirInput.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmParsers();
  llvm::InitializeAllAsmPrinters();

  registerAllPasses();
  ingot::registerIngotPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  ingot::registerIngotDialects(registry);

  ingot::registerOnnxInputOptions();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Ingot's pass driver: takes .mlir and .onnx", registry);
  try {
    ingot::runtime::OutputPaths paths;
    paths.addInput("the input", input);
    if (input != "-")
      ingot::runtime::checkReadable(input);
    // A device is written to, not replaced.
    if (output != "-" &&
        ingot::runtime::describeObstacle(output).value_or("") != "a device")
      paths.addOutput("-o", output);
    paths.check();
  } catch (const ingot::runtime::Error &error) {
    llvm::errs() << error.format();
    return static_cast<int>(error.getCode());
  }
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  // Lists need no input.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (StringRef(input).ends_with(".onnx")) {
    buffer = ingot::readOnnxInput(input, registry);
    if (!buffer)
      return 3;
    // The bytecode is one module: nothing to split.
    config.splitInputFile("");
  } else {
    try {
      buffer = ingot::readMlir(input);
    } catch (const ingot::runtime::Error &error) {
      llvm::errs() << error.format();
      return static_cast<int>(error.getCode());
    }
  }
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << "error: " << output << ": " << error << "\n"
                 << "hint: choose a path that can be written\n";
    return 1;
  }
  if (failed(MlirOptMain(file->os(), std::move(buffer), registry, config)))
    return 1;
  file->keep();
  return 0;
}

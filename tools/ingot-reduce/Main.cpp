// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-reduce: makes a module that shows a bug smaller, with Ingot's dialects
// and passes.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "passes/Registration.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/support/MlirInput.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"

/// Throws if the output is the input, or is not a regular file, and if the
/// input is none that MLIR's parser can be given. mlir-reduce
/// reads the command line itself; this looks at the words that name files.
static void checkPaths(llvm::ArrayRef<const char *> words) {
  ingot::runtime::OutputPaths paths;
  std::string output;
  for (size_t i = 1; i < words.size(); ++i) {
    llvm::StringRef word = words[i];
    if (!word.starts_with("-")) {
      ingot::runtime::checkReadable(word.str());
      paths.addInput("the input", word.str());
      ingot::readMlir(word.str());
      continue;
    }
    word = word.ltrim('-');
    if (word == "o" && i + 1 < words.size())
      output = words[++i];
    else if (word.consume_front("o="))
      output = word.str();
  }
  if (!output.empty() && output != "-")
    paths.addOutput("-o", output);
  paths.check();
}

int main(int argc, char **argv) {
  try {
    checkPaths(llvm::ArrayRef(argv, argc));
  } catch (const ingot::runtime::Error &error) {
    llvm::errs() << error.format();
    return static_cast<int>(error.getCode());
  }
  mlir::registerAllPasses();
  ingot::registerIngotPasses();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  ingot::registerIngotDialects(registry);
  mlir::MLIRContext context(registry);
  return llvm::failed(mlir::mlirReduceMain(argc, argv, context));
}

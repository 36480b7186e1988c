// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Modules that tests write as text, compiled and loaded into this process.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RANDOMGRAPHS_COMPILED_COMPILEDSOURCE_H
#define INGOT_TEST_RANDOMGRAPHS_COMPILED_COMPILEDSOURCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "tools/ingot-eval/Compiled.h"

namespace ingot {

class CompiledSource {
public:
  /// Parses the module; a failure of the test if it is none.
  explicit CompiledSource(llvm::StringRef source);

  mlir::MLIRContext &getContext() { return context; }
  /// The module, until it is compiled; null if it could not be parsed.
  mlir::ModuleOp getModule() { return *module; }

  /// Runs the passes that `addPasses` adds, and compiles for the target, "cpu"
  /// or "emulator"; a failure of the test if one of them fails.
  void compile(llvm::function_ref<void(mlir::PassManager &)> addPasses,
               llvm::StringRef target = "cpu");

  /// Returns what it is compiled to; null before, and if that failed.
  const CompiledModule *getCompiled() const { return compiled.get(); }

  /// Returns a module that is compiled once in this process for all that ask
  /// with the same text and target, who add the same passes.
  static CompiledSource &
  share(llvm::StringRef source, llvm::StringRef target,
        llvm::function_ref<void(mlir::PassManager &)> addPasses);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<CompiledModule> compiled;
};

} // namespace ingot

#endif // INGOT_TEST_RANDOMGRAPHS_COMPILED_COMPILEDSOURCE_H

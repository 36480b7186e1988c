// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Functions compiled as ingotc does it and loaded into this process, to be
// compared with the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOT_EVAL_COMPILED_H
#define INGOT_TOOLS_INGOT_EVAL_COMPILED_H

#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/PipelineOptions.h"
#include <memory>

namespace ingot {

namespace runtime {
class Communicator;
} // namespace runtime

class CompiledModule {
public:
  /// Compiles every function of the module, as ingotc goes on from a training
  /// graph, for the target of the options: the CPU, or the emulator. The module
  /// is consumed.
  static llvm::Expected<std::unique_ptr<CompiledModule>>
  compile(mlir::ModuleOp module, const PipelineOptions &options);
  virtual ~CompiledModule() = default;

  /// Returns the results of a function for these arguments, which both include
  /// states. Memory that the function must not read contains NaNs; writing
  /// memory that it must not write is an error. On one of several ranks,
  /// sharded results are those of the rank, and `others` supplies the rest, if
  /// set.
  virtual llvm::Expected<std::vector<reference::Tensor>>
  run(llvm::StringRef function, llvm::ArrayRef<reference::Tensor> arguments,
      int64_t rank = 0, int64_t ranks = 1,
      runtime::Communicator *others = nullptr) const = 0;
};

/// Turns constants into arguments, so that nothing is folded: all of them, or
/// with `keepSplats` all except splats. Returns their values.
llvm::Expected<std::vector<reference::Tensor>>
hoistConstants(mlir::func::FuncOp function, bool keepSplats);

/// Returns the tolerance of compiled floating-point results, relative to the
/// larger of 1 and the magnitude; 0 where every op of the function rounds once.
double compiledLeeway(mlir::func::FuncOp function, mlir::Type element);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_EVAL_COMPILED_H

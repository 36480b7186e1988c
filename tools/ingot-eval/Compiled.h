// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Functions compiled as ingotc does it, loaded into this process: what is
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
  /// is used up.
  static llvm::Expected<std::unique_ptr<CompiledModule>>
  compile(mlir::ModuleOp module, const PipelineOptions &options);
  virtual ~CompiledModule() = default;

  /// The results of a function on these arguments, states among both. Memory
  /// that the function has no business to read holds NaNs; writing what it has
  /// no business to write is an error. As one of several ranks: of what these
  /// have in shards its own, and of others what `others` says, if anything.
  virtual llvm::Expected<std::vector<reference::Tensor>>
  run(llvm::StringRef function, llvm::ArrayRef<reference::Tensor> arguments,
      int64_t rank = 0, int64_t ranks = 1,
      runtime::Communicator *others = nullptr) const = 0;
};

/// Makes constants arguments, so that nothing is folded: all of them, or with
/// `keepSplats` all but tensors of one repeated value. Returns the values.
llvm::Expected<std::vector<reference::Tensor>>
hoistConstants(mlir::func::FuncOp function, bool keepSplats);

/// How far compiled floating results may be from the interpreter's, relative to
/// the larger of 1 and the magnitude; 0 where every op of the function rounds
/// once.
double compiledLeeway(mlir::func::FuncOp function, mlir::Type element);

} // namespace ingot

#endif // INGOT_TOOLS_INGOT_EVAL_COMPILED_H

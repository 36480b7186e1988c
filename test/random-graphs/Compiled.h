//===----------------------------------------------------------------------===//
//
// A function compiled for the CPU as ingotc does it, loaded into this process.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RANDOM_GRAPHS_COMPILED_H
#define INGOT_TEST_RANDOM_GRAPHS_COMPILED_H

#include "dialects/reference/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot::testing {

/// Compiles the module's only function at -O`level` and runs it on these
/// arguments. The module is used up.
llvm::Expected<std::vector<reference::Tensor>>
compileAndRun(mlir::ModuleOp module, unsigned level,
              const std::vector<reference::Tensor> &arguments);

} // namespace ingot::testing

#endif // INGOT_TEST_RANDOM_GRAPHS_COMPILED_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Random functions of all ops: passes are tested by running them before and
// after.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_RANDOM_GRAPHS_RANDOMGRAPH_H
#define INGOT_TEST_RANDOM_GRAPHS_RANDOMGRAPH_H

#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot::testing {

struct RandomGraph {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// For @f, the module's only function.
  std::vector<reference::Tensor> arguments;
};

/// About `size` ops of the catalogue, most of them on results of earlier ones,
/// with constants and arguments between. Everything nobody uses is a result.
/// `stretch` is the largest size of a dimension where small ones are not all.
RandomGraph makeRandomGraph(mlir::MLIRContext &context, uint64_t seed,
                            int64_t size, mlir::FloatType element,
                            int64_t stretch = 1);

/// Whether anything of the module is computed in half precision.
bool hasHalves(mlir::ModuleOp module);

/// Whether the results stay within `tolerance` in the interpreter if all values
/// that ops compute are off by up to `noise`, relative to the larger of 1 and
/// their magnitude. They do not where numbers are compared that are nearly
/// equal: such a graph says nothing about code that rounds otherwise.
bool isStable(RandomGraph &graph, double noise, double tolerance);

} // namespace ingot::testing

#endif // INGOT_TEST_RANDOM_GRAPHS_RANDOMGRAPH_H

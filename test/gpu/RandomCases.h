// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Random graphs as tests of kernels for a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_GPU_RANDOMCASES_H
#define INGOT_TEST_GPU_RANDOMCASES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace ingot {

/// On a function: its results are compared by the bounds of boundRounding.
inline constexpr llvm::StringLiteral kRoundsAttr = "ingot.rounds";

/// Makes a module of functions test_N, with random graphs of the next `count`
/// seeds from `first` on, whose arguments are constants. Left out are graphs
/// whose results depend on the last bits of f32 and, in bf16 or fp16, those of
/// which nothing is computed in that precision: the others have the attribute
/// kRoundsAttr. `first` becomes the seed after the last one.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
makeRandomCases(mlir::MLIRContext &context, uint64_t &first, int64_t count,
                const std::string &precision);

} // namespace ingot

#endif // INGOT_TEST_GPU_RANDOMCASES_H

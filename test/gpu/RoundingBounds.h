// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How far roundings to 16 bits may move each element of a result.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_GPU_ROUNDINGBOUNDS_H
#define INGOT_TEST_GPU_ROUNDINGBOUNDS_H

#include "dialects/reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ingot {

/// Returns, for each result, how far each of its elements may be from the
/// interpreter's if every op rounds correctly, but not from the same last bits:
///
///     bound = kFloor * max(1, |x|) + 2 * max over runs of |run - x|
///
/// A run evaluates the function in Monte Carlo arithmetic (Parker, 1997). Each
/// computed element is moved up or down at random: one of 16 bits to the next
/// number, because sums that differ in their last bit may round to neighbours,
/// and one of 32 bits by 2^-20 of the larger of 1 and its magnitude. Attention
/// rounds weights, which are not a value of the graph, to 16 bits: its operands
/// are moved by a unit in which they are rounded, which moves each term of its
/// sums as much. Roundings reach a result only through the ops between, so the
/// bound is that of the element: exact ones stay exact, those next to a
/// comparison that may turn around are not compared.
///
/// 16 runs: a sum of two moves that cancel in all of them is seen in none, with
/// a probability of 2^-16 for an element. All moves happen in a run and few in
/// a kernel, so that twice the largest is above what a correct kernel does.
llvm::Expected<std::vector<std::vector<double>>>
boundRounding(mlir::func::FuncOp function,
              llvm::ArrayRef<reference::Tensor> arguments);

} // namespace ingot

#endif // INGOT_TEST_GPU_ROUNDINGBOUNDS_H

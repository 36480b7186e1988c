// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Evaluates elements of values that depend on constants only, without building
// the tensors: masks of long sequences are too large to fold.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_ATTENTION_KNOWNVALUES_H
#define INGOT_PASSES_GRAPH_ATTENTION_KNOWNVALUES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <vector>

namespace ingot {

/// Returns the elements of `value` at these row-major positions, as doubles
/// (booleans are 0 and 1); none if they depend on other values than constants,
/// or on ops that do not occur in masks.
std::optional<std::vector<double>>
knownElements(mlir::Value value, const std::vector<int64_t> &positions);

/// The bounds of the keys that a query attends to: -left <= key - query <=
/// right, where -1 means no bound.
struct AttentionBounds {
  int64_t left = -1, right = -1;
};

/// Returns the bounds that a constant [.., queries, keys], which is equal along
/// all leading dimensions, represents, if there are such bounds. `isInside`
/// tells whether an element stands for a pair inside or outside, or for
/// neither.
std::optional<AttentionBounds>
findBounds(mlir::Value pairs,
           llvm::function_ref<std::optional<bool>(double)> isInside);

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_ATTENTION_KNOWNVALUES_H

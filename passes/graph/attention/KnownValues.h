//===----------------------------------------------------------------------===//
//
// Elements of values that depend on constants alone, without building the
// tensors: masks of long sequences are too large to fold.
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
/// (booleans are 0 and 1); none where they depend on more than constants, or on
/// ops that no mask is made of.
std::optional<std::vector<double>>
knownElements(mlir::Value value, const std::vector<int64_t> &positions);

/// Bounds of a window of keys around a query: -left <= key - query <= right,
/// -1 for no bound.
struct Window {
  int64_t left = -1, right = -1;
};

/// Returns the window that [.., queries, keys] of constants is, the same for
/// all leading dimensions, if it is one. `isInside` says whether an element
/// stands for a pair inside, or that it stands for neither.
std::optional<Window>
findWindow(mlir::Value pairs,
           llvm::function_ref<std::optional<bool>(double)> isInside);

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_ATTENTION_KNOWNVALUES_H

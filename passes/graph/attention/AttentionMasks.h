// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Masks of attention: their parts, and those that the op represents in a
// shorter form: bounds, and key sequence lengths.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMASKS_H
#define INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMASKS_H

#include "dialects/ingot/builders/Arithmetic.h"
#include "passes/graph/attention/KnownValues.h"

namespace ingot {

/// A mask [batch, heads, queries, keys], or with batch and heads in one
/// dimension. Either true elements are attended to, or true elements are
/// masked.
struct PairsMask {
  mlir::Value value;
  bool hides = false;

  /// Emits a mask that is true where a query attends to a key.
  mlir::Value emitShown(mlir::OpBuilder &builder) const;
};

/// Finds the masks whose conjunction is `mask`. They have its type: ops that
/// broadcast them may be built.
void splitMask(PairsMask mask, llvm::SmallVectorImpl<PairsMask> &parts);

/// Returns whether both masks are known to be equal.
bool areEqual(const PairsMask &a, const PairsMask &b);

/// Emits the mask with size 1 for dimensions along which it is broadcast.
mlir::Value emitUnrepeated(Arithmetic a, mlir::Value pairs);

/// Returns the bounds that the mask represents, if there are such bounds (see
/// findBounds).
std::optional<AttentionBounds>
findMaskBounds(mlir::Value pairs, int64_t queries, int64_t keys,
               llvm::function_ref<std::optional<bool>(double)> isInside);

/// Returns the intersection of two bounds.
AttentionBounds intersect(AttentionBounds a, AttentionBounds b);

/// An integer for each sample, or one for all, below which keys are attended
/// to.
struct KeyBound {
  mlir::Value value;
  /// Whether the key at that position is attended to, too.
  bool isLast = false;

  /// Emits the key sequence lengths in the form that attention takes.
  mlir::Value emitLengths(Arithmetic a, int64_t batch, int64_t keys) const;
};

/// Returns the bound that a mask represents, if it is a comparison of key
/// positions with integers per sample.
std::optional<KeyBound> findKeyBound(const PairsMask &mask, int64_t batch,
                                     int64_t heads);

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMASKS_H

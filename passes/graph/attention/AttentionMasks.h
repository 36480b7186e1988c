//===----------------------------------------------------------------------===//
//
// Masks of attention: what they are made of, and those of which the op knows a
// shorter form: windows, and the first keys of each sample.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMASKS_H
#define INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMASKS_H

#include "dialects/ingot/builders/Arithmetic.h"
#include "passes/graph/attention/KnownValues.h"

namespace ingot {

/// [batch, heads, queries, keys], or with batch and heads in one dimension:
/// true where a query may look at a key, or where that is hidden.
struct PairsMask {
  mlir::Value value;
  bool hides = false;

  /// Emits where a query may look.
  mlir::Value emitShown(mlir::OpBuilder &builder) const;
};

/// Finds the masks, all of which have to show a key, that a mask is made of.
/// They have its type: ops that repeat them may be built.
void splitMask(PairsMask mask, llvm::SmallVectorImpl<PairsMask> &parts);

/// Returns whether both hide the same, as far as ops tell.
bool areEqual(const PairsMask &a, const PairsMask &b);

/// Pairs with 1 for dimensions along which they only repeat.
mlir::Value emitUnrepeated(Arithmetic a, mlir::Value pairs);

/// Returns the window that pairs are, if they are one (see findWindow).
std::optional<Window>
findPairsWindow(mlir::Value pairs, int64_t queries, int64_t keys,
                llvm::function_ref<std::optional<bool>(double)> isInside);

/// Returns what both show.
Window intersect(Window a, Window b);

/// An integer for each sample, or one for all: keys below it are seen.
struct KeyBound {
  mlir::Value value;
  /// The key of that number is seen, too.
  bool isLast = false;

  /// Emits the numbers of keys that are seen, as attention takes them.
  mlir::Value emitLengths(Arithmetic a, int64_t batch, int64_t keys) const;
};

/// Returns the bound that a mask is, if it is one: a comparison of positions of
/// keys with integers that samples have.
std::optional<KeyBound> findKeyBound(const PairsMask &mask, int64_t batch,
                                     int64_t heads);

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMASKS_H

//===----------------------------------------------------------------------===//
//
// Masks that show the first keys of each sample, of which graphs compute how
// many there are.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_KEYBOUNDS_H
#define INGOT_PASSES_GRAPH_KEYBOUNDS_H

#include "dialects/ingot/ir/Arithmetic.h"
#include <optional>

namespace ingot {

/// An integer for each sample, or one for all: keys below it are seen.
struct KeyBound {
  mlir::Value value;
  /// The key of that number is seen, too.
  bool isLast = false;

  /// The numbers of keys that are seen, as attention takes them.
  mlir::Value emitLengths(Arithmetic a, int64_t batch, int64_t keys) const;
};

/// The bound that a mask of pairs is, if it is one: a comparison of positions
/// of keys with integers that samples have. `pairs` is [batch, heads, queries,
/// keys], or has batch and heads in one dimension; true where a key is seen, or
/// where it `hides` one.
std::optional<KeyBound> findKeyBound(mlir::Value pairs, bool hides,
                                     int64_t batch, int64_t heads);

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_KEYBOUNDS_H

//===----------------------------------------------------------------------===//
//
// The sizes of an attention.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ATTENTION_ATTENTIONSIZES_H
#define INGOT_DIALECTS_INGOT_ATTENTION_ATTENTIONSIZES_H

#include "mlir/IR/Value.h"
#include <cstdint>

namespace ingot {

struct AttentionSizes {
  int64_t batch, heads, keyHeads, queries, keys, size, valueSize;

  /// From operands of rank 4.
  static AttentionSizes of(mlir::Value query, mlir::Value key,
                           mlir::Value value);
  /// From one operand that holds all three, with so many key heads.
  static AttentionSizes ofPacked(mlir::Value packed, int64_t keyHeads);

  /// Pairs of a query and a key of one head within the bounds, and the fewest
  /// keys that a query may look at.
  struct Window {
    int64_t pairs, fewest;
  };
  Window window(int64_t left, int64_t right) const;

  /// Whether keys and values of a packed row begin where tensors may
  /// (INGOT_ALIGNMENT), as elements of the type.
  bool packsAligned(mlir::Type element) const;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ATTENTION_ATTENTIONSIZES_H

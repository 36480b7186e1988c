// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The sizes of an attention op.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_ATTENTIONSIZES_H
#define INGOT_DIALECTS_INGOT_IR_ATTENTIONSIZES_H

#include "mlir/IR/Value.h"
#include <cstdint>

namespace ingot {

struct AttentionSizes {
  int64_t batch, heads, keyHeads, queries, keys, size, valueSize;

  /// Returns the sizes given by operands of rank 4.
  static AttentionSizes of(mlir::Value query, mlir::Value key,
                           mlir::Value value);
  /// Returns the sizes given by one packed operand with `keyHeads` key heads.
  static AttentionSizes ofPacked(mlir::Value packed, int64_t keyHeads);

  /// The number of pairs of a query and a key of one head within the bounds,
  /// and the smallest number of keys that a query attends to.
  struct Window {
    int64_t pairs, fewest;
  };
  Window window(int64_t left, int64_t right) const;

  /// Returns whether the keys and values of a packed row of this element type
  /// begin at aligned addresses (INGOT_ALIGNMENT).
  bool packsAligned(mlir::Type element) const;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_ATTENTIONSIZES_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The layout of the parts of a bucket (docs/spec/collective.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_COLLECTIVE_BUCKETLAYOUT_H
#define INGOT_DIALECTS_INGOT_COLLECTIVE_BUCKETLAYOUT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"

namespace ingot {

class BucketEnd;

struct BucketLayout {
  /// The alignment of each part in bytes.
  static constexpr int64_t kAlignment = 64;
  /// The alignment of shards, and of parts of which ranks own shards, in
  /// elements: their offsets do not depend on the element type.
  static constexpr int64_t kShardElements = 32;
  /// The elements of a block, to which shards and parts of at least
  /// `kLeastEncoded` elements are aligned: the parts may be encoded.
  static constexpr int64_t kShardBlock = 256, kLeastEncoded = 4096;

  /// The offset of each part in elements.
  llvm::SmallVector<int64_t> offsets;
  /// The number of elements of the bucket, including padding between parts.
  int64_t elements = 0;

  /// Returns the layout of parts of one element type.
  static BucketLayout of(mlir::TypeRange parts, bool sharded = false);
  static BucketLayout of(BucketEnd end);
};

/// Returns the sums over ranks of tensors of one element type, with one
/// blocking all-reduce.
llvm::SmallVector<mlir::Value> sumOverRanks(mlir::OpBuilder &builder,
                                            mlir::Location loc,
                                            mlir::ValueRange parts);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_COLLECTIVE_BUCKETLAYOUT_H

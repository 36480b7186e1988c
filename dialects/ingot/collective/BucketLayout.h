// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Where the parts of a bucket lie in it (docs/spec/collective.md).
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
  /// Where each part starts is a multiple of this many bytes.
  static constexpr int64_t kAlignment = 64;
  /// Shards, and parts of which ranks have shards, start at multiples of this
  /// many elements: offsets do not depend on the type.
  static constexpr int64_t kShardElements = 32;

  /// The first element of each part.
  llvm::SmallVector<int64_t> offsets;
  /// Of the bucket, with what is between parts.
  int64_t elements = 0;

  /// Of parts of one element type.
  static BucketLayout of(mlir::TypeRange parts, bool sharded = false);
  static BucketLayout of(BucketEnd end);
};

/// Sums over ranks, at once, of tensors of one element type.
llvm::SmallVector<mlir::Value> sumOverRanks(mlir::OpBuilder &builder,
                                            mlir::Location loc,
                                            mlir::ValueRange parts);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_COLLECTIVE_BUCKETLAYOUT_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The shards of a bucket: which elements of it, and of the tensors in it,
// belong to a rank.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_SHARD_H
#define INGOT_RUNTIME_ABI_SHARD_H

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"

#include <algorithm>

namespace ingot::runtime {

/// The elements [begin, end).
struct ElementRange {
  int64_t begin = 0, end = 0;

  int64_t getCount() const { return end - begin; }
};

/// The elements of a block of encoded tensors. Shards of a bucket of a multiple
/// of these begin at multiples of them: each block is in one shard.
inline constexpr int64_t kShardBlock = 256;

/// The shard of `rank` of `ranks` in a bucket of `of` elements. Shards are
/// equal and in the order of ranks; the last ones may be shorter, or empty.
inline ElementRange getShard(int64_t of, int64_t rank, int64_t ranks) {
  const int64_t unit =
      of % kShardBlock == 0 ? kShardBlock : int64_t(INGOT_SHARD_ELEMENTS);
  int64_t each = abi::divideCeil(abi::divideCeil(of, unit), ranks) * unit;
  return {std::min(of, rank * each), std::min(of, (rank + 1) * each)};
}

/// The part of a tensor that is in the rank's shard, as indices into the
/// tensor, which has `elements` and starts at element `first` of the bucket.
inline ElementRange getShard(int64_t elements, int64_t first, int64_t of,
                             int64_t rank, int64_t ranks) {
  ElementRange shard = getShard(of, rank, ranks);
  int64_t begin = std::clamp<int64_t>(shard.begin - first, 0, elements);
  return {begin, std::clamp<int64_t>(shard.end - first, begin, elements)};
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_ABI_SHARD_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which elements of a bucket, and of the tensors in it, a rank has.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_SHARD_H
#define INGOT_RUNTIME_ABI_SHARD_H

#include "runtime/abi/Abi.h"
#include "runtime/abi/Align.h"

#include <algorithm>

namespace ingot::runtime {

/// Elements from `begin` on, before `end`.
struct ElementRange {
  int64_t begin = 0, end = 0;

  int64_t getCount() const { return end - begin; }
};

/// The shard that `rank` of `ranks` has of a bucket of `of` elements. Shards
/// are equal and in the order of ranks; the last ones may be shorter, or empty.
inline ElementRange getShard(int64_t of, int64_t rank, int64_t ranks) {
  constexpr int64_t unit = INGOT_SHARD_ELEMENTS;
  int64_t each = abi::divideCeil(abi::divideCeil(of, unit), ranks) * unit;
  return {std::min(of, rank * each), std::min(of, (rank + 1) * each)};
}

/// What of a tensor of `elements`, which starts at `first` of the bucket, is in
/// the shard: indices into the tensor.
inline ElementRange getShard(int64_t elements, int64_t first, int64_t of,
                             int64_t rank, int64_t ranks) {
  ElementRange shard = getShard(of, rank, ranks);
  int64_t begin = std::clamp<int64_t>(shard.begin - first, 0, elements);
  return {begin, std::clamp<int64_t>(shard.end - first, begin, elements)};
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_ABI_SHARD_H

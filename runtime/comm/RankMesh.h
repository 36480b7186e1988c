// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The mesh of the ranks of a run: docs/spec/exchange.md.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_RANKMESH_H
#define INGOT_RUNTIME_COMM_RANKMESH_H

#include "runtime/abi/Abi.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::runtime {

class RankMesh {
public:
  /// The number of axes (ingot_axis).
  static constexpr size_t kAxes = 5;
  using Sizes = std::array<int64_t, kAxes>;

  /// One rank.
  RankMesh() = default;
  /// The mesh of `ranks` with these sizes of axes. Those along `data` are as
  /// many as are left, and its size is ignored. Throws badInput where the other
  /// axes do not divide them.
  RankMesh(Sizes sizes, int64_t ranks);

  /// Returns the coordinates of a rank along all axes.
  Sizes getCoordinates(int64_t rank) const;
  /// Returns the ranks that differ from this one in their coordinates along the
  /// axes (bits of ingot_axis) only, in the order of their numbers.
  std::vector<int64_t> getGroup(int64_t rank, int32_t axes) const;
  /// Returns how many ranks differ along the axes only, and the place of a rank
  /// among them.
  int64_t getSize(int32_t axes) const;
  int64_t getPlace(int64_t rank, int32_t axes) const;
  /// The axes along which ranks train on different samples.
  static constexpr int32_t kSampleAxes = INGOT_DATA | INGOT_INNER;
  /// Returns the one of them along which ranks have shards of states.
  int32_t getShardAxis() const {
    return getSize(INGOT_INNER) > 1 ? INGOT_INNER : INGOT_DATA;
  }
  /// Returns the last of axes: ranks that sum shards over all have different
  /// ones along it.
  static int32_t getLastAxis(int32_t axes) {
    return static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(axes)));
  }
  /// Returns the axes with several ranks.
  int32_t getAxes() const;
  /// Returns the names of those of the axes with several ranks, as in "data and
  /// tensor".
  std::string getNames(int32_t axes) const;

private:
  /// How far the numbers of neighbors along an axis are apart.
  Sizes getStrides() const;

  Sizes sizes = {1, 1, 1, 1, 1};
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_RANKMESH_H

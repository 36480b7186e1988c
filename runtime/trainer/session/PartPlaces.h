// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Where the elements of a rank's part of a tensor are in the whole tensor
// (docs/spec/partition.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_SESSION_PARTPLACES_H
#define INGOT_RUNTIME_TRAINER_SESSION_PARTPLACES_H

#include "runtime/abi/Shard.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// A part of one dimension.
struct PartOfDim {
  /// The part, of how many equal ones.
  int64_t part = 0, parts = 1;
  /// The sizes of the segments, each of which is divided by itself.
  std::vector<int64_t> segments;
  /// Elements behind the last one, which are nowhere in the whole tensor.
  int64_t pad = 0;
};

class PartPlaces {
public:
  /// Elements that follow one another in the part and in the whole tensor, both
  /// row-major.
  struct Run {
    int64_t first, count;
    /// The first element in the whole tensor; -1 for padding.
    int64_t whole;
  };

  /// A part of each dimension, whose segments are divided equally.
  explicit PartPlaces(std::vector<PartOfDim> dims);
  /// The whole of a tensor.
  static PartPlaces ofWhole(int64_t elements) {
    return PartPlaces({{0, 1, {elements}}});
  }

  /// Reads what print() returns for a part of a tensor of the shape; nothing if
  /// it is something else.
  static std::optional<PartPlaces> parse(const std::string &text,
                                         const std::vector<int64_t> &whole);
  std::string print() const;

  /// The elements of the part, with padding.
  int64_t getElements() const { return elements; }
  /// Calls `take` for the runs of a range of the part's elements, in order.
  void forEach(ElementRange range,
               const std::function<void(const Run &)> &take) const;

private:
  std::vector<PartOfDim> dims;
  /// The runs of the last dimension that is divided, and how many elements each
  /// of its indices has behind it.
  std::vector<Run> runs;
  size_t last = 0;
  int64_t inner = 1, length = 1, wholeLength = 1, elements = 1;
  /// The place in the whole dimension of each index before the last divided
  /// one; -1 for padding.
  std::vector<std::vector<int64_t>> outer;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_SESSION_PARTPLACES_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A part of the manifest of its own, the list `pruning`, which only modules of
// --prune have and only their trainers read.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_PRUNINGSPEC_H
#define INGOT_RUNTIME_ABI_PRUNINGSPEC_H

#include "runtime/abi/ManifestSupport.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ingot::runtime {

/// The key of the list in the manifest.
inline constexpr char kPruningKey[] = "pruning";

/// The pattern in which a weight is pruned. The runtime chooses blocks of the
/// least magnitude between steps, and steps keep at zero what it has chosen.
struct PruningSpec {
  /// The weight, and the state with a bit for each of its elements, in order
  /// and the lowest bit of a byte first: set where an element is pruned.
  std::string weight, bits;
  /// The part of the blocks that is pruned in the end.
  double share = 0;
  /// All blocks. The numbers of those that are pruned are rounded, halves to
  /// even.
  int64_t blocks = 0;
  /// The dimensions of outputs, and of inputs, which products with the weight
  /// reduce; absent where blocks are single elements.
  std::optional<int64_t> outputDim, inputDim;
  /// The elements of a block along both.
  int64_t rows = 1, columns = 1;
  /// If not 0, the part is one of each group of that many elements along
  /// `inputDim`.
  int64_t group = 0;
  /// The numbers of steps after which pruning begins (0 is before the first
  /// one) and ends, and those between two changes.
  int64_t begin = 0, end = 0, every = 1;
};

template <typename Archive, IsConstOrNot<PruningSpec> Object>
void visit(Archive &archive, Object &object) {
  archive.visitRequired("weight", object.weight);
  archive.visitRequired("bits", object.bits);
  archive.visitRequired("share", object.share);
  archive.visitRequired("blocks", object.blocks);
  archive.visitOptional("output_dim", object.outputDim);
  archive.visitOptional("input_dim", object.inputDim);
  archive.visitDefault("rows", object.rows, int64_t(1));
  archive.visitDefault("columns", object.columns, int64_t(1));
  archive.visitDefault("group", object.group, int64_t(0));
  archive.visitRequired("begin", object.begin);
  archive.visitRequired("end", object.end);
  archive.visitRequired("every", object.every);
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_ABI_PRUNINGSPEC_H

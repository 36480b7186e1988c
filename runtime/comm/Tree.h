// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reductions and gathers of small data along a binomial tree: messages go up to
// rank 0 and come back, so that the latency grows with the logarithm of the
// number of ranks. The subtree of a child consists of consecutive ranks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_TREE_H
#define INGOT_RUNTIME_COMM_TREE_H

#include "runtime/comm/WireOperation.h"

#include <vector>

namespace ingot::runtime {

/// The place of a rank in the tree.
struct TreePlace {
  struct Child {
    /// The child, and the ranks of its subtree.
    int64_t rank, count;
  };

  TreePlace(int64_t rank, int64_t size);

  /// -1 for rank 0.
  int64_t parent = -1;
  std::vector<Child> children;
};

class Tree : public WireOperation {
public:
  /// Data of a reduction: the children's in the order of their ranks is
  /// combined with a rank's own.
  struct Operand {
    char *data;
    int64_t elements;
    DType type;
    Reduction reduction;
  };
  Tree(Wire &wire, int32_t tag, const Operand &operand);
  /// Gathers blocks of `bytes` from every rank, whose own is in its place.
  Tree(Wire &wire, int32_t tag, char *blocks, int64_t bytes);

  bool test() override;

private:
  int64_t getAwaited() const override;
  bool advance();

  TreePlace place;
  char *data;
  /// The bytes of all data, and those of a block, or 0 for reductions.
  int64_t bytes, blockBytes;
  int64_t elements = 0;
  DType type = DType::F32;
  Reduction reduction = Reduction::Sum;
  /// The children's data, for reductions.
  std::vector<char> staging;
  std::vector<Wire::Transfer> transfers;
  /// The number of transfers that have ended in this phase.
  size_t done = 0;
  enum class Phase { FromChildren, ToParent, FromParent, ToChildren, Done };
  Phase phase = Phase::FromChildren;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_TREE_H

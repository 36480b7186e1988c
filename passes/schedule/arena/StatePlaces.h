// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The locations of the states of a module in the state block.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_ARENA_STATEPLACES_H
#define INGOT_PASSES_SCHEDULE_ARENA_STATEPLACES_H

#include "passes/schedule/arena/BufferPlan.h"
#include <map>

namespace ingot {

struct StatePlaces {
  /// A bucket of states.
  struct Gather {
    int64_t offset = 0;
    mlir::MemRefType bucket;
  };

  explicit StatePlaces(mlir::ModuleOp module);

  /// The locations by symbol; none for a split master, and for what only the
  /// weights have. That of a sharded state
  /// is in the table of addresses: its memory depends on the number of ranks.
  llvm::DenseMap<mlir::Attribute, Place> places;
  /// The buckets by number.
  std::map<int64_t, Gather> gathers;
  /// The bytes of the parts of the block.
  int64_t weightBytes = 0, optimizerBytes = 0, accumulatorBytes = 0;
  /// The bytes of the range behind the block that is mapped from the weights.
  int64_t mappedBytes = 0;
  /// The bytes of sharded states, if there is one rank.
  int64_t shardBytes = 0;

  int64_t getBytes() const {
    return weightBytes + optimizerBytes + accumulatorBytes;
  }

private:
  /// The target's alignment of states.
  int64_t alignment;
  /// Returns the part that contains states of the role.
  int64_t &getPart(Role role);
  void place(StateOp state);
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ARENA_STATEPLACES_H

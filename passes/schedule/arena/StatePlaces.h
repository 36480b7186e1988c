//===----------------------------------------------------------------------===//
//
// Where the states of a module lie in the state block.
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

  /// By symbol; none for a state in halves. That of a state in shards is in the
  /// table of their addresses: their memory comes with the number of ranks.
  llvm::DenseMap<mlir::Attribute, Place> places;
  /// By number.
  std::map<int64_t, Gather> gathers;
  /// Parts of the block.
  int64_t weightBytes = 0, optimizerBytes = 0, accumulatorBytes = 0;
  /// Of the memory for shards, on a rank alone.
  int64_t shardBytes = 0;

  int64_t getBytes() const {
    return weightBytes + optimizerBytes + accumulatorBytes;
  }

private:
  /// Of the parts, that with states of the role.
  int64_t &getPart(Role role);
  void place(StateOp state);
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_ARENA_STATEPLACES_H

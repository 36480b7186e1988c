// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A transport: collectives that all ranks of a run perform together. Each rank
// starts the same operations in the same order; several may be in flight at a
// time, and they may end in any order. One thread at a time calls a transport
// (Communicator.h).
//
// The result of an operation has the same bits on every rank, in every run with
// the same number of ranks, and with every transport.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_COLLECTIVES_H
#define INGOT_RUNTIME_COMM_COLLECTIVES_H

#include "runtime/abi/Abi.h"
#include "runtime/core/DType.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime {

/// An operation in flight. Until it has ended nothing else may touch its
/// memory, and it has to end before this object is destroyed.
class Pending {
public:
  virtual ~Pending() = default;
  /// Makes progress, and returns whether the operation has ended. Throws
  /// std::runtime_error.
  virtual bool test() = 0;
  /// Gives up waiting for the end: returns which rank it waits for, as far as
  /// the transport knows.
  virtual std::string giveUp() { return ""; }
};

/// How the elements of ranks are combined.
enum class Reduction {
  Sum = INGOT_SUM,
  Max = INGOT_MAX,
  Min = INGOT_MIN,
};

class Collectives {
public:
  virtual ~Collectives() = default;

  int64_t getRank() const { return rank; }
  int64_t getSize() const { return size; }
  /// Returns the collectives among some of the ranks, this one included, which
  /// are `axes` (ingot_axis) of a mesh: groups along different axes may be
  /// under way at a time. The result may live longer than this object.
  virtual std::unique_ptr<Collectives>
  makeGroup(const std::vector<int64_t> &members, int32_t axes);
  /// Ends a run that succeeded: no collective comes after. Without this call
  /// the launcher ends the other ranks.
  virtual void finish() {}
  /// The transport's name for messages, such as "TCP".
  virtual std::string describe() const = 0;

  /// Starts data = that of all ranks, combined. Types are f32, f64, bf16, f16,
  /// i64 and i32; 16-bit sums are rounded after each addition.
  virtual std::unique_ptr<Pending> startAllReduce(void *data, int64_t elements,
                                                  DType type,
                                                  Reduction reduction) = 0;

  /// Starts a reduce-scatter: this rank's shard (abi/Shard.h) of data = sum
  /// over ranks. The other elements have no meaning afterwards.
  virtual std::unique_ptr<Pending>
  startReduceScatter(void *data, int64_t elements, DType type) = 0;

  /// Starts an all-gather of shards, in place: each shard of data = that of the
  /// rank that owns it.
  virtual std::unique_ptr<Pending>
  startGatherShards(void *data, int64_t elements, DType type) = 0;

  /// Starts an all-gather: `to` receives `bytes` from every rank, in the order
  /// of ranks. `from` is not part of `to`.
  virtual std::unique_ptr<Pending> startAllGather(const void *from, void *to,
                                                  int64_t bytes) = 0;

  /// Starts a reduce-scatter of equal parts: `to` = the part of `elements` that
  /// has this rank's number in the `from` of all ranks, combined as in
  /// startAllReduce.
  virtual std::unique_ptr<Pending> startReduceParts(const void *from, void *to,
                                                    int64_t elements,
                                                    DType type,
                                                    Reduction reduction);

  /// Starts an all-to-all: `to` receives from every rank, in the order of
  /// ranks, the block of `bytes` that has this rank's number in its `from`.
  virtual std::unique_ptr<Pending> startAllToAll(const void *from, void *to,
                                                 int64_t bytes);

  /// Starts a broadcast: data = that of rank `root`.
  virtual std::unique_ptr<Pending> startBroadcast(void *data, int64_t bytes,
                                                  int64_t root) = 0;

protected:
  Collectives(int64_t rank, int64_t size) : rank(rank), size(size) {}

private:
  int64_t rank, size;
};

/// The transport of a run with one rank.
std::unique_ptr<Collectives> makeSelfCollectives();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_COLLECTIVES_H

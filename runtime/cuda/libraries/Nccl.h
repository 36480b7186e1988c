// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Collectives between the GPUs of groups of ranks by NCCL, which is loaded on
// demand: of buckets on a separate stream, and of tensors that the step needs
// before it goes on.
//
// Operations can be captured in a CUDA graph: the stream forks from that of the
// step by an event, and joins it by another. All ranks start the same
// operations in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H

#include "runtime/abi/Abi.h"
#include "runtime/cuda/driver/Driver.h"
#include "runtime/cuda/libraries/NcclGroup.h"
#include "runtime/cuda/libraries/NcclMemory.h"

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime {

class Communicator;

class Nccl {
public:
  /// `ranks` are all of the run. The GPUs of a group are connected, and the
  /// blocks of `memory` registered, when it has its first operation.
  Nccl(const Driver &driver, Communicator &ranks, NcclMemory &memory);
  ~Nccl();

  /// A bucket; its type is an ingot_dtype, its reduction an ingot_reduction,
  /// and its axes (ingot_axis) those of the group that exchanges it.
  struct Bucket {
    void *data;
    int64_t elements;
    int32_t type, number, axes = INGOT_DATA, reduction = INGOT_SUM;

    auto operator<=>(const Bucket &) const = default;
  };
  // Each operation on a bucket starts after the work that `stream` holds now,
  // and overlaps with the work that it receives until the join. Every function
  // throws failure.

  /// Starts data = that of all ranks, combined.
  void startAllReduce(const Bucket &bucket, CUstream stream);
  /// Starts a sum of the elements of the rank's shard (Shard.h); the others
  /// have no meaning afterwards.
  void startReduceScatter(const Bucket &bucket, CUstream stream);
  /// Starts an all-gather: every rank receives all shards.
  void startAllGather(const Bucket &bucket, CUstream stream);
  /// Makes the next run of a function begin with startAllGather.
  void defer(const Bucket &bucket) { deferred.push_back(bucket); }
  /// Starts the deferred all-gathers.
  void startDeferred(CUstream stream);
  const std::vector<Bucket> &getDeferred() const { return deferred; }
  void setDeferred(std::vector<Bucket> buckets) {
    deferred = std::move(buckets);
  }
  /// Starts an all-gather of payloads, each of `bytes`: `payloads` receives
  /// those of all ranks of a group, one after the other.
  void startGather(const void *payload, void *payloads, int64_t bytes,
                   int32_t bucket, int32_t axes, CUstream stream);
  /// Makes later work of `stream` wait for the bucket's exchange, if that is in
  /// flight.
  void join(int32_t bucket, CUstream stream);
  /// Makes later work of `stream` wait for all exchanges in flight.
  void joinAll(CUstream stream);

  // Exchanges of a group as work of `stream`.

  /// Makes `result` the tensors of all ranks, combined, or one after the other.
  void allReduce(const void *input, void *result,
                 const ingot_exchange_desc &desc, CUstream stream);
  void allGather(const void *input, void *result,
                 const ingot_exchange_desc &desc, CUstream stream);
  /// Makes `result` the rank's part of the tensors of all ranks, combined, or
  /// one after the other.
  void reduceScatter(const void *input, void *result,
                     const ingot_exchange_desc &desc, CUstream stream);
  void allToAll(const void *input, void *result,
                const ingot_exchange_desc &desc, CUstream stream);

  /// Returns how exchanges access memory, for users, if that is not the fastest
  /// way; empty after the first call that does.
  std::string takeNote() { return std::exchange(note, ""); }

  /// Waits for an event that may depend on other ranks. Returns what is wrong
  /// if a rank fails, or after the limit of waits; otherwise "".
  std::string wait(CUevent event);
  /// Ends what the GPU waits for, so that the process can end, and throws
  /// failure. The caller has destroyed all graphs that hold exchanges, because
  /// an abort waits for them.
  [[noreturn]] void abandon(const std::string &problem);

private:
  /// The events of a bucket.
  struct Events {
    /// The bucket is complete, and its exchange is done.
    CUevent ready = nullptr, done = nullptr;
  };

  /// Returns the ranks of a group, all where it names no axes.
  Communicator &getRanks(int32_t axes) const;
  /// Returns whether a rank of several exchanges a bucket with no other one.
  bool isAlone(const Bucket &bucket) const;
  /// Returns the GPUs of a group, which it connects at first.
  NcclGroup &getGroup(int32_t axes);
  /// Runs `exchange(stream)` on NCCL's stream, between the bucket's events.
  template <typename Exchange>
  void start(int32_t bucket, CUstream step, Exchange exchange);
  /// Exchanges the shards of a group by `whole(group, own shard, elements of
  /// each)` if they are equal; else by `part(group, shard, elements, rank)` for
  /// each rank whose shard is not empty.
  template <typename Whole, typename Part>
  void exchangeShards(const Bucket &bucket, const NcclGroup &group, Whole whole,
                      Part part);
  /// Sums the rank's shard of those of `shards` over the ranks of `across`.
  void sumShard(const Bucket &bucket, const NcclGroup &shards,
                const NcclGroup &across, cudaStream_t stream);

  const Driver &driver;
  Communicator &ranks;
  NcclMemory &memory;
  NcclFunctions nccl;
  /// In the order in which they were connected.
  std::vector<std::unique_ptr<NcclGroup>> groups;
  CUstream stream = nullptr;
  std::map<int32_t, Events> events;
  /// Buckets whose exchange has started and has not been joined.
  std::set<int32_t> inFlight;
  std::vector<Bucket> deferred;
  std::string note;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H

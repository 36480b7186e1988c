// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Collectives between GPUs by NCCL, which is loaded on demand, on a separate
// stream.
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
#include "runtime/cuda/libraries/NcclMemory.h"

#include <compare>
#include <map>
#include <nccl.h>
#include <set>
#include <utility>
#include <vector>

#define INGOT_NCCL_FUNCTIONS(X)                                                \
  X(ncclAllGather)                                                             \
  X(ncclAllReduce)                                                             \
  X(ncclBroadcast)                                                             \
  X(ncclCommAbort)                                                             \
  X(ncclCommDestroy)                                                           \
  X(ncclCommGetAsyncError)                                                     \
  X(ncclCommInitRank)                                                          \
  X(ncclGetErrorString)                                                        \
  X(ncclGetUniqueId)                                                           \
  X(ncclGroupEnd)                                                              \
  X(ncclGroupStart)                                                            \
  X(ncclReduce)                                                                \
  X(ncclReduceScatter)

namespace ingot::runtime {

class Communicator;

class Nccl {
public:
  /// Connects the current GPUs of all ranks, which call this at the same point,
  /// and registers the blocks of `memory`. Throws failure.
  Nccl(const Driver &driver, Communicator &ranks, NcclMemory &memory);
  ~Nccl();

  /// A bucket; its type is an ingot_dtype, its reduction an ingot_reduction.
  struct Bucket {
    void *data;
    int64_t elements;
    int32_t type, number, reduction = INGOT_SUM;

    auto operator<=>(const Bucket &) const = default;
  };
  // Each operation starts after the work that `stream` holds now, and overlaps
  // with the work that it receives until the join. Every function throws
  // failure.

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
  /// those of all ranks, one after the other.
  void startGather(const void *payload, void *payloads, int64_t bytes,
                   int32_t bucket, CUstream stream);
  /// Makes later work of `stream` wait for the bucket's exchange, if that is in
  /// flight.
  void join(int32_t bucket, CUstream stream);
  /// Makes later work of `stream` wait for all exchanges in flight.
  void joinAll(CUstream stream);

  /// Returns how exchanges access memory, for users, if that is not the fastest
  /// way; empty after the first call.
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

  /// Runs `exchange(stream)` on NCCL's stream, between the bucket's events.
  template <typename Exchange>
  void start(int32_t bucket, CUstream step, Exchange exchange);
  /// Exchanges shards by `whole(own shard, elements of each, stream)` if they
  /// are equal; else by `part(shard, elements, rank, stream)` for each rank
  /// whose shard is not empty.
  template <typename Whole, typename Part>
  void exchangeShards(const Bucket &bucket, CUstream step, Whole whole,
                      Part part);

  void check(ncclResult_t result, const char *action) const;

  const Driver &driver;
  Communicator &ranks;
  NcclMemory &memory;
#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_NCCL_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  ncclComm_t communicator = nullptr;
  CUstream stream = nullptr;
  std::map<int32_t, Events> events;
  /// Buckets whose exchange has started and has not been joined.
  std::set<int32_t> inFlight;
  std::vector<Bucket> deferred;
  std::string note;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H

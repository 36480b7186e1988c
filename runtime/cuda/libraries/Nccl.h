// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges between GPUs by NCCL, loaded on demand, on a stream of their own.
//
// Operations may be recorded into a CUDA graph: the stream forks from that of
// the step by an event, and joins it by another. All ranks ask for the same
// operations in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/libraries/Library.h"

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
  /// Connects the current GPUs of all ranks; they call this at the same point.
  /// Throws failure.
  Nccl(const Driver &driver, Communicator &ranks);
  ~Nccl();

  /// What all ranks exchange in one place: elements of a type of Abi.h.
  struct Bucket {
    void *data;
    int64_t elements;
    int32_t type, number;

    auto operator<=>(const Bucket &) const = default;
  };
  // Each comes after what `stream` holds by now, and runs beside what it gets
  // until the join. All throw failure.

  /// data = sum over ranks.
  void startAllReduce(const Bucket &bucket, CUstream stream);
  /// The same for the elements of the rank's shard (Shard.h); the others have
  /// no meaning afterwards.
  void startReduceScatter(const Bucket &bucket, CUstream stream);
  /// Every rank gets all shards.
  void startAllGather(const Bucket &bucket, CUstream stream);
  /// Has the next run of a function begin with startAllGather.
  void defer(const Bucket &bucket) { deferred.push_back(bucket); }
  /// Starts what was deferred.
  void startDeferred(CUstream stream);
  const std::vector<Bucket> &getDeferred() const { return deferred; }
  void setDeferred(std::vector<Bucket> buckets) {
    deferred = std::move(buckets);
  }
  /// messages = those of all ranks, one after the other, each of `bytes`.
  void startGather(const void *message, void *messages, int64_t bytes,
                   int32_t bucket, CUstream stream);
  /// What `stream` gets from now on comes after the bucket's exchange, if that
  /// is under way.
  void join(int32_t bucket, CUstream stream);
  /// The same for all that is under way.
  void joinAll(CUstream stream);

  /// Waits for an event that may depend on other ranks. Throws failure if one
  /// of them fails, or nothing happens for as long as a wait may take.
  void wait(CUevent event);

private:
  /// Of one bucket: its parts are there; the exchange is done.
  struct Events {
    CUevent ready = nullptr, done = nullptr;
  };

  /// Runs `exchange(stream)` on NCCL's stream, between the bucket's events.
  template <typename Exchange>
  void start(int32_t bucket, CUstream step, Exchange exchange);
  /// Exchanges the shards by `whole(own shard, elements of each, stream)` where
  /// all have as many; else by one operation of `part(shard, elements, rank,
  /// stream)` for each rank that has any.
  template <typename Whole, typename Part>
  void exchangeShards(const Bucket &bucket, CUstream step, Whole whole,
                      Part part);

  void check(ncclResult_t result, const char *action) const;
  [[noreturn]] void abandon(const std::string &problem);

  const Driver &driver;
  Communicator &ranks;
  Library library;
#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_NCCL_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  ncclComm_t communicator = nullptr;
  CUstream stream = nullptr;
  std::map<int32_t, Events> events;
  /// Buckets that have started and not been joined.
  std::set<int32_t> underWay;
  std::vector<Bucket> deferred;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_NCCL_H

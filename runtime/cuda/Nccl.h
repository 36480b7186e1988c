//===----------------------------------------------------------------------===//
//
// All-reduces between GPUs by NCCL, loaded on demand, on a stream of their own.
//
// Operations may be recorded into a CUDA graph: the stream forks from that of
// the step by an event, and joins it by another. All ranks ask for the same
// operations in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_NCCL_H
#define INGOT_RUNTIME_CUDA_NCCL_H

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Library.h"

#include <map>
#include <nccl.h>

#define INGOT_NCCL_FUNCTIONS(X)                                                \
  X(ncclAllReduce)                                                             \
  X(ncclCommAbort)                                                             \
  X(ncclCommDestroy)                                                           \
  X(ncclCommGetAsyncError)                                                     \
  X(ncclCommInitRank)                                                          \
  X(ncclGetErrorString)                                                        \
  X(ncclGetUniqueId)

namespace ingot::runtime {

class Communicator;

class Nccl {
public:
  /// Connects the current GPUs of all ranks; they call this at the same point.
  /// Throws failure.
  Nccl(const Driver &driver, Communicator &ranks);
  ~Nccl();

  /// data = sum over ranks, after what `stream` holds by now and beside what it
  /// gets until the join. `type` is of Abi.h. Throws failure.
  void startAllReduce(void *data, int64_t elements, int32_t type,
                      int32_t bucket, CUstream stream);
  /// What `stream` gets from now on comes after the bucket's all-reduce.
  void join(int32_t bucket, CUstream stream);

  /// Waits for an event that may depend on other ranks. Throws failure if one
  /// of them fails, or nothing happens for as long as a wait may take.
  void wait(CUevent event);

private:
  /// Of one bucket: its parts are there; its sums are.
  struct Events {
    CUevent ready = nullptr, done = nullptr;
  };

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
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_NCCL_H

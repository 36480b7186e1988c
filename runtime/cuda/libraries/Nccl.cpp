// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/Nccl.h"

#include "runtime/abi/Shard.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"

#include <stdexcept>
#include <thread>

using namespace ingot::runtime;

static ncclDataType_t getType(int32_t type) {
  DType dtype = getDType(type);
  switch (dtype) {
  case DType::F64:
    return ncclFloat64;
  case DType::F32:
    return ncclFloat32;
  case DType::BF16:
    return ncclBfloat16;
  case DType::F16:
    return ncclFloat16;
  default:
    throw std::invalid_argument("NCCL does not take elements of type " +
                                std::string(getName(dtype)));
  }
}

Nccl::Nccl(const Driver &driver, Communicator &ranks, NcclMemory &memory)
    : driver(driver), ranks(ranks), memory(memory) {
#define INGOT_LOAD(name) memory.getLibrary().load(name, #name);
  INGOT_NCCL_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
  ncclUniqueId id{};
  if (ranks.getRank() == 0)
    check(ncclGetUniqueId(&id), "starting NCCL");
  ranks.broadcast(&id, sizeof(id), 0, "the address for NCCL");
  check(ncclCommInitRank(&communicator, static_cast<int>(ranks.getSize()), id,
                         static_cast<int>(ranks.getRank())),
        "connecting the GPUs");
  stream = driver.makeStream(Driver::Priority::Highest);
  note = memory.registerBlocks(communicator, ranks);
}

Nccl::~Nccl() {
  // This runs after failures as well, when another one makes no difference.
  if (communicator) {
    memory.deregisterBlocks(communicator);
    (void)ncclCommDestroy(communicator);
  }
  for (auto &[bucket, pair] : events)
    for (CUevent event : {pair.ready, pair.done})
      if (event)
        (void)driver.cuEventDestroy(event);
  if (stream)
    (void)driver.cuStreamDestroy(stream);
}

void Nccl::check(ncclResult_t result, const char *action) const {
  if (result != ncclSuccess && result != ncclInProgress)
    throw failure("NCCL",
                  std::string(action) + ": " + ncclGetErrorString(result),
                  "NCCL_DEBUG=WARN says more; see the other ranks' messages");
}

template <typename Exchange>
void Nccl::start(int32_t bucket, CUstream step, Exchange exchange) {
  Events &pair = events[bucket];
  for (CUevent *event : {&pair.ready, &pair.done})
    if (!*event)
      driver.check(driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
                   "making an event");
  driver.check(driver.cuEventRecord(pair.ready, step), "recording an event");
  driver.check(driver.cuStreamWaitEvent(stream, pair.ready, 0),
               "waiting for a bucket");
  exchange(reinterpret_cast<cudaStream_t>(stream));
  driver.check(driver.cuEventRecord(pair.done, stream), "recording an event");
  inFlight.insert(bucket);
}

template <typename Whole, typename Part>
void Nccl::exchangeShards(const Bucket &bucket, CUstream step, Whole whole,
                          Part part) {
  auto *data = static_cast<char *>(bucket.data);
  int64_t size = getSize(getDType(bucket.type)), count = ranks.getSize();
  int64_t each = getShard(bucket.elements, 0, count).getCount();
  start(bucket.number, step, [&](cudaStream_t stream) {
    if (each * count == bucket.elements)
      return check(whole(data + ranks.getRank() * each * size,
                         static_cast<size_t>(each), stream),
                   "exchanging shards");
    check(ncclGroupStart(), "exchanging shards");
    for (int64_t rank = 0; rank < count; ++rank) {
      ElementRange range = getShard(bucket.elements, rank, count);
      if (range.getCount() != 0)
        check(part(data + range.begin * size,
                   static_cast<size_t>(range.getCount()),
                   static_cast<int>(rank), stream),
              "exchanging shards");
    }
    check(ncclGroupEnd(), "exchanging shards");
  });
}

static ncclRedOp_t getOperator(int32_t reduction) {
  return reduction == INGOT_MAX   ? ncclMax
         : reduction == INGOT_MIN ? ncclMin
                                  : ncclSum;
}

void Nccl::startAllReduce(const Bucket &bucket, CUstream step) {
  start(bucket.number, step, [&](cudaStream_t stream) {
    check(ncclAllReduce(bucket.data, bucket.data,
                        static_cast<size_t>(bucket.elements),
                        getType(bucket.type), getOperator(bucket.reduction),
                        communicator, stream),
          "all-reduce");
  });
}

void Nccl::startReduceScatter(const Bucket &bucket, CUstream step) {
  ncclDataType_t type = getType(bucket.type);
  exchangeShards(
      bucket, step,
      [&](char *own, size_t each, cudaStream_t stream) {
        return ncclReduceScatter(bucket.data, own, each, type, ncclSum,
                                 communicator, stream);
      },
      [&](char *shard, size_t count, int rank, cudaStream_t stream) {
        return ncclReduce(shard, shard, count, type, ncclSum, rank,
                          communicator, stream);
      });
}

void Nccl::startAllGather(const Bucket &bucket, CUstream step) {
  ncclDataType_t type = getType(bucket.type);
  exchangeShards(
      bucket, step,
      [&](char *own, size_t each, cudaStream_t stream) {
        return ncclAllGather(own, bucket.data, each, type, communicator,
                             stream);
      },
      [&](char *shard, size_t count, int rank, cudaStream_t stream) {
        return ncclBroadcast(shard, shard, count, type, rank, communicator,
                             stream);
      });
}

void Nccl::startGather(const void *payload, void *payloads, int64_t bytes,
                       int32_t bucket, CUstream step) {
  start(bucket, step, [&](cudaStream_t stream) {
    check(ncclAllGather(payload, payloads, static_cast<size_t>(bytes), ncclInt8,
                        communicator, stream),
          "all-gather of payloads");
  });
}

void Nccl::startDeferred(CUstream step) {
  for (const Bucket &bucket : std::exchange(deferred, {}))
    startAllGather(bucket, step);
}

void Nccl::join(int32_t bucket, CUstream step) {
  if (inFlight.erase(bucket) != 0)
    driver.check(driver.cuStreamWaitEvent(step, events.at(bucket).done, 0),
                 "waiting for a bucket");
}

void Nccl::joinAll(CUstream step) {
  while (!inFlight.empty())
    join(*inFlight.begin(), step);
}

void Nccl::abandon(const std::string &problem) {
  (void)ncclCommAbort(communicator);
  communicator = nullptr;
  throw lostRank("rank " + std::to_string(ranks.getRank()), "NCCL: " + problem,
                 "see the messages of other ranks; NCCL_DEBUG=WARN says more");
}

std::string Nccl::wait(CUevent event) {
  constexpr auto pause = std::chrono::microseconds(50);
  auto start = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> interrupted;
  while (communicator && driver.cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
    if (asked != ncclSuccess ||
        (state != ncclSuccess && state != ncclInProgress))
      return ncclGetErrorString(asked != ncclSuccess ? asked : state);
    if (std::chrono::steady_clock::now() - start > ranks.getLimit())
      return "a step has not ended for " +
             std::to_string(ranks.getLimit().count()) + " s";
    // A launcher ends the other ranks when one has died.
    if (std::string problem =
            ranks.heedInterruption(interrupted, "the exchanges of a step");
        !problem.empty())
      return problem;
    std::this_thread::sleep_for(pause);
  }
  return "";
}

// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/libraries/Nccl.h"

#include "runtime/abi/Shard.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/DType.h"
#include "runtime/core/Error.h"

#include <cstdlib>
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
  case DType::U8:
    return ncclUint8;
  default:
    throw std::invalid_argument("NCCL does not take elements of type " +
                                std::string(getName(dtype)));
  }
}

Nccl::Nccl(const Driver &driver, Communicator &ranks, NcclMemory &memory)
    : driver(driver), ranks(ranks), memory(memory), nccl(memory.getLibrary()) {
  // The operations of two groups can wait for each other for ever unless all
  // ranks' GPUs begin them in the order in which the host starts them.
  (void)setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  stream = driver.makeStream(Driver::Priority::Highest);
}

Nccl::~Nccl() {
  // Operations that are under way end before their stream and events go.
  groups.clear();
  for (auto &[bucket, pair] : events)
    for (CUevent event : {pair.ready, pair.done})
      if (event)
        (void)driver.cuEventDestroy(event);
  if (stream)
    (void)driver.cuStreamDestroy(stream);
}

Communicator &Nccl::getRanks(int32_t axes) const {
  return axes == 0 ? ranks : ranks.getGroup(axes);
}

bool Nccl::isAlone(const Bucket &bucket) const {
  return ranks.getSize() > 1 && getRanks(bucket.axes).getSize() == 1;
}

NcclGroup &Nccl::getGroup(int32_t axes) {
  Communicator &wanted = getRanks(axes);
  for (auto &group : groups)
    if (&group->getRanks() == &wanted)
      return *group;
  groups.push_back(std::make_unique<NcclGroup>(nccl, wanted, memory));
  if (note.empty())
    note = groups.back()->getNote();
  return *groups.back();
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
void Nccl::exchangeShards(const Bucket &bucket, const NcclGroup &group,
                          Whole whole, Part part) {
  auto *data = static_cast<char *>(bucket.data);
  int64_t size = getSize(getDType(bucket.type));
  int64_t count = group.getRanks().getSize();
  int64_t each = getShard(bucket.elements, 0, count).getCount();
  if (each * count == bucket.elements)
    return nccl.check(whole(group.get(),
                            data + group.getRanks().getRank() * each * size,
                            static_cast<size_t>(each)),
                      "exchanging shards");
  nccl.check(nccl.ncclGroupStart(), "exchanging shards");
  for (int64_t rank = 0; rank < count; ++rank) {
    ElementRange range = getShard(bucket.elements, rank, count);
    if (range.getCount() != 0)
      nccl.check(part(group.get(), data + range.begin * size,
                      static_cast<size_t>(range.getCount()),
                      static_cast<int>(rank)),
                 "exchanging shards");
  }
  nccl.check(nccl.ncclGroupEnd(), "exchanging shards");
}

void Nccl::sumShard(const Bucket &bucket, const NcclGroup &shards,
                    const NcclGroup &across, cudaStream_t stream) {
  ElementRange own = getShard(bucket.elements, shards.getRanks().getRank(),
                              shards.getRanks().getSize());
  char *shard = static_cast<char *>(bucket.data) +
                own.begin * getSize(getDType(bucket.type));
  nccl.check(
      nccl.ncclAllReduce(shard, shard, static_cast<size_t>(own.getCount()),
                         getType(bucket.type), ncclSum, across.get(), stream),
      "all-reduce of shards");
}

static ncclRedOp_t getOperator(int32_t reduction) {
  return reduction == INGOT_MAX   ? ncclMax
         : reduction == INGOT_MIN ? ncclMin
                                  : ncclSum;
}

void Nccl::startAllReduce(const Bucket &bucket, CUstream step) {
  if (isAlone(bucket))
    return;
  NcclGroup &group = getGroup(bucket.axes);
  start(bucket.number, step, [&](cudaStream_t stream) {
    nccl.check(nccl.ncclAllReduce(
                   bucket.data, bucket.data,
                   static_cast<size_t>(bucket.elements), getType(bucket.type),
                   getOperator(bucket.reduction), group.get(), stream),
               "all-reduce");
  });
}

void Nccl::startReduceScatter(const Bucket &bucket, CUstream step) {
  if (isAlone(bucket))
    return;
  ncclDataType_t type = getType(bucket.type);
  const int32_t axis = RankMesh::getLastAxis(bucket.axes);
  const int32_t others = bucket.axes & ~axis;
  NcclGroup &shards = getGroup(axis);
  NcclGroup *across = others != 0 && getRanks(others).getSize() > 1
                          ? &getGroup(others)
                          : nullptr;
  start(bucket.number, step, [&](cudaStream_t stream) {
    exchangeShards(
        bucket, shards,
        [&](ncclComm_t group, char *own, size_t each) {
          return nccl.ncclReduceScatter(bucket.data, own, each, type, ncclSum,
                                        group, stream);
        },
        [&](ncclComm_t group, char *shard, size_t count, int rank) {
          return nccl.ncclReduce(shard, shard, count, type, ncclSum, rank,
                                 group, stream);
        });
    if (across)
      sumShard(bucket, shards, *across, stream);
  });
}

void Nccl::startAllGather(const Bucket &bucket, CUstream step) {
  if (isAlone(bucket))
    return;
  NcclGroup &shards = getGroup(bucket.axes);
  start(bucket.number, step, [&](cudaStream_t stream) {
    exchangeShards(
        bucket, shards,
        [&](ncclComm_t group, char *own, size_t each) {
          return nccl.ncclAllGather(own, bucket.data, each,
                                    getType(bucket.type), group, stream);
        },
        [&](ncclComm_t group, char *shard, size_t count, int rank) {
          return nccl.ncclBroadcast(shard, shard, count, getType(bucket.type),
                                    rank, group, stream);
        });
  });
}

void Nccl::startGather(const void *payload, void *payloads, int64_t bytes,
                       int32_t bucket, int32_t axes, CUstream step) {
  NcclGroup &group = getGroup(axes);
  start(bucket, step, [&](cudaStream_t stream) {
    nccl.check(nccl.ncclAllGather(payload, payloads, static_cast<size_t>(bytes),
                                  ncclInt8, group.get(), stream),
               "all-gather of payloads");
  });
}

void Nccl::allReduce(const void *input, void *result,
                     const ingot_exchange_desc &desc, CUstream step) {
  nccl.check(nccl.ncclAllReduce(input, result,
                                static_cast<size_t>(desc.elements),
                                getType(desc.type), getOperator(desc.reduction),
                                getGroup(desc.axes).get(),
                                reinterpret_cast<cudaStream_t>(step)),
             "all-reduce");
}

void Nccl::allGather(const void *input, void *result,
                     const ingot_exchange_desc &desc, CUstream step) {
  nccl.check(nccl.ncclAllGather(input, result,
                                static_cast<size_t>(desc.elements),
                                getType(desc.type), getGroup(desc.axes).get(),
                                reinterpret_cast<cudaStream_t>(step)),
             "all-gather");
}

void Nccl::reduceScatter(const void *input, void *result,
                         const ingot_exchange_desc &desc, CUstream step) {
  nccl.check(
      nccl.ncclReduceScatter(input, result, static_cast<size_t>(desc.elements),
                             getType(desc.type), getOperator(desc.reduction),
                             getGroup(desc.axes).get(),
                             reinterpret_cast<cudaStream_t>(step)),
      "reduce-scatter");
}

void Nccl::allToAll(const void *input, void *result,
                    const ingot_exchange_desc &desc, CUstream step) {
  constexpr const char *name = "all-to-all";
  ncclComm_t group = getGroup(desc.axes).get();
  auto *stream = reinterpret_cast<cudaStream_t>(step);
  const ncclDataType_t type = getType(desc.type);
  const int64_t bytes = desc.elements * getSize(getDType(desc.type));
  nccl.check(nccl.ncclGroupStart(), name);
  for (int64_t rank = 0; rank < desc.ranks; ++rank) {
    nccl.check(nccl.ncclSend(static_cast<const char *>(input) + rank * bytes,
                             static_cast<size_t>(desc.elements), type,
                             static_cast<int>(rank), group, stream),
               name);
    nccl.check(nccl.ncclRecv(static_cast<char *>(result) + rank * bytes,
                             static_cast<size_t>(desc.elements), type,
                             static_cast<int>(rank), group, stream),
               name);
  }
  nccl.check(nccl.ncclGroupEnd(), name);
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
  for (auto &group : groups)
    group->abort();
  throw lostRank("rank " + std::to_string(ranks.getRank()), "NCCL: " + problem,
                 "see the messages of other ranks; NCCL_DEBUG=WARN says more");
}

std::string Nccl::wait(CUevent event) {
  constexpr auto pause = std::chrono::microseconds(50);
  auto start = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> interrupted;
  while (!groups.empty() &&
         driver.cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
    for (auto &group : groups)
      if (std::string problem = group->findProblem(); !problem.empty())
        return problem;
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

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libnccl (Fakes.h): one rank's side of it.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/numbers/Exchange.h"

#include <chrono>
#include <cuda.h>
#include <map>
#include <memory>
#include <nccl.h>
#include <string>
#include <thread>
#include <vector>

using fakes::record;

using fakes::Exchange;
using fakes::ExchangeKind;

/// Each with its exchanges, where they are computed. Work that is under way
/// outlives its communicator.
static std::map<ncclComm_t, std::shared_ptr<Exchange>> living;

namespace {
/// Memory of ncclMemAlloc, which other GPUs can map.
std::map<const char *, size_t> allocated;

/// A block that is registered with a communicator.
struct Registered {
  ncclComm_t communicator;
  const char *begin;
  size_t bytes;
  bool isWindow;
};
std::map<const void *, Registered> registered;

/// NCCL_WIN_REQUIRED_ALIGNMENT of later headers.
constexpr uintptr_t kWindowAlignment = 4096;

bool isCapturing() {
  auto ask = fakes::findInDriver<fakes::AskWhether>("ingotFakeIsCapturing");
  return ask && ask();
}

/// Where memory is in the block that holds it; -1 if none is registered.
int64_t findPlace(ncclComm_t communicator, const void *place) {
  auto *byte = static_cast<const char *>(place);
  for (const auto &[handle, block] : registered)
    if (block.communicator == communicator && byte >= block.begin &&
        byte < block.begin + block.bytes)
      return byte - block.begin;
  return -1;
}

/// Registers a block. `what` is the function.
ncclResult_t addBlock(const char *what, ncclComm_t communicator, void *place,
                      size_t bytes, void **handle, bool isWindow) {
  auto isOnDevice =
      fakes::findInDriver<fakes::IsOnDevice>("ingotFakeIsOnDevice");
  if (isCapturing())
    record("violation", " %s: a stream is captured", what);
  if (bytes == 0 || (isOnDevice && !isOnDevice(place, bytes)))
    record("violation", " %s: the memory is not on the GPU", what);
  if (findPlace(communicator, place) >= 0)
    record("violation", " %s: the memory is registered already", what);
  *handle = new char;
  registered[*handle] = {communicator, static_cast<const char *>(place), bytes,
                         isWindow};
  return ncclSuccess;
}

ncclResult_t removeBlock(const char *what, ncclComm_t communicator,
                         const void *handle, bool isWindow) {
  auto found = registered.find(handle);
  if (found == registered.end() || found->second.communicator != communicator ||
      found->second.isWindow != isWindow) {
    record("violation", " %s: no such registration", what);
    return ncclInvalidArgument;
  }
  registered.erase(found);
  delete static_cast<const char *>(handle);
  return ncclSuccess;
}
} // namespace

/// Puts an exchange into a stream.
static void submit(ncclComm_t communicator, cudaStream_t stream,
                   const Exchange::Call &call) {
  auto found = living.find(communicator);
  if (found == living.end() || !found->second)
    return;
  fakes::submitWork(stream, [exchange = found->second,
                             call = Exchange::Call(call)]() mutable {
    return exchange->run(call);
  });
}

/// Whether an operation may use the communicator, which the graph that is being
/// captured then refers to.
static bool use(ncclComm_t communicator) {
  if (auto hold = fakes::findInDriver<fakes::HoldObject>("ingotFakeHold"))
    hold(communicator);
  return living.count(communicator) != 0;
}

namespace {
/// A message of the group of calls that is open.
struct Message {
  const char *data;
  size_t elements;
  ncclDataType_t type;
  int peer;
  ncclComm_t communicator;
  cudaStream_t stream;
};
std::vector<Message> sent, received;
} // namespace

static ncclResult_t addMessage(const char *function,
                               std::vector<Message> &messages,
                               const Message &message) {
  if (!use(message.communicator) || !message.stream)
    record("violation", " %s of wrong arguments", function);
  if (record(function, " elements=%zu peer=%d", message.elements, message.peer))
    return ncclRemoteError;
  messages.push_back(message);
  return ncclSuccess;
}

/// Returns whether messages are equal parts of a tensor, one for each rank.
static bool areParts(const std::vector<Message> &messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message &first = messages.front(), &message = messages[i];
    size_t bytes = first.elements * Exchange::getSize(first.type);
    if (message.data != first.data + i * bytes ||
        message.elements != first.elements || message.type != first.type ||
        message.peer != static_cast<int>(i) ||
        message.communicator != first.communicator ||
        message.stream != first.stream)
      return false;
  }
  return true;
}

/// The only messages that trainers send are those of an all-to-all.
static void submitAllToAll() {
  if (sent.empty() || sent.size() != received.size() || !areParts(sent) ||
      !areParts(received)) {
    record("violation", " messages that are no all-to-all");
    return;
  }
  const Message &first = sent.front();
  submit(first.communicator, first.stream,
         {{ExchangeKind::AllToAll, static_cast<int64_t>(first.elements),
           first.type, 0, findPlace(first.communicator, first.data)},
          first.data,
          const_cast<char *>(received.front().data)});
}

static ncclResult_t finish(const char *function, ncclComm_t communicator) {
  // An abort drops what is registered.
  for (auto at = registered.begin(); at != registered.end();) {
    bool isItsOwn = at->second.communicator == communicator;
    if (isItsOwn && std::string_view(function) == "ncclCommDestroy")
      record("violation", " %s: memory is registered", function);
    at = isItsOwn ? registered.erase(at) : std::next(at);
  }
  if (auto found = living.find(communicator);
      found != living.end() && found->second)
    found->second->abort();
  bool lived = living.erase(communicator) != 0;
  record(function);
  if (!lived)
    record("violation", " an NCCL communicator is destroyed twice");
  // The library polls until the last of these graphs is gone.
  auto count =
      fakes::findInDriver<fakes::CountHolders>("ingotFakeCountHolders");
  if (count && count(communicator) != 0)
    record("violation", " %s waits for ever for %zu graphs", function,
           count(communicator));
  return lived ? ncclSuccess : ncclInvalidArgument;
}

extern "C" {

const char *ncclGetErrorString(ncclResult_t) { return "as the test wants"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::memset(id, 0, sizeof(*id));
  id->internal[0] = 7;
  std::string name = Exchange::makeName();
  std::memcpy(id->internal + 1, name.c_str(), name.size());
  return record(__func__) ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version) {
  *version =
      static_cast<int>(fakes::getSetting("INGOT_FAKE_NCCL_VERSION", 23007));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks,
                              ncclUniqueId id, int rank) {
  if (record(__func__, " rank=%d of=%d", rank, ranks))
    return ncclSystemError;
  // Before version 2.30, and where this is not asked for, a GPU is one rank's.
  const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  int version = 0;
  (void)ncclGetVersion(&version);
  constexpr int firstToShare = 23000;
  if (ranks > fakes::getSetting("INGOT_FAKE_GPUS", 1) &&
      (version < firstToShare || !shares || std::string(shares) != "1"))
    return ncclInvalidUsage;
  if (id.internal[0] != 7)
    record("violation", " the ranks have different ids");
  *communicator = reinterpret_cast<ncclComm_t>(new char);
  living[*communicator] =
      fakes::computes()
          ? std::make_shared<Exchange>(id.internal + 1, rank, ranks)
          : nullptr;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return finish(__func__, communicator);
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return finish(__func__, communicator);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *error) {
  *error = record(__func__) ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void **place, size_t bytes) {
  if (record(__func__, " bytes=%zu", bytes))
    return ncclUnhandledCudaError;
  auto allocate =
      fakes::findInDriver<CUresult (*)(CUdeviceptr *, size_t)>("cuMemAlloc_v2");
  CUdeviceptr block = 0;
  if (allocate(&block, bytes) != CUDA_SUCCESS)
    return ncclUnhandledCudaError;
  *place = reinterpret_cast<void *>(block);
  allocated[static_cast<const char *>(*place)] = bytes;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *place) {
  record(__func__);
  if (allocated.erase(static_cast<const char *>(place)) == 0) {
    record("violation",
           " ncclMemFree: memory that ncclMemAlloc did not return");
    return ncclInvalidArgument;
  }
  for (const auto &[handle, block] : registered)
    if (block.begin == place)
      record("violation", " ncclMemFree: the memory is registered");
  fakes::findInDriver<CUresult (*)(CUdeviceptr)>("cuMemFree_v2")(
      reinterpret_cast<CUdeviceptr>(place));
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t communicator, void *place,
                              size_t bytes, void **handle) {
  if (!use(communicator))
    record("violation", " ncclCommRegister: no communicator");
  if (record(__func__, " bytes=%zu", bytes))
    return ncclUnhandledCudaError;
  return addBlock(__func__, communicator, place, bytes, handle,
                  /*isWindow=*/false);
}

ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void *handle) {
  record(__func__);
  return removeBlock(__func__, communicator, handle, /*isWindow=*/false);
}

ncclResult_t ncclCommWindowRegister(ncclComm_t communicator, void *place,
                                    size_t bytes, ncclWindow_t *window,
                                    int flags) {
  if (!use(communicator))
    record("violation", " ncclCommWindowRegister: no communicator");
  if (record(__func__, " bytes=%zu", bytes))
    return ncclInvalidUsage;
  if (reinterpret_cast<uintptr_t>(place) % kWindowAlignment != 0)
    record("violation", " ncclCommWindowRegister: the alignment");
  auto block = allocated.find(static_cast<const char *>(place));
  if (block == allocated.end() || block->second < bytes)
    record("violation", " ncclCommWindowRegister: not of ncclMemAlloc");
  if (flags != NCCL_WIN_COLL_SYMMETRIC)
    record("violation", " ncclCommWindowRegister: not symmetric");
  // All ranks take part, with as many bytes.
  if (auto &exchange = living.at(communicator)) {
    Exchange::Call call = {
        {ExchangeKind::Window, static_cast<int64_t>(bytes), ncclInt8, 0},
        nullptr,
        nullptr};
    while (!exchange->run(call))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  *window = nullptr;
  // Windows are none where GPUs cannot access each other's memory.
  if (fakes::getSetting("INGOT_FAKE_NO_WINDOWS", 0))
    return ncclSuccess;
  return addBlock(__func__, communicator, place, bytes,
                  reinterpret_cast<void **>(window), /*isWindow=*/true);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t communicator,
                                      ncclWindow_t window) {
  record(__func__);
  return removeBlock(__func__, communicator, window, /*isWindow=*/true);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t elements,
                           ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream) {
  auto gap = static_cast<const char *>(to) - static_cast<const char *>(from);
  bool overlaps = gap != 0 && static_cast<size_t>(std::abs(gap)) <
                                  elements * Exchange::getSize(type);
  if (!use(communicator) || overlaps ||
      (op != ncclSum && op != ncclMax && op != ncclMin) || !stream)
    record("violation", " all-reduce of wrong arguments");
  if (record(__func__, " elements=%zu type=%d stream=%p", elements,
             static_cast<int>(type), static_cast<void *>(stream)))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::AllReduce, static_cast<int64_t>(elements), type, 0,
           findPlace(communicator, to), op},
          from,
          to});
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  return record(__func__) ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (record(__func__))
    return ncclSystemError;
  if (!sent.empty() || !received.empty())
    submitAllToAll();
  sent.clear();
  received.clear();
  return ncclSuccess;
}

ncclResult_t ncclSend(const void *from, size_t elements, ncclDataType_t type,
                      int peer, ncclComm_t communicator, cudaStream_t stream) {
  return addMessage(__func__, sent,
                    {static_cast<const char *>(from), elements, type, peer,
                     communicator, stream});
}

ncclResult_t ncclRecv(void *to, size_t elements, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return addMessage(
      __func__, received,
      {static_cast<char *>(to), elements, type, peer, communicator, stream});
}

ncclResult_t ncclReduce(const void *from, void *to, size_t elements,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  if (!use(communicator) || from != to || op != ncclSum || !stream)
    record("violation", " reduce of wrong arguments");
  if (record(__func__, " elements=%zu root=%d", elements, root))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::Reduce, static_cast<int64_t>(elements), type, root,
           findPlace(communicator, to)},
          from,
          to});
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t elements,
                           ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (!use(communicator) || from != to || !stream)
    record("violation", " broadcast of wrong arguments");
  if (record(__func__, " elements=%zu root=%d", elements, root))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::Broadcast, static_cast<int64_t>(elements), type, root,
           findPlace(communicator, to)},
          from,
          to});
  return ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t elements,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t communicator, cudaStream_t stream) {
  if (!use(communicator) || (op != ncclSum && op != ncclMax && op != ncclMin) ||
      !stream)
    record("violation", " reduce-scatter of wrong arguments");
  if (record(__func__, " elements=%zu", elements))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::ReduceScatter, static_cast<int64_t>(elements), type, 0,
           findPlace(communicator, from), op},
          from,
          to});
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t elements,
                           ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  if (!use(communicator) || !stream)
    record("violation", " all-gather of wrong arguments");
  if (record(__func__, " elements=%zu", elements))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::AllGather, static_cast<int64_t>(elements), type, 0,
           findPlace(communicator, to)},
          from,
          to});
  return ncclSuccess;
}

} // extern "C"

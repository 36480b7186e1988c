// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libnccl (Fakes.h): one rank's side of it.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/numbers/Exchange.h"

#include <map>
#include <memory>
#include <nccl.h>
#include <string>

using fakes::record;

using fakes::Exchange;
using fakes::ExchangeKind;

/// Each with its exchanges, where they are computed. Work that is under way
/// outlives its communicator.
static std::map<ncclComm_t, std::shared_ptr<Exchange>> living;

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

static ncclResult_t finish(const char *function, ncclComm_t communicator) {
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

ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks,
                              ncclUniqueId id, int rank) {
  if (record(__func__, " rank=%d of=%d", rank, ranks))
    return ncclSystemError;
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

ncclResult_t ncclAllReduce(const void *from, void *to, size_t elements,
                           ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (!use(communicator) || from != to || op != ncclSum || !stream)
    record("violation", " all-reduce of wrong arguments");
  if (record(__func__, " elements=%zu type=%d stream=%p", elements,
             static_cast<int>(type), static_cast<void *>(stream)))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::AllReduce, static_cast<int64_t>(elements), type, 0},
          from,
          to});
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  return record(__func__) ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return record(__func__) ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclReduce(const void *from, void *to, size_t elements,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  if (!use(communicator) || from != to || op != ncclSum || !stream)
    record("violation", " reduce of wrong arguments");
  if (record(__func__, " elements=%zu root=%d", elements, root))
    return ncclRemoteError;
  submit(communicator, stream,
         {{ExchangeKind::Reduce, static_cast<int64_t>(elements), type, root},
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
         {{ExchangeKind::Broadcast, static_cast<int64_t>(elements), type, root},
          from,
          to});
  return ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t elements,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t communicator, cudaStream_t stream) {
  if (!use(communicator) || op != ncclSum || !stream)
    record("violation", " reduce-scatter of wrong arguments");
  if (record(__func__, " elements=%zu", elements))
    return ncclRemoteError;
  submit(
      communicator, stream,
      {{ExchangeKind::ReduceScatter, static_cast<int64_t>(elements), type, 0},
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
         {{ExchangeKind::AllGather, static_cast<int64_t>(elements), type, 0},
          from,
          to});
  return ncclSuccess;
}

} // extern "C"

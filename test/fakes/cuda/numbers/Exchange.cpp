// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/numbers/Exchange.h"

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/numbers/Elements.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace fakes;

/// The state of a rank that the others see.
struct Exchange::Seat {
  /// The last calls that it has given its data for, and has received.
  std::atomic<int64_t> given, received;
  std::atomic<int64_t> isThere;
  ExchangeKind kind;
};

/// The memory of a rank is touched as far as it is used.
static constexpr int64_t kHead = 4096, kMost = int64_t(1) << 28;

int64_t Exchange::getSize(int64_t type) {
  return type == ncclFloat64                     ? 8
         : type == ncclFloat32                   ? 4
         : type == ncclInt8 || type == ncclUint8 ? 1
                                                 : 2;
}

static Element getElement(int64_t type) {
  return type == ncclFloat64   ? Element::F64
         : type == ncclFloat32 ? Element::F32
         : type == ncclFloat16 ? Element::F16
                               : Element::BF16;
}

std::string Exchange::makeName() {
  static int count = 0;
  return "/ingot-nccl-" + std::to_string(getpid()) + "-" +
         std::to_string(++count);
}

Exchange::Exchange(const std::string &name, int rank, int ranks)
    : rank(rank), ranks(ranks) {
  int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  int64_t bytes = ranks * (kHead + kMost);
  if (file < 0 || ftruncate(file, bytes) != 0) {
    record("violation", " NCCL: no shared memory");
    return;
  }
  memory = static_cast<char *>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  getSeat(rank).isThere = 1;
  for (int other = 0; other < ranks; ++other)
    while (getSeat(other).isThere == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  (void)shm_unlink(name.c_str());
}

Exchange::~Exchange() {
  if (memory)
    munmap(memory, ranks * (kHead + kMost));
}

Exchange::Seat &Exchange::getSeat(int of) const {
  return *reinterpret_cast<Seat *>(memory + of * (kHead + kMost));
}
char *Exchange::getData(int of) const {
  return memory + of * (kHead + kMost) + kHead;
}

static const char *getName(const ExchangeKind &kind) {
  static const char *names[] = {"ncclAllReduce",         "ncclReduceScatter",
                                "ncclAllGather",         "ncclReduce",
                                "ncclBroadcast",         "ncclSend",
                                "ncclCommWindowRegister"};
  return names[kind.name];
}

bool Exchange::run(Call &call) {
  if (isAborted)
    return true;
  Seat &own = getSeat(rank);
  if (!call.isGiven) {
    // The last call's data are still being read.
    for (int other = 0; other < ranks; ++other)
      if (getSeat(other).received < count)
        return false;
    bool givesParts = call.kind.name == ExchangeKind::ReduceScatter ||
                      call.kind.name == ExchangeKind::AllToAll;
    int64_t elements = call.kind.elements * (givesParts ? ranks : 1);
    int64_t bytes = elements * getSize(call.kind.type);
    if (call.kind.name == ExchangeKind::Window)
      bytes = 0;
    if (bytes > kMost) {
      record("violation", " NCCL: more than the fake can take");
      return true;
    }
    noteAccess(getName(call.kind), call.from, bytes, /*isWritten=*/false);
    std::memcpy(getData(rank), call.from, bytes);
    own.kind = call.kind;
    own.given = ++count;
    call.isGiven = true;
  }
  for (int other = 0; other < ranks; ++other)
    if (getSeat(other).given < count)
      return false;
  for (int other = 0; other < ranks; ++other)
    if (const ExchangeKind &kind = getSeat(other).kind; kind != call.kind) {
      if (!hasComplained) {
        record("violation", " rank %d calls %s, rank %d %s", rank,
               getName(call.kind), other, getName(kind));
        std::fprintf(stderr,
                     "software GPU: rank %d calls %s of %lld elements at %lld, "
                     "rank %d %s of %lld at %lld\n",
                     rank, getName(call.kind),
                     static_cast<long long>(call.kind.elements),
                     static_cast<long long>(call.kind.place), other,
                     getName(kind), static_cast<long long>(kind.elements),
                     static_cast<long long>(kind.place));
      }
      hasComplained = true;
      return false;
    }
  receive(call);
  own.received = count;
  return true;
}

/// NCCL's largest and smallest leave NaN out.
static double combine(double x, double y, int64_t operation) {
  return operation == ncclMax   ? std::fmax(x, y)
         : operation == ncclMin ? std::fmin(x, y)
                                : x + y;
}

void Exchange::receive(const Call &call) const {
  const ExchangeKind &kind = call.kind;
  int64_t size = getSize(kind.type), bytes = kind.elements * size;
  auto *to = static_cast<char *>(call.to);
  if (kind.name == ExchangeKind::Window)
    return;
  bool isReceiver = kind.name != ExchangeKind::Reduce || rank == kind.root;
  if (isReceiver)
    noteAccess(getName(kind), to,
               kind.name == ExchangeKind::AllGather ||
                       kind.name == ExchangeKind::AllToAll
                   ? ranks * bytes
                   : bytes,
               /*isWritten=*/true);
  if (kind.name == ExchangeKind::AllGather) {
    for (int other = 0; other < ranks; ++other)
      std::memcpy(to + other * bytes, getData(other), bytes);
    return;
  }
  if (kind.name == ExchangeKind::AllToAll) {
    for (int other = 0; other < ranks; ++other)
      std::memcpy(to + other * bytes, getData(other) + rank * bytes, bytes);
    return;
  }
  if (kind.name == ExchangeKind::Broadcast) {
    std::memcpy(to, getData(static_cast<int>(kind.root)), bytes);
    return;
  }
  if (!isReceiver)
    return;
  int64_t first =
      kind.name == ExchangeKind::ReduceScatter ? rank * kind.elements : 0;
  Element element = getElement(kind.type);
  for (int64_t i = 0; i < kind.elements; ++i) {
    double all = load(getData(0), first + i, element);
    for (int other = 1; other < ranks; ++other)
      all = combine(all, load(getData(other), first + i, element),
                    kind.operation);
    store(to, i, element, all);
  }
}

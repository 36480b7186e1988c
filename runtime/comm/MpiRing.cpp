// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/MpiRing.h"

#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

using namespace ingot::runtime;
namespace abi = ingot::abi;

void ingot::runtime::checkMpi(int status) {
  if (status == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string(text, length));
}

StagingPool::Block StagingPool::take() {
  if (idle.empty())
    return Block(MpiRing::kChunkBytes * MpiRing::kWindow);
  Block block = std::move(idle.back());
  idle.pop_back();
  return block;
}

void StagingPool::give(Block block) { idle.push_back(std::move(block)); }

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

template <typename T>
static void addAs(const char *addend, char *sum, int64_t count) {
  auto *from = reinterpret_cast<const T *>(addend);
  auto *to = reinterpret_cast<T *>(sum);
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

/// Adds elements of a 16-bit type in f32, and rounds the sums.
static void addHalves(const char *addend, char *sum, int64_t count,
                      DType type) {
  constexpr int64_t kBlock = 512;
  int32_t code = getAbiType(type);
  float left[kBlock], right[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    int64_t block = std::min(kBlock, count - first);
    int64_t offset = first * getSize(type);
    widenToF32(addend + offset, code, left, block);
    widenToF32(sum + offset, code, right, block);
    for (int64_t i = 0; i < block; ++i)
      right[i] += left[i];
    roundFromF32(right, sum + offset, code, block);
  }
}

void ingot::runtime::addElements(const char *addend, char *sum, int64_t count,
                                 DType type) {
  switch (type) {
  case DType::F32:
    return addAs<float>(addend, sum, count);
  case DType::F64:
    return addAs<double>(addend, sum, count);
  case DType::I64:
    return addAs<int64_t>(addend, sum, count);
  case DType::I32:
    return addAs<int32_t>(addend, sum, count);
  case DType::BF16:
  case DType::F16:
    return addHalves(addend, sum, count, type);
  default:
    throw std::runtime_error("no sum over ranks of this element type");
  }
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

MpiRing::MpiRing(MPI_Comm ranks, int tag, Part part, void *data,
                 int64_t elements, DType type, StagingPool &pool)
    : ranks(ranks), tag(tag), data(static_cast<char *>(data)),
      elements(elements), type(type), pool(pool) {
  checkMpi(MPI_Comm_rank(ranks, &rank));
  checkMpi(MPI_Comm_size(ranks, &size));
  int64_t shardBytes =
      getShard(elements, 0, size).getCount() * ingot::runtime::getSize(type);
  chunks = std::max<int64_t>(1, abi::divideCeil(shardBytes, kChunkBytes));
  int64_t half = (size - 1) * chunks;
  reduceMessages = part == Part::Gather ? 0 : half;
  messages = reduceMessages + (part == Part::Reduce ? 0 : half);
  if (reduceMessages > 0)
    staging = pool.take();
  receives.fill(MPI_REQUEST_NULL);
  sends.fill(MPI_REQUEST_NULL);
}

MpiRing::~MpiRing() {
  if (!staging.empty())
    pool.give(std::move(staging));
}

MpiRing::Chunk MpiRing::getChunk(int64_t shard, int64_t index) const {
  ElementRange range = getShard(elements, (shard + 2 * size) % size, size);
  // Chunks consist of whole cache lines.
  constexpr int64_t unit = INGOT_SHARD_ELEMENTS;
  int64_t units = abi::divideCeil(range.getCount(), unit);
  auto bound = [&](int64_t of) {
    return std::min(range.end, range.begin + units * of / chunks * unit);
  };
  int64_t begin = bound(index);
  return {data + begin * ingot::runtime::getSize(type),
          bound(index + 1) - begin};
}

/// The sum of a shard starts at the rank after its owner and ends at the owner,
/// from which the shard is passed around the ring.
MpiRing::Chunk MpiRing::getSent(int64_t index) const {
  int64_t step = index / chunks;
  int64_t shard = isSummed(index) ? rank - 1 - step
                                  : rank - (step - reduceMessages / chunks);
  return getChunk(shard, index % chunks);
}

MpiRing::Chunk MpiRing::getReceived(int64_t index) const {
  int64_t step = index / chunks;
  int64_t shard = isSummed(index) ? rank - 2 - step
                                  : rank - 1 - (step - reduceMessages / chunks);
  return getChunk(shard, index % chunks);
}

char *MpiRing::getStaging(int64_t index) {
  return staging.data() + index % kWindow * kChunkBytes;
}

int MpiRing::getBytes(const Chunk &chunk) const {
  return static_cast<int>(chunk.elements * ingot::runtime::getSize(type));
}

static bool isDone(MPI_Request &request) {
  int done = 0;
  checkMpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

bool MpiRing::advanceReceives() {
  // The chunk that a gathered one overwrites was sent in the reduction.
  while (posted < std::min(messages, received + kWindow) &&
         (isSummed(posted) || posted - reduceMessages < sent ||
          reduceMessages == 0)) {
    Chunk chunk = getReceived(posted);
    char *to = isSummed(posted) ? getStaging(posted) : chunk.data;
    checkMpi(MPI_Irecv(to, getBytes(chunk), MPI_BYTE, (rank + size - 1) % size,
                       tag, ranks, &receives[posted % kWindow]));
    ++posted;
  }
  int64_t before = received;
  for (; received < posted && isDone(receives[received % kWindow]);
       ++received) {
    Chunk chunk = getReceived(received);
    if (isSummed(received))
      addElements(getStaging(received), chunk.data, chunk.elements, type);
  }
  return received != before;
}

bool MpiRing::advanceSends() {
  // A rank sends what it has received, except for its first chunks.
  while (started < std::min(messages, sent + kWindow) &&
         started - chunks < received) {
    Chunk chunk = getSent(started);
    checkMpi(MPI_Isend(chunk.data, getBytes(chunk), MPI_BYTE, (rank + 1) % size,
                       tag, ranks, &sends[started % kWindow]));
    ++started;
  }
  int64_t before = sent;
  while (sent < started && isDone(sends[sent % kWindow]))
    ++sent;
  return sent != before;
}

bool MpiRing::test() {
  bool any = true;
  while (any) {
    any = advanceReceives();
    any |= advanceSends();
  }
  return received == messages && sent == messages;
}

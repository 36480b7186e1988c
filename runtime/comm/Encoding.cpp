// SPDX-License-Identifier: Apache-2.0

#include "runtime/comm/Encoding.h"

#include "runtime/abi/Payload.h"
#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

using namespace ingot::runtime;
using ingot::abi::Int8Block;
using ingot::abi::TopKElement;
namespace abi = ingot::abi;

namespace {
constexpr int64_t kBlock = INGOT_INT8_BLOCK;
/// The fewest blocks that are worth a thread.
constexpr int64_t kBlockGrain = 256;
} // namespace

/// A number that grows with the magnitude of a value; NaN is above infinity.
static uint32_t getMagnitude(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7FFFFFFF;
}

static float getScale(const float *block, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, getMagnitude(block[i]));
  return std::bit_cast<float>(largest) / 127;
}

/// The reciprocal of a scale; 0 where it is too small to divide by, or not
/// finite.
static float invert(float scale) {
  return scale >= FLT_MIN && scale <= FLT_MAX ? 1 / scale : 0;
}

Encoding::Encoding(int32_t compression, int64_t elements, int64_t k)
    : compression(compression), elements(elements), k(k) {}

int64_t Encoding::getPayloadBytes() const {
  return abi::getPayloadBytes(compression, elements, k);
}

/// Calls `body(block, first, count)` for each block of elements.
template <typename Body>
static void forEachBlock(int64_t elements, const Body &body) {
  int64_t blocks = abi::divideCeil(elements, kBlock);
  parallelFor(blocks, kBlockGrain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      int64_t first = block * kBlock;
      body(block, first, std::min(kBlock, elements - first));
    }
  });
}

void Encoding::approximate(const float *from, float *to) const {
  if (compression == INGOT_TOPK)
    return keepLargest(from, to);
  forEachBlock(elements, [=](int64_t, int64_t first, int64_t count) {
    float scale = getScale(from + first, count), inverse = invert(scale);
    for (int64_t i = first; i < first + count; ++i)
      to[i] = std::nearbyint(from[i] * inverse) * scale;
  });
}

/// Counts magnitudes by their upper, then by their lower 16 bits, which gives
/// the smallest one that is kept without sorting.
void Encoding::keepLargest(const float *from, float *to) const {
  constexpr int64_t kinds = 1 << 16;
  auto findLast = [&](int64_t wanted, auto classify) {
    std::vector<int64_t> counts(kinds);
    for (int64_t i = 0; i < elements; ++i)
      if (int64_t kind = classify(getMagnitude(from[i])); kind >= 0)
        ++counts[kind];
    int64_t kind = kinds - 1;
    for (; kind > 0 && counts[kind] < wanted; --kind)
      wanted -= counts[kind];
    return std::pair(kind, wanted);
  };
  auto [upper, rest] = findLast(
      k, [](uint32_t magnitude) -> int64_t { return magnitude >> 16; });
  auto [lower, ties] = findLast(rest, [&](uint32_t magnitude) -> int64_t {
    return magnitude >> 16 == upper ? int64_t(magnitude & 0xFFFF) : -1;
  });
  // Of equal magnitudes the first ones are kept.
  auto last = static_cast<uint32_t>(upper << 16 | lower);
  int64_t left = ties;
  for (int64_t i = 0; i < elements; ++i) {
    uint32_t magnitude = getMagnitude(from[i]);
    bool isKept = magnitude > last || (magnitude == last && left-- > 0);
    to[i] = isKept ? from[i] : 0;
  }
}

void Encoding::encode(const float *from, char *payload) const {
  if (compression == INGOT_TOPK) {
    auto *out = reinterpret_cast<TopKElement *>(payload);
    auto *end = out + k;
    for (int64_t i = 0; i < elements && out != end; ++i)
      // This keeps NaN, which is not equal to 0.
      if (from[i] != 0)
        *out++ = {static_cast<uint32_t>(i), from[i]};
    std::fill(out, end, TopKElement{0, 0.0f});
    return;
  }
  auto *out = reinterpret_cast<Int8Block *>(payload);
  forEachBlock(elements, [=](int64_t block, int64_t first, int64_t count) {
    float scale = getScale(from + first, count), inverse = invert(scale);
    out[block].scale = scale;
    for (int64_t i = 0; i < count; ++i)
      // A scale that is NaN has no reciprocal, and NaN is no integer.
      out[block].values[i] =
          inverse == 0
              ? 0
              : static_cast<int8_t>(std::nearbyint(from[first + i] * inverse));
    std::fill(out[block].values + count, out[block].values + kBlock, 0);
  });
}

void Encoding::decode(const char *payloads, int64_t count, float *sum) const {
  int64_t bytes = getPayloadBytes();
  if (compression == INGOT_TOPK) {
    std::memset(sum, 0, elements * sizeof(float));
    for (int64_t payload = 0; payload < count; ++payload) {
      auto *kepts =
          reinterpret_cast<const TopKElement *>(payloads + payload * bytes);
      for (int64_t i = 0; i < k; ++i)
        sum[kepts[i].index] += kepts[i].value;
    }
    return;
  }
  forEachBlock(elements, [=](int64_t block, int64_t first, int64_t size) {
    float *to = sum + first;
    std::fill(to, to + size, 0.0f);
    for (int64_t payload = 0; payload < count; ++payload) {
      const Int8Block &from = reinterpret_cast<const Int8Block *>(
          payloads + payload * bytes)[block];
      for (int64_t i = 0; i < size; ++i)
        to[i] += static_cast<float>(from.values[i]) * from.scale;
    }
  });
}

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// V. Gopal, E. Ozturk, J. Guilford et al.: Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction. Intel, 2009.
//
// A message is a polynomial over GF(2), of which the checksum is the remainder
// modulo P of degree 32. A block of 128 bits that is n bits before another one
// may be replaced by its product with x^n mod P, added to the other: long
// messages fold into 16 bytes with the same remainder, which tables finish.
// Bits are reflected: the lowest bit of the first byte is the highest
// coefficient.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/files/Crc32.h"

#include "runtime/core/machine/Features.h"

#include <array>
#include <cstring>
#include <string>

#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#endif

using namespace ingot::runtime;

/// P without its highest coefficient, reflected.
static constexpr uint32_t kPolynomial = 0xedb88320;

/// Returns the product of x and a reflected polynomial, mod P.
static constexpr uint32_t shift(uint32_t value) {
  return (value >> 1) ^ (value & 1 ? kPolynomial : 0);
}

/// The remainders of each byte that zero to seven others follow.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

static constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (std::array<uint32_t, 256> &table : tables) {
      for (int bit = 0; bit < 8; ++bit)
        value = shift(value);
      table[byte] = value;
    }
  }
  return tables;
}

static uint32_t computeByTables(std::string_view bytes, uint32_t crc) {
  static constexpr Tables tables = makeTables();
  crc = ~crc;
  uint64_t word;
  for (; bytes.size() >= sizeof(word); bytes.remove_prefix(sizeof(word))) {
    std::memcpy(&word, bytes.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < sizeof(word); ++i)
      crc ^= tables[7 - i][word >> (8 * i) & 0xff];
  }
  for (char byte : bytes)
    crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

#ifdef __x86_64__

/// Returns x^n mod P, reflected. The product of two reflected polynomials is
/// one bit lower than that of others, hence the shift.
static constexpr uint64_t getPower(int n) {
  uint32_t power = uint32_t(1) << 31;
  for (int i = 0; i < n; ++i)
    power = shift(power);
  return static_cast<uint64_t>(power) << 1;
}

// As in the paper.
static_assert(getPower(4 * 128 + 32) == 0x154442bd4);
static_assert(getPower(4 * 128 - 32) == 0x1c6e41596);

/// The factors that move both halves of a block by some bits: its first half
/// is 64 bits further away, and a factor of 32 bits adds 32 bits to a product
/// of 96 bits in 128.
struct Factors {
  uint64_t first, second;
};

static constexpr Factors getFactors(int bits) {
  return {getPower(bits + 32), getPower(bits - 32)};
}

/// The checksum of a message from what its beginning folded into.
static uint32_t finish(const char (&folded)[16], std::string_view rest) {
  // The initial value is in what was folded already, and this one is inverted.
  uint32_t crc = computeByTables({folded, sizeof(folded)}, 0xffffffff);
  return computeByTables(rest, crc);
}

#define INGOT_PCLMUL __attribute__((target("pclmul,sse4.1")))
#define INGOT_VPCLMUL                                                          \
  __attribute__((target("pclmul,sse4.1,vpclmulqdq,avx512f")))

INGOT_PCLMUL static inline __m128i load(const char *from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}

INGOT_PCLMUL static inline __m128i load(const Factors &factors) {
  return _mm_set_epi64x(static_cast<long long>(factors.second),
                        static_cast<long long>(factors.first));
}

INGOT_PCLMUL static inline __m128i fold(__m128i block, __m128i factors,
                                        __m128i next) {
  __m128i first = _mm_clmulepi64_si128(block, factors, 0x00);
  __m128i second = _mm_clmulepi64_si128(block, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

/// Folds the blocks of `bytes` into `block`, and finishes.
INGOT_PCLMUL static uint32_t foldRest(__m128i block, std::string_view bytes) {
  constexpr size_t size = sizeof(__m128i);
  __m128i factors = load(getFactors(128));
  for (; bytes.size() >= size; bytes.remove_prefix(size))
    block = fold(block, factors, load(bytes.data()));
  char folded[size];
  _mm_storeu_si128(reinterpret_cast<__m128i *>(folded), block);
  return finish(folded, bytes);
}

INGOT_PCLMUL static uint32_t computeByBlocks(std::string_view bytes,
                                             uint32_t crc) {
  // Four chains hide the latency of the products.
  constexpr size_t block = sizeof(__m128i), size = 4 * block;
  if (bytes.size() < size)
    return computeByTables(bytes, crc);
  __m128i chains[4];
  for (size_t i = 0; i < 4; ++i)
    chains[i] = load(bytes.data() + i * block);
  chains[0] =
      _mm_xor_si128(chains[0], _mm_cvtsi32_si128(static_cast<int>(~crc)));
  bytes.remove_prefix(size);
  __m128i factors = load(getFactors(4 * 128));
  for (; bytes.size() >= size; bytes.remove_prefix(size))
    for (size_t i = 0; i < 4; ++i)
      chains[i] = fold(chains[i], factors, load(bytes.data() + i * block));
  factors = load(getFactors(128));
  for (size_t i = 1; i < 4; ++i)
    chains[i] = fold(chains[i - 1], factors, chains[i]);
  return foldRest(chains[3], bytes);
}

INGOT_VPCLMUL static inline __m512i loadWide(const char *from) {
  return _mm512_loadu_si512(from);
}

INGOT_VPCLMUL static inline __m512i foldWide(__m512i blocks, __m512i factors,
                                             __m512i next) {
  __m512i first = _mm512_clmulepi64_epi128(blocks, factors, 0x00);
  __m512i second = _mm512_clmulepi64_epi128(blocks, factors, 0x11);
  constexpr int xorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(first, second, next, xorOfThree);
}

INGOT_VPCLMUL static uint32_t computeByWideBlocks(std::string_view bytes,
                                                  uint32_t crc) {
  constexpr size_t block = sizeof(__m512i), size = 4 * block;
  if (bytes.size() < size)
    return computeByBlocks(bytes, crc);
  __m512i chains[4];
  for (size_t i = 0; i < 4; ++i)
    chains[i] = loadWide(bytes.data() + i * block);
  chains[0] = _mm512_xor_si512(
      chains[0],
      _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~crc))));
  bytes.remove_prefix(size);
  __m512i factors = _mm512_broadcast_i32x4(load(getFactors(16 * 128)));
  for (; bytes.size() >= size; bytes.remove_prefix(size))
    for (size_t i = 0; i < 4; ++i)
      chains[i] =
          foldWide(chains[i], factors, loadWide(bytes.data() + i * block));
  factors = _mm512_broadcast_i32x4(load(getFactors(4 * 128)));
  for (size_t i = 1; i < 4; ++i)
    chains[i] = foldWide(chains[i - 1], factors, chains[i]);
  // The four blocks of what is left follow each other.
  __m128i last = _mm512_extracti32x4_epi32(chains[3], 0);
  __m128i step = load(getFactors(128));
  last = fold(last, step, _mm512_extracti32x4_epi32(chains[3], 1));
  last = fold(last, step, _mm512_extracti32x4_epi32(chains[3], 2));
  last = fold(last, step, _mm512_extracti32x4_epi32(chains[3], 3));
  return foldRest(last, bytes);
}

#elif defined(__aarch64__)

__attribute__((target("crc"))) static uint32_t
computeByInstruction(std::string_view bytes, uint32_t crc) {
  crc = ~crc;
  uint64_t word;
  for (; bytes.size() >= sizeof(word); bytes.remove_prefix(sizeof(word))) {
    std::memcpy(&word, bytes.data(), sizeof(word));
    crc = __crc32d(crc, word);
  }
  for (char byte : bytes)
    crc = __crc32b(crc, static_cast<uint8_t>(byte));
  return ~crc;
}

#endif

std::vector<Crc32Build> ingot::runtime::getCrc32Builds() {
  std::vector<Crc32Build> builds;
  [[maybe_unused]] auto has = [](const std::vector<std::string> &features) {
    return findMissingFeatures(features).empty();
  };
#ifdef __x86_64__
  if (has({"pclmul", "sse4.1", "vpclmulqdq", "avx512f"}))
    builds.push_back({"wide carry-less products", computeByWideBlocks});
  if (has({"pclmul", "sse4.1"}))
    builds.push_back({"carry-less products", computeByBlocks});
#elif defined(__aarch64__)
  if (has({"crc"}))
    builds.push_back({"instruction", computeByInstruction});
#endif
  builds.push_back({"tables", computeByTables});
  return builds;
}

uint32_t ingot::runtime::computeCrc32(std::string_view bytes, uint32_t crc) {
  static const Crc32Build build = getCrc32Builds().front();
  return build.compute(bytes, crc);
}

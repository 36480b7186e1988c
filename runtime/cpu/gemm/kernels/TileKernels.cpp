// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/kernels/TileTable.h"

#ifdef __x86_64__
#include "runtime/cpu/gemm/kernels/Avx512Lanes.h"

#include <algorithm>

using namespace ingot::runtime::gemm;
namespace abi = ingot::abi;
namespace cpu = ingot::cpu;

/// The features of CPUs with tile units.
#define INGOT_AMX                                                              \
  __attribute__((                                                              \
      target("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512vl")))

/// The rows of a tile register, the bytes of a row and of the register, and the
/// elements of the inner dimension, in bf16, that a row of a holds.
static constexpr int64_t kRows = 16, kRowBytes = 64, kTileBytes = 1024,
                         kDepth = 32;
/// The result's tile: two by two registers.
static constexpr int64_t kTileRows = 2 * kRows, kTileColumns = 2 * kRows;
/// For every kDepth elements of the inner dimension a panel has the parts from
/// the largest to the smallest, in two registers each.
static constexpr int64_t kPartBytes = 2 * kTileBytes;

//===----------------------------------------------------------------------===//
// Elements as parts in bf16
//
// A format defines how to load 32 consecutive elements of the inner dimension
// of 1 row or column ("line"), or 2 of 16 ("pairs"), as 16 pairs in bf16 for
// each part. It also defines the inner extent of the part of a panel that stays
// in the L1 cache (kSteps times kDepth).
//===----------------------------------------------------------------------===//

INGOT_AMX static inline __mmask16 lanes(int64_t count) {
  return count > 0 ? firstLanes(count) : 0;
}

namespace {

/// Splits 16 numbers in f32 into sums of `parts` numbers whose lower halves are
/// zero. The first is rounded towards zero, so that large numbers stay finite,
/// the second to nearest, so that the rest has either sign.
template <int64_t parts> struct Split {
  INGOT_AMX explicit Split(__m512 x) {
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
#pragma unroll
    for (int64_t i = 0; i < parts; ++i) {
      __m512i bits = _mm512_castps_si512(x);
      if (i == 1)
        bits = _mm512_add_epi32(bits, _mm512_set1_epi32(0x8000));
      part[i] = _mm512_and_si512(bits, upper);
      x = _mm512_sub_ps(x, _mm512_castsi512_ps(part[i]));
    }
  }
  __m512i part[parts];
};

/// The format of operands that are widened to f32 and split.
template <typename Load, int64_t parts> struct SplitFormat {
  using Element = typename Load::Element;
  static constexpr int64_t kParts = parts, kSteps = 12 / parts;
  static constexpr bool kIsChain = parts < 3;

  template <bool isWhole>
  INGOT_AMX static inline void loadLine(const Element *from, int64_t count,
                                        __m512i (&to)[parts]) {
    // Concatenates the upper halves of two vectors.
    const __m512i upperHalves = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
        27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    Split<parts> low(isWhole ? Load::load(from)
                             : Load::load(lanes(count), from));
    Split<parts> high(isWhole
                          ? Load::load(from + kLanes)
                          : Load::load(lanes(count - kLanes), from + kLanes));
#pragma unroll
    for (int64_t i = 0; i < parts; ++i)
      to[i] = _mm512_permutex2var_epi16(low.part[i], upperHalves, high.part[i]);
  }

  template <bool isWhole>
  INGOT_AMX static inline void loadPairs(const Element *from, int64_t stride,
                                         int64_t rows, int64_t count,
                                         __m512i (&to)[parts]) {
    __m512 even = _mm512_setzero_ps(), odd = even;
    if (isWhole || rows > 0)
      even = isWhole ? Load::load(from) : Load::load(lanes(count), from);
    if (isWhole || rows > 1)
      odd = isWhole ? Load::load(from + stride)
                    : Load::load(lanes(count), from + stride);
    Split<parts> first(even), second(odd);
#pragma unroll
    for (int64_t i = 0; i < parts; ++i)
      to[i] =
          _mm512_or_si512(_mm512_srli_epi32(first.part[i], 16), second.part[i]);
  }
};

/// The format of operands in bf16.
struct PlainFormat {
  using Element = uint16_t;
  static constexpr int64_t kParts = 1, kSteps = 8;
  static constexpr bool kIsChain = true;

  template <bool isWhole>
  INGOT_AMX static inline void loadLine(const Element *from, int64_t count,
                                        __m512i (&to)[1]) {
    auto mask = static_cast<__mmask32>(
        isWhole || count >= kDepth ? 0xffffffffu : (1u << count) - 1u);
    to[0] = _mm512_maskz_loadu_epi16(mask, from);
  }

  template <bool isWhole>
  INGOT_AMX static inline void loadPairs(const Element *from, int64_t stride,
                                         int64_t rows, int64_t count,
                                         __m512i (&to)[1]) {
    __mmask16 mask = isWhole ? 0xffff : lanes(count);
    __m256i even = _mm256_setzero_si256(), odd = even;
    if (isWhole || rows > 0)
      even = _mm256_maskz_loadu_epi16(mask, from);
    if (isWhole || rows > 1)
      odd = _mm256_maskz_loadu_epi16(mask, from + stride);
    to[0] = _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                            _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
  }
};

/// The format of operands in f32 that are rounded to bf16.
struct RoundedFormat {
  using Element = float;
  static constexpr int64_t kParts = 1;

  INGOT_AMX static inline __m512i round(__m512 low, __m512 high) {
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  }

  template <bool isWhole>
  INGOT_AMX static inline void loadLine(const float *from, int64_t count,
                                        __m512i (&to)[1]) {
    to[0] = isWhole ? round(F32::load(from), F32::load(from + kLanes))
                    : round(F32::load(lanes(count), from),
                            F32::load(lanes(count - kLanes), from + kLanes));
  }

  template <bool isWhole>
  INGOT_AMX static inline void loadPairs(const float *from, int64_t stride,
                                         int64_t rows, int64_t count,
                                         __m512i (&to)[1]) {
    const __m512i interleaved = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
        6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512 even = _mm512_setzero_ps(), odd = even;
    if (isWhole || rows > 0)
      even = isWhole ? F32::load(from) : F32::load(lanes(count), from);
    if (isWhole || rows > 1)
      odd = isWhole ? F32::load(from + stride)
                    : F32::load(lanes(count), from + stride);
    to[0] = _mm512_permutexvar_epi16(interleaved, round(even, odd));
  }
};

using F32Format = SplitFormat<F32, 3>;
using F16Format = SplitFormat<Widening<F16>, 2>;

/// The format in which the kernels of another format read f32.
template <typename Format> struct F32As {
  using Type = SplitFormat<F32, Format::kParts>;
};
template <> struct F32As<PlainFormat> {
  using Type = RoundedFormat;
};

} // namespace

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Prefetches parts of rows that fill the rows of a tile, which are kDepth or
/// kTileColumns elements, into the L1 cache (locality 3) or the L2 cache (2).
template <int locality, typename Element>
static void prefetchRows(const Element *from, int64_t rows, int64_t stride) {
  constexpr int64_t line = kRowBytes / static_cast<int64_t>(sizeof(Element));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < kDepth; j += line)
      __builtin_prefetch(from + i * stride + j, 0, locality);
}

/// An operand that tile registers are loaded from: `lines` rows of a or columns
/// of b, of `size` elements. One of the two strides is 1.
template <typename Format> struct Operand {
  const typename Format::Element *data;
  int64_t lineStride, innerStride, lines, size;
  static constexpr int64_t kParts = Format::kParts;

  /// Loads 16 lines from `line` on, kDepth elements from `inner` on. Rows of
  /// the register are lines if `byLines`, else pairs.
  INGOT_AMX void load(int64_t line, int64_t inner, bool byLines,
                      char *tile) const {
    bool isWhole = line + kRows <= lines && inner + kDepth <= size;
    bool isDirect = byLines == (innerStride == 1);
    if (isWhole)
      isDirect ? loadDirect<true>(line, inner, tile)
               : loadTransposed<true>(line, inner, tile);
    else
      isDirect ? loadDirect<false>(line, inner, tile)
               : loadTransposed<false>(line, inner, tile);
  }

  /// Packs up to kTileRows lines, whose elements are contiguous, as rows, one
  /// line after the other.
  INGOT_AMX void packLines(char *packed) const {
    for (int64_t i = 0; i < kTileRows; ++i) {
      char *to = packed + i / kRows * kTileBytes + i % kRows * kRowBytes;
      const typename Format::Element *line = data + i * lineStride;
      int64_t k = 0;
      __m512i row[kParts];
      if (i < lines)
        for (; k + kDepth <= size; k += kDepth) {
          Format::template loadLine<true>(line + k, kDepth, row);
          to = storeRow(row, to);
        }
      for (; k < size; k += kDepth) {
        setZero(row);
        if (i < lines)
          Format::template loadLine<false>(line + k, size - k, row);
        to = storeRow(row, to);
      }
    }
  }

  /// Prefetches kDepth rows of kTileColumns elements, or vice versa, whichever
  /// is contiguous; past the end of these, what follows. Hardware prefetchers
  /// do not follow that number of rows.
  void prefetch(int64_t line, int64_t inner) const {
    bool byInner = innerStride == 1;
    if (byInner && inner >= size) {
      inner -= size;
      line += kTileColumns;
    } else if (!byInner && line >= lines) {
      line -= lines;
      inner += kDepth;
    }
    if (line >= lines || inner >= size)
      return;
    const auto *from = data + line * lineStride + inner * innerStride;
    int64_t stride = byInner ? lineStride : innerStride;
    int64_t count = byInner ? std::min(kTileColumns, lines - line)
                            : std::min(kDepth, size - inner);
    prefetchRows<3>(from, count, stride);
  }

private:
  INGOT_AMX static inline void setZero(__m512i (&row)[kParts]) {
    for (__m512i &part : row)
      part = _mm512_setzero_si512();
  }

  /// Stores a row, and returns the address of the row's next elements.
  INGOT_AMX static inline char *storeRow(const __m512i (&row)[kParts],
                                         char *to) {
#pragma unroll
    for (int64_t part = 0; part < kParts; ++part)
      _mm512_store_si512(to + part * kPartBytes, row[part]);
    return to + kParts * kPartBytes;
  }

  template <bool isWhole>
  INGOT_AMX void loadDirect(int64_t line, int64_t inner, char *tile) const {
#pragma unroll 4
    for (int64_t i = 0; i < kRows; ++i) {
      __m512i row[kParts];
      loadRow<isWhole>(line, inner, i, row);
      storeRow(row, tile + i * kRowBytes);
    }
  }

  template <bool isWhole>
  INGOT_AMX void loadTransposed(int64_t line, int64_t inner, char *tile) const {
    loadDirect<isWhole>(line, inner, tile);
#pragma unroll
    for (int64_t part = 0; part < kParts; ++part) {
      __m512 rows[kRows];
      char *at = tile + part * kPartBytes;
#pragma unroll
      for (int64_t i = 0; i < kRows; ++i)
        rows[i] = _mm512_load_ps(at + i * kRowBytes);
      transpose(rows);
#pragma unroll
      for (int64_t i = 0; i < kRows; ++i)
        _mm512_store_ps(at + i * kRowBytes, rows[i]);
    }
  }

  /// Loads the i-th of 16 vectors, along the contiguous dimension.
  template <bool isWhole>
  INGOT_AMX inline void loadRow(int64_t line, int64_t inner, int64_t i,
                                __m512i (&to)[kParts]) const {
    if (innerStride == 1) {
      setZero(to);
      if (isWhole || line + i < lines)
        Format::template loadLine<isWhole>(
            data + (line + i) * lineStride + inner, size - inner, to);
      return;
    }
    int64_t k = inner + 2 * i;
    Format::template loadPairs<isWhole>(
        data + k * innerStride + line, innerStride, size - k, lines - line, to);
  }
};

template <typename Format>
INGOT_AMX static void packRows(Elements a, int64_t rowStride,
                               int64_t innerStride, int64_t rows, int64_t size,
                               char *packed) {
  using Element = typename Format::Element;
  Operand<Format> operand = {static_cast<const Element *>(a.data), rowStride,
                             innerStride, rows, size};
  if (innerStride == 1)
    return operand.packLines(packed);
  for (int64_t k = 0; k < size; k += kDepth) {
    // Prefetch for the next panel, whose rows are far apart.
    prefetchRows<2>(operand.data + kTileRows + k * innerStride,
                    std::min(kDepth, size - k), innerStride);
    operand.load(0, k, /*byLines=*/true, packed);
    operand.load(kRows, k, /*byLines=*/true, packed + kTileBytes);
    packed += Format::kParts * kPartBytes;
  }
}

template <typename Format>
static void packA(Elements a, int64_t rowStride, int64_t innerStride,
                  int64_t rows, int64_t size, char *packed) {
  bool isF32 = a.type == INGOT_F32;
  auto *pack =
      isF32 ? packRows<typename F32As<Format>::Type> : packRows<Format>;
  pack(a, rowStride, innerStride, rows, size, packed);
}

template <typename Format>
static void packB(Elements b, int64_t innerStride, int64_t columnStride,
                  int64_t size, int64_t columns, char *packed) {
  using Element = typename Format::Element;
  Operand<Format> operand = {static_cast<const Element *>(b.data), columnStride,
                             innerStride, columns, size};
  int64_t panelBytes =
      abi::divideCeil(size, kDepth) * Format::kParts * kPartBytes;
  auto pack = [&](int64_t k, int64_t j) {
    char *tiles = packed + j / kTileColumns * panelBytes +
                  k / kDepth * Format::kParts * kPartBytes;
    operand.load(j, k, /*byLines=*/false, tiles);
    operand.load(j + kRows, k, /*byLines=*/false, tiles + kTileBytes);
  };
  // The inner loop runs along the contiguous dimension.
  if (innerStride == 1) {
    for (int64_t j = 0; j < columns; j += kTileColumns)
      for (int64_t k = 0; k < size; k += kDepth) {
        operand.prefetch(j, k + 2 * kDepth);
        pack(k, j);
      }
    return;
  }
  for (int64_t k = 0; k < size; k += kDepth)
    for (int64_t j = 0; j < columns; j += kTileColumns) {
      operand.prefetch(j + 2 * kTileColumns, k);
      pack(k, j);
    }
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

namespace {
/// The operand of LDTILECFG: palette 1, with 16 rows of 64 bytes in every
/// register.
struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
} // namespace

INGOT_AMX static void begin() {
  static const TileConfig config;
  _tile_loadconfig(&config);
}

INGOT_AMX static void end() { _tile_release(); }

// Registers 0 to 3 hold the sums, by rows, 4 and 5 rows of a, 6 and 7 columns
// of b. Each sum is updated by every fourth multiplication, which hides the
// latency.

/// Loads the next part of a and multiplies it by the loaded part of b.
INGOT_AMX static inline void multiplyNextA(const char *a) {
  _tile_loadd(4, a, kRowBytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(5, a + kTileBytes, kRowBytes);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/// Loads the next part of b and multiplies the loaded part of a by it.
INGOT_AMX static inline void multiplyNextB(const char *b) {
  _tile_loadd(6, b, kRowBytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(2, 5, 6);
  _tile_loadd(7, b + kTileBytes, kRowBytes);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(3, 5, 7);
}

template <typename Format>
INGOT_AMX static inline void multiplyStep(const char *a, const char *b) {
  _tile_loadd(6, b, kRowBytes);
  _tile_loadd(7, b + kTileBytes, kRowBytes);
  if constexpr (Format::kParts == 1) {
    multiplyNextA(a);
  } else if constexpr (Format::kParts == 2) {
    multiplyNextA(a + kPartBytes);
    multiplyNextA(a);
    multiplyNextB(b + kPartBytes);
    multiplyNextA(a + kPartBytes);
  } else {
    multiplyNextA(a + 2 * kPartBytes);
    multiplyNextA(a + kPartBytes);
    multiplyNextA(a);
    multiplyNextB(b + 2 * kPartBytes);
    multiplyNextB(b + kPartBytes);
    multiplyNextA(a + kPartBytes);
  }
}

template <typename Format>
INGOT_AMX static void multiplyTile(int64_t size, const char *a, const char *b,
                                   float *c, int64_t rowStride, int64_t rows,
                                   int64_t columns, bool adds,
                                   const Fetches &) {
  alignas(64) float part[kTileRows * kTileColumns];
  bool isWhole = rows == kTileRows && columns == kTileColumns;
  // In a chain the sums of a block continue those of c; else they start at
  // zero.
  bool isDirect = isWhole && (!adds || Format::kIsChain);
  float *sums = isDirect ? c : part;
  int64_t sumsRow = isDirect ? rowStride : kTileColumns;
  int64_t lineBytes = sumsRow * static_cast<int64_t>(sizeof(float));
  __mmask16 low = lanes(columns), high = lanes(columns - kLanes);
  if (Format::kIsChain && adds) {
    for (int64_t i = 0; !isDirect && i < rows; ++i) {
      const float *row = c + i * rowStride;
      _mm512_store_ps(part + i * kTileColumns, _mm512_maskz_loadu_ps(low, row));
      _mm512_store_ps(part + i * kTileColumns + kLanes,
                      _mm512_maskz_loadu_ps(high, row + kLanes));
    }
    _tile_loadd(0, sums, lineBytes);
    _tile_loadd(1, sums + kRows, lineBytes);
    _tile_loadd(2, sums + kRows * sumsRow, lineBytes);
    _tile_loadd(3, sums + kRows * sumsRow + kRows, lineBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  int64_t fetched = 0;
  for (int64_t k = 0; k < size; k += kDepth) {
    // Prefetch the lines of c a few at a time, without a branch.
#pragma unroll
    for (int64_t i = 0; i < 3; ++i) {
      const float *row = c + std::min(fetched++, rows - 1) * rowStride;
      __builtin_prefetch(row, 1);
      __builtin_prefetch(row + kLanes, 1);
    }
    multiplyStep<Format>(a, b);
    a += Format::kParts * kPartBytes;
    b += Format::kParts * kPartBytes;
  }
  _tile_stored(0, sums, lineBytes);
  _tile_stored(1, sums + kRows, lineBytes);
  _tile_stored(2, sums + kRows * sumsRow, lineBytes);
  _tile_stored(3, sums + kRows * sumsRow + kRows, lineBytes);
  if (isDirect)
    return;
  for (int64_t i = 0; i < rows; ++i) {
    float *row = c + i * rowStride;
    __m512 left = _mm512_load_ps(part + i * kTileColumns);
    __m512 right = _mm512_load_ps(part + i * kTileColumns + kLanes);
    if (adds && !Format::kIsChain) {
      left = _mm512_add_ps(left, _mm512_maskz_loadu_ps(low, row));
      right = _mm512_add_ps(right, _mm512_maskz_loadu_ps(high, row + kLanes));
    }
    _mm512_mask_storeu_ps(row, low, left);
    _mm512_mask_storeu_ps(row + kLanes, high, right);
  }
}

/// Rounds two vectors to a 16-bit type. The instruction for bf16 treats numbers
/// below 2^-126 as zero.
INGOT_AMX static inline __m512i roundPairs(__m512 low, __m512 high,
                                           int32_t type) {
  if (type == INGOT_BF16)
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  constexpr int toNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return _mm512_inserti64x4(
      _mm512_castsi256_si512(_mm512_cvtps_ph(low, toNearest)),
      _mm512_cvtps_ph(high, toNearest), 1);
}

INGOT_AMX static void roundSums(const float *sums, int32_t type, uint16_t *to,
                                int64_t count) {
  constexpr int64_t step = 2 * kLanes;
  int64_t i = 0;
  for (; i + step <= count; i += step)
    _mm512_storeu_si512(to + i,
                        roundPairs(_mm512_loadu_ps(sums + i),
                                   _mm512_loadu_ps(sums + i + kLanes), type));
  if (i == count)
    return;
  __mmask16 low = lanes(count - i), high = lanes(count - i - kLanes);
  __m512i last =
      roundPairs(_mm512_maskz_loadu_ps(low, sums + i),
                 _mm512_maskz_loadu_ps(high, sums + i + kLanes), type);
  _mm512_mask_storeu_epi16(to + i, _mm512_kunpackw(high, low), last);
}

template <typename Format, int32_t type>
static constexpr Kernels makeKernels() {
  constexpr cpu::GemmBlocking blocking = cpu::getTileBlocking(type);
  constexpr int64_t depth = Format::kSteps * kDepth;
  static_assert(blocking.tileRows == kTileRows &&
                blocking.tileColumns == kTileColumns &&
                blocking.step == kDepth);
  static_assert(kTileRows * blocking.getLineBytes(kDepth) ==
                    Format::kParts * kPartBytes,
                "a step of a panel has all parts");
  static_assert(kTileRows * blocking.getLineBytes(depth) <= cpu::kL1Bytes);
  return {blocking,
          Format::kIsChain,
          depth,
          packA<Format>,
          packB<Format>,
          multiplyTile<Format>,
          /*multiplyVector=*/nullptr,
          roundSums,
          begin,
          end};
}

static constexpr Kernels kBf16 = makeKernels<PlainFormat, INGOT_BF16>();
static constexpr Kernels kF16 = makeKernels<F16Format, INGOT_F16>();
static constexpr Kernels kF32 = makeKernels<F32Format, INGOT_F32>();

const TileTable ingot::runtime::gemm::tileKernels = {kBf16, kF16, kF32};

#endif

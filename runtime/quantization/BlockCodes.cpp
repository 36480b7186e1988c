// SPDX-License-Identifier: Apache-2.0

#include "runtime/quantization/BlockCodes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

// A product and a sum are rounded each, whatever the CPU has.
#pragma STDC FP_CONTRACT OFF

using namespace ingot::quantization;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// The numbers of codes of 4 bits: quantiles of a normal distribution (Dettmers
/// et al., "QLoRA: Efficient Finetuning of Quantized LLMs", 2023) as the
/// library bitsandbytes has them; floats with a sign, two bits of an exponent
/// and one of a fraction, in twelfths; and integers.
struct Numbers {
  float nf4[16] = {-1.0F,
                   -0.6961928009986877F,
                   -0.5250730514526367F,
                   -0.39491748809814453F,
                   -0.28444138169288635F,
                   -0.18477343022823334F,
                   -0.09105003625154495F,
                   0.0F,
                   0.07958029955625534F,
                   0.16093020141124725F,
                   0.24611230194568634F,
                   0.33791524171829224F,
                   0.44070982933044434F,
                   0.5626170039176941F,
                   0.7229568362236023F,
                   1.0F};
  float fp4[16] = {}, int4[16] = {};

  constexpr Numbers() {
    constexpr float twelfths[8] = {0, 0.0625F, 8, 12, 4, 6, 2, 3};
    for (int i = 0; i < 8; ++i) {
      fp4[i] = twelfths[i] / 12;
      fp4[i + 8] = i == 0 ? 0 : -fp4[i];
    }
    for (int i = 0; i < 16; ++i)
      int4[i] = static_cast<float>(i - 8);
  }

  constexpr const float *of(ingot_encoding kind) const {
    return kind == INGOT_CODE_NF4 ? nf4 : kind == INGOT_CODE_FP4 ? fp4 : int4;
  }
};

constexpr Numbers kNumbers;
} // namespace

const float *ingot::quantization::getNumbers(ingot_encoding kind) {
  return kNumbers.of(kind);
}

/// The dynamic code (Dettmers, "8-Bit Approximations for Parallelism in Deep
/// Learning", 2015): decade i of seven has 2^i equal intervals on either side
/// of zero, or 2^(i + 1) without a sign, whose middles are numbers; zero and
/// one are numbers, too. Sums and products are in f32, in the order in which
/// bitsandbytes has them.
static std::array<float, 256> makeDynamicNumbers(bool isSigned) {
  constexpr int decades = 7;
  std::array<float, 256> numbers = {};
  size_t count = 0;
  for (int i = 0; i < decades; ++i) {
    const int intervals = 1 << (isSigned ? i : i + 1);
    const double first = 0.1F, last = 1;
    const double step =
        static_cast<float>(last - first) / static_cast<float>(intervals);
    auto boundary = [&](int k) {
      const bool isUpper = k >= (intervals + 1) / 2;
      return static_cast<float>(
          isUpper ? last - step * static_cast<double>(intervals - k)
                  : first + step * static_cast<double>(k));
    };
    const auto unit = static_cast<float>(std::pow(10.0, i - (decades - 1)));
    for (int k = 0; k < intervals; ++k) {
      const float number = unit * ((boundary(k) + boundary(k + 1)) / 2);
      numbers[count++] = number;
      if (isSigned)
        numbers[count++] = -number;
    }
  }
  numbers[count++] = 0;
  numbers[count++] = 1;
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

DynamicCode::DynamicCode(bool isSigned)
    : isSigned(isSigned), numbers(makeDynamicNumbers(isSigned)) {
  for (size_t i = 0; i + 1 < numbers.size(); ++i)
    middles[i] = (numbers[i] + numbers[i + 1]) / 2;
  middles.back() = std::numeric_limits<float>::infinity();
  // Cells are numbers from 2^-24 on with the same upper bits, and what is
  // smaller is in the first one.
  const int ofSign = getCellsOfSign();
  const auto base = static_cast<uint32_t>(127 - kExponents) << 23;
  auto getBound = [&](int cell) {
    return std::bit_cast<float>(base +
                                (static_cast<uint32_t>(cell) << getShift()));
  };
  auto count = [&](float below) {
    return static_cast<uint8_t>(
        std::lower_bound(middles.begin(), middles.end(), below) -
        middles.begin());
  };
  cells.fill(0);
  for (int cell = 0; cell <= ofSign; ++cell)
    cells[cell] = count(cell == 0 ? 0 : getBound(cell));
  // Negative numbers of a cell reach down to its upper bound.
  for (int cell = 0; isSigned && cell < ofSign; ++cell)
    cells[ofSign + 1 + cell] = count(-getBound(cell + 1));
}

const DynamicCode &DynamicCode::of(const Encoding &encoding) {
  static const DynamicCode withSign(/*isSigned=*/true),
      without(/*isSigned=*/false);
  return encoding.dynamic == Encoding::Dynamic::Unsigned ? without : withSign;
}

uint8_t DynamicCode::find(float number) const {
  return static_cast<uint8_t>(
      std::lower_bound(middles.begin(), middles.end() - 1, number) -
      middles.begin());
}

const float *ingot::quantization::getScaleNumbers() {
  return DynamicCode::of(Encoding::ofDynamic(/*hasSign=*/true, 256))
      .numbers.data();
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Returns whether the first of two codes is the upper half of a byte.
static bool isUpperFirst(ingot_encoding kind) {
  return kind != INGOT_CODE_INT4;
}

namespace {
/// The numbers of each byte of two codes.
struct PairTable {
  float numbers[256][2];

  explicit PairTable(ingot_encoding kind) {
    const float *of = getNumbers(kind);
    for (int byte = 0; byte < 256; ++byte) {
      numbers[byte][isUpperFirst(kind) ? 0 : 1] = of[byte >> 4];
      numbers[byte][isUpperFirst(kind) ? 1 : 0] = of[byte & 15];
    }
  }

  static const PairTable &of(ingot_encoding kind) {
    static const PairTable nf4(INGOT_CODE_NF4), fp4(INGOT_CODE_FP4),
        int4(INGOT_CODE_INT4);
    return kind == INGOT_CODE_NF4 ? nf4 : kind == INGOT_CODE_FP4 ? fp4 : int4;
  }
};
} // namespace

Decoder::Decoder(const Encoding &encoding, const Parts &parts, int64_t elements)
    : encoding(encoding), parts(parts),
      pairs(
          reinterpret_cast<const Pair *>(PairTable::of(encoding.kind).numbers)),
      dynamicNumbers(encoding.isDynamic()
                         ? DynamicCode::of(encoding).numbers.data()
                         : nullptr),
      scaleCodes(encoding.isDouble ? getScaleNumbers() : nullptr) {
  if (encoding.isDouble)
    mean = parts.nested[encoding.countNested(elements) - 1];
}

float Decoder::getScale(int64_t number) const {
  if (!encoding.isDouble)
    return static_cast<const float *>(parts.scales)[number];
  const uint8_t code = static_cast<const uint8_t *>(parts.scales)[number];
  const int64_t block = number / Encoding::kScaleBlock;
  const float difference = scaleCodes[code] * parts.nested[block];
  return difference + mean;
}

/// Decodes `count` bytes.
template <bool HasOffset>
void Decoder::decodePairs(const uint8_t *codes, int64_t count, float offset,
                          float scale, float *to) const {
  constexpr int64_t together = 4;
  using Vector = float __attribute__((vector_size(32)));
  int64_t i = 0;
  for (; i + together <= count; i += together, to += 2 * together) {
    Pair four[together] = {pairs[codes[i]], pairs[codes[i + 1]],
                           pairs[codes[i + 2]], pairs[codes[i + 3]]};
    Vector numbers;
    std::memcpy(&numbers, four, sizeof(numbers));
    if constexpr (HasOffset)
      numbers += offset;
    numbers *= scale;
    std::memcpy(to, &numbers, sizeof(numbers));
  }
  for (; i < count; ++i)
    for (float number : pairs[codes[i]].numbers)
      *to++ = (HasOffset ? number + offset : number) * scale;
}

float Decoder::decodeOne(int64_t element) const {
  const int64_t block = element / encoding.block;
  const float number =
      encoding.kind == INGOT_CODE_INT8
          ? getByteNumber(parts.codes[element])
          : pairs[parts.codes[element / 2]].numbers[element % 2];
  return (encoding.hasOffsets ? number + getOffset(block) : number) *
         getScale(block);
}

void Decoder::decode(int64_t first, int64_t count, float *to) const {
  const int64_t end = first + count;
  if (encoding.kind == INGOT_CODE_INT8) {
    while (first < end) {
      const float scale = getScale(first / encoding.block);
      const float offset = getOffset(first / encoding.block);
      const int64_t last =
          std::min(end, (first / encoding.block + 1) * encoding.block);
      for (; first < last; ++first)
        *to++ = (getByteNumber(parts.codes[first]) + offset) * scale;
    }
    return;
  }
  if (first < end && first % 2 != 0)
    *to++ = decodeOne(first++);
  while (first + 1 < end) {
    const int64_t block = first / encoding.block;
    const int64_t last = std::min(end, (block + 1) * encoding.block);
    const int64_t bytes = (last - first) / 2;
    const uint8_t *codes = parts.codes + first / 2;
    if (encoding.hasOffsets)
      decodePairs<true>(codes, bytes, getOffset(block), getScale(block), to);
    else
      decodePairs<false>(codes, bytes, 0, getScale(block), to);
    first += 2 * bytes;
    to += 2 * bytes;
  }
  if (first < end)
    *to = decodeOne(first);
}

void Decoder::decodeLines(int64_t first, int64_t stride, int64_t lines,
                          int64_t count, float *to) const {
  for (int64_t i = 0; i < lines; ++i)
    decode(first + i * stride, count, to + i * count);
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

namespace {
/// Numbers of codes in ascending order, and the middles between them.
template <size_t Size> struct Codebook {
  std::array<uint8_t, Size> codes;
  std::array<float, Size - 1> middles;

  explicit Codebook(const float *numbers) {
    for (size_t i = 0; i < Size; ++i)
      codes[i] = static_cast<uint8_t>(i);
    std::sort(codes.begin(), codes.end(), [&](uint8_t a, uint8_t b) {
      return std::pair(numbers[a], a) < std::pair(numbers[b], b);
    });
    for (size_t i = 0; i + 1 < Size; ++i)
      middles[i] = (numbers[codes[i]] + numbers[codes[i + 1]]) / 2;
  }

  uint8_t find(float number) const {
    return codes[std::lower_bound(middles.begin(), middles.end(), number) -
                 middles.begin()];
  }
};
} // namespace

static float findMost(const float *numbers, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::fabs(numbers[i]));
  return most;
}

/// Returns a number in units of the largest of its block, within -1 and 1.
static float normalize(float number, float most, bool isWhole) {
  const float unit = std::max(most, 1e-38F);
  // As bitsandbytes rounds.
  const float scaled = isWhole ? number * (1 / unit) : number / unit;
  return std::clamp(scaled, -1.0F, 1.0F);
}

/// Encodes a block as integers, and returns the scale.
static float encodeIntegers(ingot_encoding kind, const float *numbers,
                            int64_t count, uint8_t *codes) {
  float most = findMost(numbers, count), scale;
  if (kind == INGOT_CODE_INT4) {
    // The number of the largest magnitude becomes -8, which has no opposite.
    const float *largest = std::find_if(numbers, numbers + count, [&](float x) {
      return std::fabs(x) == most;
    });
    scale = largest == numbers + count ? 0 : *largest / -8;
  } else {
    scale = most / 127;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float steps = scale == 0 ? 0 : std::nearbyintf(numbers[i] / scale);
    if (kind == INGOT_CODE_INT4)
      codes[i] = static_cast<uint8_t>(std::clamp(steps, -8.0F, 7.0F) + 8);
    else
      codes[i] = static_cast<uint8_t>(
          static_cast<int8_t>(std::clamp(steps, -127.0F, 127.0F)));
  }
  return scale;
}

/// Encodes a block as dynamic codes, and returns the scale, which is 1 for
/// zeros, as bitsandbytes has it.
static float encodeDynamic(const Encoding &encoding, const float *numbers,
                           int64_t count, uint8_t *codes) {
  const DynamicCode &code = DynamicCode::of(encoding);
  const float most = findMost(numbers, count);
  const float scale = most == 0 ? 1 : most;
  for (int64_t i = 0; i < count; ++i)
    codes[i] = code.find(numbers[i] / scale);
  return scale;
}

/// Encodes scales as differences from their mean.
static void encodeScales(const std::vector<float> &scales, Encoded &to) {
  static const Codebook<256> book(getScaleNumbers());
  double sum = 0;
  for (float scale : scales)
    sum += scale;
  const auto mean =
      static_cast<float>(sum / static_cast<double>(scales.size()));
  for (size_t i = 0; i < scales.size(); i += Encoding::kScaleBlock) {
    std::array<float, Encoding::kScaleBlock> differences;
    const size_t count =
        std::min<size_t>(Encoding::kScaleBlock, scales.size() - i);
    for (size_t k = 0; k < count; ++k)
      differences[k] = scales[i + k] - mean;
    const float most =
        findMost(differences.data(), static_cast<int64_t>(count));
    for (size_t k = 0; k < count; ++k)
      to.scales.push_back(
          book.find(normalize(differences[k], most, /*isWhole=*/true)));
    to.nested.push_back(most);
  }
  to.nested.push_back(mean);
}

Encoded ingot::quantization::encode(const Encoding &encoding,
                                    const float *numbers, int64_t elements) {
  const ingot_encoding kind = encoding.kind;
  const bool isInteger = kind == INGOT_CODE_INT4 || kind == INGOT_CODE_INT8;
  static const Codebook<16> nf4(kNumbers.nf4), fp4(kNumbers.fp4);
  const Codebook<16> &book = kind == INGOT_CODE_NF4 ? nf4 : fp4;
  Encoded to;
  to.codes.assign(encoding.getCodeBytes(elements), 0);
  std::vector<float> scales;
  std::vector<uint8_t> codes(encoding.block);
  for (int64_t i = 0; i < elements; i += encoding.block) {
    const int64_t count = std::min(encoding.block, elements - i);
    if (encoding.isDynamic()) {
      scales.push_back(
          encodeDynamic(encoding, numbers + i, count, codes.data()));
    } else if (isInteger) {
      scales.push_back(encodeIntegers(kind, numbers + i, count, codes.data()));
    } else {
      const float most = findMost(numbers + i, count);
      for (int64_t k = 0; k < count; ++k)
        codes[k] =
            book.find(normalize(numbers[i + k], most, count == encoding.block));
      scales.push_back(most);
    }
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = i + k;
      if (encoding.kind == INGOT_CODE_INT8)
        to.codes[at] = codes[k];
      else
        to.codes[at / 2] |= static_cast<uint8_t>(
            codes[k] << ((at % 2 == 0) == isUpperFirst(kind) ? 4 : 0));
    }
  }
  if (encoding.isDouble) {
    encodeScales(scales, to);
    return to;
  }
  if (encoding.hasOffsets)
    to.nested.assign(scales.size(), 0);
  to.scales.resize(scales.size() * sizeof(float));
  std::memcpy(to.scales.data(), scales.data(), to.scales.size());
  return to;
}

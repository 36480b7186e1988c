// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_decoded_matmul (Abi.h): an operand is decoded while it is packed, as
// many lines of it at a time as stay in the nearest caches.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "runtime/quantization/BlockCodes.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::gemm;
using ingot::quantization::Decoder;

namespace {

/// The most elements that are decoded at a time: all of a panel, of whatever
/// kernels.
constexpr int64_t kStripElements = 32 * 1024;

/// The encoded operand of a GEMM.
struct Operand : EncodedOperand {
  explicit Operand(const Decoder &decoder, int32_t type)
      : EncodedOperand{pack}, decoder(decoder), type(type) {}

  const Decoder &decoder;
  /// The element type of the other operand, in which numbers are multiplied.
  int32_t type;

private:
  static void pack(const EncodedOperand &operand, const Kernels &kernels,
                   int64_t first, int64_t innerStride, int64_t columnStride,
                   int64_t size, int64_t columns, char *packed);
  void packStrip(const Kernels &kernels, int64_t first, int64_t innerStride,
                 int64_t columnStride, int64_t size, int64_t columns,
                 char *packed) const;
};

} // namespace

/// Packs no more than kStripElements elements.
void Operand::packStrip(const Kernels &kernels, int64_t first,
                        int64_t innerStride, int64_t columnStride, int64_t size,
                        int64_t columns, char *packed) const {
  alignas(64) float numbers[kStripElements];
  const bool isInner = innerStride == 1;
  const int64_t lines = isInner ? columns : size;
  const int64_t length = isInner ? size : columns;
  decoder.decodeLines(first, isInner ? columnStride : innerStride, lines,
                      length, numbers);
  Elements elements = {numbers, INGOT_F32};
  alignas(64) uint16_t halves[kStripElements];
  if (type != INGOT_F32) {
    roundFromF32(numbers, halves, type, lines * length);
    elements = {halves, type};
  }
  kernels.packB(elements, isInner ? 1 : length, isInner ? length : 1, size,
                columns, packed);
}

void Operand::pack(const EncodedOperand &operand, const Kernels &kernels,
                   int64_t first, int64_t innerStride, int64_t columnStride,
                   int64_t size, int64_t columns, char *packed) {
  const auto &self = static_cast<const Operand &>(operand);
  const int64_t tile = kernels.tileColumns;
  const int64_t lineBytes = kernels.getLineBytes(size);
  // Whole panels, as many of them as a strip holds; parts of a long one, which
  // are multiplied one after the other.
  const int64_t width =
      std::max(kStripElements / size / tile, int64_t(1)) * tile;
  int64_t length = size;
  if (size * tile > kStripElements)
    length = kStripElements / tile / kernels.depth * kernels.depth;
  for (int64_t j = 0; j < columns; j += width)
    for (int64_t i = 0; i < size; i += length)
      self.packStrip(kernels, first + j * columnStride + i * innerStride,
                     innerStride, columnStride, std::min(length, size - i),
                     std::min(width, columns - j),
                     packed + j * lineBytes + kernels.getLineBytes(i) * tile);
}

void ingot_decoded_matmul(ingot_context *context,
                          const ingot_decoded_matmul_desc *desc, const void *a,
                          const void *codes, const void *scales,
                          const float *nested, void *c, void *scratch) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "matmul", [&] {
    if (desc->m == 0 || desc->n == 0 || desc->k == 0)
      return;
    const Decoder decoder(ingot::quantization::Encoding::of(
                              static_cast<ingot_encoding>(desc->encoding),
                              desc->block, nested != nullptr),
                          {static_cast<const uint8_t *>(codes), scales, nested},
                          desc->n * desc->k);
    const Operand operand(decoder, desc->a_type);
    bool onTiles =
        (desc->math == INGOT_MATH_TILES || desc->math == INGOT_MATH_BF16X3) &&
        hasTileUnits();
    multiplyPacked(context, ingot::cpu::getDense(*desc), onTiles, a,
                   {nullptr, desc->a_type, &operand}, c, scratch);
  });
}

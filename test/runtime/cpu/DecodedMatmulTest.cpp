// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_decoded_matmul against ingot_matmul of what is decoded: the same bits,
// for every encoding, in both orientations, by all schedules.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/Random.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "runtime/quantization/BlockCodes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::quantization;

namespace {

ingot::cpu::ScratchMachine describeMachine() {
  ingot::cpu::ScratchMachine machine;
  machine.threads = getThreadCount();
  machine.tilesHalves = machine.tilesF32 = hasTileUnits();
  return machine;
}

/// Rounds numbers to an element type.
std::vector<char> makeElements(const std::vector<float> &numbers,
                               int32_t type) {
  std::vector<char> elements(numbers.size() * (type == INGOT_F32 ? 4 : 2));
  if (type == INGOT_F32)
    std::memcpy(elements.data(), numbers.data(), elements.size());
  else
    roundFromF32(numbers.data(), reinterpret_cast<uint16_t *>(elements.data()),
                 type, static_cast<int64_t>(numbers.size()));
  return elements;
}

void compare(const Encoding &encoding, int64_t m, int64_t n, int64_t k,
             bool isTransposed, int32_t type, Philox &random) {
  SCOPED_TRACE(::testing::Message()
               << "encoding " << encoding.kind << encoding.hasNested() << ", "
               << m << "x" << n << "x" << k << " " << isTransposed << " type "
               << type);
  std::vector<float> numbers(n * k), inputs(m * k);
  for (float &number : numbers)
    number = static_cast<float>(random.normal());
  for (float &number : inputs)
    number = static_cast<float>(random.normal());
  Encoded encoded = encode(encoding, numbers.data(), n * k);
  if (encoding.hasOffsets)
    for (float &offset : encoded.nested)
      offset = static_cast<float>(random.normal());
  const float *nested = encoding.hasNested() ? encoded.nested.data() : nullptr;
  Decoder(encoding, {encoded.codes.data(), encoded.scales.data(), nested},
          n * k)
      .decode(0, n * k, numbers.data());
  std::vector<char> a = makeElements(inputs, type);
  std::vector<char> b = makeElements(numbers, type);

  ingot_context context;
  ingot_decoded_matmul_desc desc = {};
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.block = encoding.block;
  desc.encoding = encoding.kind;
  desc.transpose_b = isTransposed;
  desc.a_type = desc.c_type = type;
  ingot_matmul_desc dense = ingot::cpu::getDense(desc);
  dense.math = desc.math = getMath(dense, describeMachine());
  dense.scratch_bytes = desc.scratch_bytes =
      ingot::cpu::getScratchBytes(dense, describeMachine());
  Block scratch(desc.scratch_bytes, "scratch");
  size_t bytes = m * n * (type == INGOT_F32 ? 4 : 2);
  std::vector<char> want(bytes), got(bytes);
  ingot_matmul(&context, &dense, a.data(), b.data(), nullptr, nullptr,
               want.data(), scratch.getData());
  ingot_decoded_matmul(&context, &desc, a.data(), encoded.codes.data(),
                       encoded.scales.data(), nested, got.data(),
                       scratch.getData());
  ASSERT_FALSE(context.failed) << context.message;
  // One row is multiplied by another schedule, in the same order.
  EXPECT_TRUE(want == got);
  EXPECT_EQ(context.getUnplannedBytes(), 0u);
}

TEST(Matmul, DecodesWhatItPacks) {
  Philox random(5, 6);
  for (int kind = INGOT_CODE_NF4; kind <= INGOT_CODE_INT8; ++kind)
    for (bool hasNested : {false, true})
      for (int32_t type : {INGOT_F32, INGOT_BF16})
        for (bool isTransposed : {false, true}) {
          Encoding encoding =
              Encoding::of(static_cast<ingot_encoding>(kind), 64, hasNested);
          compare(encoding, 1 + random.below(40), 2 * (1 + random.below(60)),
                  1 + random.below(90), isTransposed, type, random);
          compare(encoding, 3, 65, 33, isTransposed, type, random);
        }
}

TEST(Matmul, DecodesInAllSchedules) {
  Philox random(7, 8);
  Encoding encoding = {INGOT_CODE_NF4, 64, true};
  struct Sizes {
    int64_t m, n, k;
  };
  // Few rows, which are kept; many; long sums; one row; one column.
  for (const Sizes &sizes :
       {Sizes{16, 512, 640}, Sizes{320, 256, 448}, Sizes{8, 16, 4096},
        Sizes{1, 128, 192}, Sizes{64, 1, 128}, Sizes{96, 1100, 96},
        Sizes{64, 96, 3000}})
    for (int32_t type : {INGOT_F32, INGOT_BF16, INGOT_F16})
      for (bool isTransposed : {false, true})
        compare(encoding, sizes.m, sizes.n, sizes.k, isTransposed, type,
                random);
}

} // namespace

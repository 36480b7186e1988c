// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Instructions against what the PTX ISA says, a value a lane.
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/ptx/Block.h"
#include "test/fakes/cuda/ptx/Program.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace fakes::ptx;

namespace {

/// Runs `code` in one warp. Each lane has its number in %r1, and in %rd2 the
/// address of its 32 bytes of memory, in which `code` finds its operands and
/// leaves its result.
struct Lane {
  std::array<uint64_t, 4> words = {};
};

std::array<Lane, lanes> run(const std::string &code,
                            std::array<Lane, lanes> memory) {
  std::string text = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(
	.param .u64 .ptr .global .align 64 k_param_0
)
{
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<9>;

	ld.param.b64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	mul.wide.u32 	%rd3, %r1, 32;
	add.s64 	%rd2, %rd1, %rd3;
)" + code + R"(
	ret;
}
)";
  Module module = parseModule(text);
  auto address = reinterpret_cast<uint64_t>(memory.data());
  std::vector<uint8_t> parameters(sizeof(address));
  std::memcpy(parameters.data(), &address, sizeof(address));
  runKernel({module,
             module.functions.find("k")->second,
             1,
             lanes,
             parameters,
             {{address, address + sizeof(memory)}},
             0,
             true});
  return memory;
}

template <typename T> T as(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}
template <typename T> uint64_t toWord(T value) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(value));
  return word;
}

/// The field of `count` bits from `from` on, one bit at a time.
uint64_t extract(uint64_t value, int from, int count, int width,
                 bool isSigned) {
  uint64_t sign = 0;
  if (isSigned && count > 0)
    sign = value >> std::min(from + count - 1, width - 1) & 1;
  uint64_t result = 0;
  for (int i = 0; i < width; ++i) {
    bool isInside = i < count && from + i < width;
    uint64_t bit = isInside ? value >> (from + i) & 1 : sign;
    result |= bit << i;
  }
  return result;
}

TEST(Instructions, ExtractBits) {
  std::array<Lane, lanes> memory;
  for (int lane = 0; lane < lanes; ++lane)
    memory[lane].words = {0xF123456789ABCDEFU * (2 * lane + 1),
                          static_cast<uint64_t>(lane * 5 % 71),
                          static_cast<uint64_t>(lane * 11 % 67)};
  for (int width : {32, 64})
    for (bool isSigned : {false, true}) {
      std::string type = (isSigned ? "s" : "u") + std::to_string(width);
      std::string value = width == 32 ? "%r4" : "%rd4";
      std::string load = width == 32 ? "b32" : "b64";
      auto results = run("	ld.global." + load + " 	" + value +
                             ", [%rd2];\n"
                             "	ld.global.b32 	%r2, [%rd2+8];\n"
                             "	ld.global.b32 	%r3, [%rd2+16];\n"
                             "	bfe." +
                             type + " 	" + value + ", " + value +
                             ", %r2, %r3;\n"
                             "	st.global." +
                             load + " 	[%rd2+24], " + value + ";\n",
                         memory);
      for (int lane = 0; lane < lanes; ++lane) {
        const auto &words = memory[lane].words;
        uint64_t expected =
            extract(width == 32 ? words[0] & 0xFFFFFFFFU : words[0],
                    static_cast<int>(words[1]), static_cast<int>(words[2]),
                    width, isSigned);
        EXPECT_EQ(results[lane].words[3], expected)
            << type << " " << words[1] << " " << words[2];
      }
    }
}

/// The upper half of a product of 16 bits, with and without signs.
TEST(Instructions, MultiplyHigh) {
  std::array<Lane, lanes> memory;
  for (int lane = 0; lane < lanes; ++lane)
    memory[lane].words = {static_cast<uint16_t>(0x8000 + lane * 4099),
                          static_cast<uint16_t>(0xFFFF - lane * 2053)};
  for (const char *type : {"u16", "s16"}) {
    auto results = run(std::string("	ld.global.b16 	%rs1, [%rd2];\n"
                                   "	ld.global.b16 	%rs2, [%rd2+8];\n"
                                   "	mul.hi.") +
                           type +
                           " 	%rs3, %rs1, %rs2;\n"
                           "	st.global.b16 	[%rd2+24], %rs3;\n",
                       memory);
    for (int lane = 0; lane < lanes; ++lane) {
      auto a = static_cast<int32_t>(memory[lane].words[0]);
      auto b = static_cast<int32_t>(memory[lane].words[1]);
      int64_t product = type[0] == 's' ? int64_t(static_cast<int16_t>(a)) *
                                             static_cast<int16_t>(b)
                                       : int64_t(a) * b;
      EXPECT_EQ(results[lane].words[3],
                static_cast<uint64_t>(product / 65536 -
                                      (product % 65536 < 0 ? 1 : 0)) &
                    0xFFFF)
          << type << " " << a << " " << b;
    }
  }
}

/// The documented bound of the relative error; not all results are the nearest
/// numbers, so that nothing depends on an approximation's being exact.
TEST(Instructions, PowerOfTwo) {
  const std::string code = "	ld.global.b32 	%r2, [%rd2];\n"
                           "	ex2.approx.ftz.f32 	%r3, %r2;\n"
                           "	st.global.b32 	[%rd2+24], %r3;\n";
  int rounded = 0;
  for (int round = 0; round < 100; ++round) {
    std::array<Lane, lanes> memory;
    for (int lane = 0; lane < lanes; ++lane)
      memory[lane].words[0] =
          toWord(static_cast<float>((round * lanes + lane) * 0.0781 - 125.0));
    auto results = run(code, memory);
    for (int lane = 0; lane < lanes; ++lane) {
      double exact =
          std::exp2(static_cast<double>(as<float>(memory[lane].words[0])));
      auto got = as<float>(results[lane].words[3]);
      if (exact > std::numeric_limits<float>::max())
        continue;
      EXPECT_LE(std::fabs(got - exact), exact * 0x1p-22);
      rounded += got == static_cast<float>(exact);
    }
  }
  EXPECT_LT(rounded, 100 * lanes / 2);

  float infinity = std::numeric_limits<float>::infinity();
  std::array<Lane, lanes> memory;
  memory[0].words[0] = toWord(-infinity);
  memory[1].words[0] = toWord(infinity);
  memory[2].words[0] = toWord(-0.0F);
  memory[3].words[0] = toWord(std::nanf(""));
  memory[4].words[0] = toWord(-130.0F);
  auto results = run(code, memory);
  EXPECT_EQ(as<float>(results[0].words[3]), 0);
  EXPECT_EQ(as<float>(results[1].words[3]), infinity);
  EXPECT_EQ(as<float>(results[2].words[3]), 1);
  EXPECT_TRUE(std::isnan(as<float>(results[3].words[3])));
  EXPECT_EQ(as<float>(results[4].words[3]), 0);
}

/// Ties go to the even number.
TEST(Instructions, RoundToBfloat) {
  std::array<Lane, lanes> memory;
  for (int lane = 0; lane < lanes; ++lane)
    memory[lane].words = {
        toWord(std::bit_cast<float>(0x3F808000U * 1U + lane * 0x00004001U)),
        toWord(-1.0F - static_cast<float>(lane) / 256)};
  auto results = run("	ld.global.b32 	%r2, [%rd2];\n"
                     "	ld.global.b32 	%r3, [%rd2+8];\n"
                     "	cvt.rn.bf16.f32 	%rs1, %r2;\n"
                     "	st.global.b16 	[%rd2+16], %rs1;\n"
                     "	cvt.rn.bf16x2.f32 	%r4, %r2, %r3;\n"
                     "	st.global.b32 	[%rd2+24], %r4;\n",
                     memory);
  for (int lane = 0; lane < lanes; ++lane) {
    auto round = [](float value) {
      auto bits = std::bit_cast<uint32_t>(value);
      uint32_t low = bits & 0xFFFFU, high = bits >> 16;
      return high + (low > 0x8000U || (low == 0x8000U && high % 2 == 1));
    };
    uint32_t first = round(as<float>(memory[lane].words[0]));
    uint32_t second = round(as<float>(memory[lane].words[1]));
    EXPECT_EQ(results[lane].words[2] & 0xFFFFU, first);
    EXPECT_EQ(static_cast<uint32_t>(results[lane].words[3]),
              first << 16 | second);
  }
}

/// Saturating, ties to even, the first operand in the upper byte.
TEST(Instructions, RoundToFloat8) {
  std::array<Lane, lanes> memory;
  const float numbers[] = {17, 19, -1e30F, 0.0009765625F, -0.0029296875F, 1};
  for (int lane = 0; lane < lanes; ++lane)
    memory[lane].words = {toWord(numbers[lane % 6]), toWord(448.0F)};
  auto results = run("	ld.global.b32 	%r2, [%rd2];\n"
                     "	ld.global.b32 	%r3, [%rd2+8];\n"
                     "	cvt.rn.satfinite.e4m3x2.f32 	%rs1, %r3, %r2;\n"
                     "	st.global.b16 	[%rd2+16], %rs1;\n"
                     "	cvt.rn.satfinite.e5m2x2.f32 	%rs2, %r3, %r2;\n"
                     "	st.global.b16 	[%rd2+24], %rs2;\n",
                     memory);
  // 16, 20, -448, 0, -2^-8, 1; and 16, 20, -57344, 2^-10, -3 * 2^-10, 1.
  const uint16_t e4m3[] = {0x7e58, 0x7e5a, 0x7efe, 0x7e00, 0x7e82, 0x7e38};
  const uint16_t e5m2[] = {0x5f4c, 0x5f4d, 0x5ffb, 0x5f14, 0x5f9a, 0x5f3c};
  for (int lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(results[lane].words[2] & 0xFFFFU, e4m3[lane % 6]) << lane;
    EXPECT_EQ(results[lane].words[3] & 0xFFFFU, e5m2[lane % 6]) << lane;
  }
}

/// Integers too: 257 is between two numbers, and becomes the even one.
TEST(Instructions, BfloatOfIntegers) {
  std::array<Lane, lanes> memory;
  for (int lane = 0; lane < lanes; ++lane)
    memory[lane].words[0] = 250 + lane;
  auto results = run("	ld.global.b16 	%rs2, [%rd2];\n"
                     "	cvt.rn.bf16.u16 	%rs1, %rs2;\n"
                     "	st.global.b16 	[%rd2+24], %rs1;\n",
                     memory);
  auto get = [&](int number) {
    auto bits = static_cast<uint32_t>(results[number - 250].words[3]) << 16;
    return std::bit_cast<float>(bits);
  };
  for (auto [number, expected] :
       {std::pair(255, 255.0F), {256, 256}, {257, 256}, {258, 258}, {259, 260}})
    EXPECT_EQ(get(number), expected);
}

} // namespace

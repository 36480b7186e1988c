// SPDX-License-Identifier: Apache-2.0

// Matmuls by a matrix that is encoded against those by its numbers: the forward
// pass and the gradient of the input, of 2048 x 2048 weights. What is printed
// are the best times of the rounds, which alternate, and their ratio.
//
//   cmake --build --preset release --target ingot-bench-bases
//   INGOT_THREADS=1 build/release/bin/ingot-bench-bases [ROUNDS]

#include "runtime/core/Context.h"
#include "runtime/core/Memory.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "runtime/quantization/BlockCodes.h"
#include "test/bench/programs/KernelTime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

using namespace ingot::runtime;
using namespace ingot::quantization;
using ingot::runtime::bench::measure;

namespace {

constexpr int64_t kSize = 2048;

ingot::cpu::ScratchMachine describeMachine() {
  ingot::cpu::ScratchMachine machine;
  machine.threads = getThreadCount();
  machine.tilesHalves = machine.tilesF32 = hasTileUnits();
  return machine;
}

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

void compare(const char *name, const Encoding &encoding, int64_t rows,
             int32_t type, int rounds) {
  std::minstd_rand random;
  std::normal_distribution<float> normal;
  std::vector<float> numbers(kSize * kSize), inputs(rows * kSize);
  for (float &number : numbers)
    number = normal(random);
  for (float &number : inputs)
    number = normal(random);
  const Encoded encoded = encode(encoding, numbers.data(), kSize * kSize);
  const float *nested = encoding.hasNested() ? encoded.nested.data() : nullptr;
  const std::vector<char> a = makeElements(inputs, type);
  const std::vector<char> b = makeElements(numbers, type);
  std::vector<char> c(a.size());
  ingot_context context;
  double dense = 1e9, decoded = 1e9;
  std::vector<ingot_decoded_matmul_desc> descs;
  std::vector<ingot_matmul_desc> denseDescs;
  int64_t bytes = 0;
  // The gradient of the input reads the matrix in its other order.
  for (int transposed : {1, 0}) {
    ingot_decoded_matmul_desc desc = {};
    desc.m = rows;
    desc.n = desc.k = kSize;
    desc.block = encoding.block;
    desc.encoding = encoding.kind;
    desc.transpose_b = transposed;
    desc.a_type = desc.c_type = type;
    ingot_matmul_desc plain = ingot::cpu::getDense(desc);
    plain.math = desc.math = getMath(plain, describeMachine());
    plain.scratch_bytes = desc.scratch_bytes =
        ingot::cpu::getScratchBytes(plain, describeMachine());
    bytes = std::max<int64_t>(bytes, desc.scratch_bytes);
    descs.push_back(desc);
    denseDescs.push_back(plain);
  }
  Block scratch(bytes, "scratch");
  for (int round = 0; round < rounds; ++round) {
    dense =
        std::min(dense, measure([&] {
                   for (const ingot_matmul_desc &desc : denseDescs)
                     ingot_matmul(&context, &desc, a.data(), b.data(), nullptr,
                                  nullptr, c.data(), scratch.getData());
                 }));
    decoded = std::min(decoded, measure([&] {
                         for (const ingot_decoded_matmul_desc &desc : descs)
                           ingot_decoded_matmul(&context, &desc, a.data(),
                                                encoded.codes.data(),
                                                encoded.scales.data(), nested,
                                                c.data(), scratch.getData());
                       }));
  }
  std::printf("%-12s %4ld rows %s: dense %7.2f ms, decoded %7.2f ms, ratio "
              "%.3f\n",
              name, static_cast<long>(rows),
              type == INGOT_F32 ? "fp32" : "bf16", dense * 1e3, decoded * 1e3,
              decoded / dense);
}

} // namespace

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  const struct {
    const char *name;
    Encoding encoding;
  } encodings[] = {{"nf4", {INGOT_CODE_NF4, 64}},
                   {"nf4 double", {INGOT_CODE_NF4, 64, true}},
                   {"int4", {INGOT_CODE_INT4, 64}},
                   {"int8", {INGOT_CODE_INT8, 64}}};
  for (const auto &[name, encoding] : encodings) {
    for (int64_t rows : {64, 256, 512})
      compare(name, encoding, rows, INGOT_F32, rounds);
    compare(name, encoding, 256, INGOT_BF16, rounds);
  }
}

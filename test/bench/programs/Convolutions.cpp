// SPDX-License-Identifier: Apache-2.0

// Convolutions with channels last, in fp32 or bf16, against direct convolution,
// which differs where another algorithm is chosen, alternating in one run:
// GFLOP/s of the forward pass and of the gradients of input and filter, counted
// as direct convolutions, the best of the rounds. INGOT_MAX_ISA holds both to a
// level.
//
//   cmake --build --preset release --target ingot-bench-convolutions
//   OMP_NUM_THREADS=1 build/release/bin/ingot-bench-convolutions [ROUNDS
//   [bf16]]

#include "runtime/core/Context.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/direct/DirectConvolution.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "test/bench/programs/KernelTime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

using namespace ingot::runtime;
using ingot::cpu::ConvKind;
using ingot::runtime::bench::measure;

namespace {

struct Shape {
  int64_t batch, size, in, out, kernel, stride, groups;
};

/// Elements of a type, in the memory of as many in f32.
std::vector<float> draw(int64_t count, ingot_dtype type) {
  std::vector<float> values(count), halves(count);
  std::minstd_rand random;
  for (float &value : values)
    value = static_cast<float>(random() % 65536) / 65536 - 0.5f;
  if (type == INGOT_F32)
    return values;
  roundFromF32(values.data(), halves.data(), type, count);
  return halves;
}

void compare(const Shape &s, ingot_dtype type, int rounds) {
  ingot_conv_desc d = {};
  d.type = type;
  d.channels_last = 1;
  d.spatial_rank = 2;
  d.batch = s.batch;
  d.in_channels = s.in;
  d.out_channels = s.out;
  d.groups = s.groups;
  for (int axis = 0; axis < 2; ++axis) {
    d.in[axis] = s.size;
    d.kernel[axis] = s.kernel;
    d.stride[axis] = s.stride;
    d.dilation[axis] = 1;
    d.pad_low[axis] = d.pad_high[axis] = s.kernel / 2;
    d.out[axis] = (s.size + 2 * (s.kernel / 2) - s.kernel) / s.stride + 1;
  }
  ingot::cpu::ScratchMachine machine = {getThreadCount()};
  machine.tilesHalves = hasTileUnits();
  int64_t taps = s.kernel * s.kernel * s.in / s.groups;
  std::vector<float> input = draw(s.batch * s.size * s.size * s.in, type);
  std::vector<float> filter = draw(s.out * taps, type);
  std::vector<float> output = draw(s.batch * d.out[0] * d.out[1] * s.out, type);
  // Aligned as in a trainer, which plans scratch memory.
  Block result(std::max({input.size(), filter.size(), output.size()}) *
                   sizeof(float),
               "result");
  for (ingot_math math : {INGOT_MATH_WINOGRAD, INGOT_MATH_TILES}) {
    d.math = math;
    d.scratch_bytes =
        std::max(d.scratch_bytes, ingot::cpu::getScratchBytes(d, machine));
  }
  Block scratch(d.scratch_bytes, "scratch");
  ingot::cpu::DirectBlocking blockings[] = {
      {d, ConvKind::Forward, getThreadCount()},
      {d, ConvKind::InputGrad, getThreadCount()},
      {d, ConvKind::FilterGrad, getThreadCount()}};
  ingot_context context;
  double flops =
      2e-9 * static_cast<double>(output.size()) * static_cast<double>(taps);
  std::printf("%4lld %4lld %4lld %5lld %2lld %2lld %4lld",
              static_cast<long long>(s.batch), static_cast<long long>(s.size),
              static_cast<long long>(s.in), static_cast<long long>(s.out),
              static_cast<long long>(s.kernel),
              static_cast<long long>(s.stride),
              static_cast<long long>(s.groups));
  for (ConvKind kind :
       {ConvKind::Forward, ConvKind::InputGrad, ConvKind::FilterGrad}) {
    d.math = getMath(d, kind, machine);
    if (d.math == INGOT_MATH_EXACT && ingot::cpu::hasWinogradForm(d))
      d.math = INGOT_MATH_WINOGRAD;
    const void *first =
        kind == ConvKind::Forward ? input.data() : output.data();
    const void *second =
        kind == ConvKind::FilterGrad ? input.data() : filter.data();
    auto *entry = kind == ConvKind::Forward     ? ingot_conv
                  : kind == ConvKind::InputGrad ? ingot_conv_input_grad
                                                : ingot_conv_filter_grad;
    double own = 1e9, theirs = 1e9;
    for (int round = 0; round < rounds; ++round) {
      own = std::min(own, measure([&] {
                       entry(&context, &d, first, second, result.getData(),
                             scratch.getData());
                     }));
      theirs = std::min(
          theirs, measure([&] {
            convolveDirect(d, kind, first, second, result.getData(),
                           context.getScratch(blockings[int(kind)].getBytes(),
                                              nullptr, 0));
          }));
    }
    std::printf(" %8.1f %8.1f %5.2f", flops / own, flops / theirs,
                theirs / own);
  }
  std::printf("\n");
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) try {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  if (rounds <= 0) {
    std::fprintf(stderr, "error: ROUNDS: not a positive number\nhint: "
                         "ingot-bench-convolutions [ROUNDS [bf16]]\n");
    return 2;
  }
  bool isHalf = argc > 2 && std::strcmp(argv[2], "bf16") == 0;
  ingot_dtype type = isHalf ? INGOT_BF16 : INGOT_F32;
  std::printf("%29s %24s %24s\n%4s %4s %4s %5s %2s %2s %4s", "forward",
              "input gradient", "filter gradient", "n", "size", "in", "out",
              "k", "s", "g");
  for (int i = 0; i < 3; ++i)
    std::printf(" %8s %8s %5s", "ingot", "direct", "ratio");
  std::printf("\n");
  // Of resnet18 on 32 x 32, of ResNet-50 and of MobileNet.
  for (const Shape &shape :
       {Shape{16, 32, 64, 64, 3, 1, 1}, {16, 16, 128, 128, 3, 1, 1},
        {16, 8, 256, 256, 3, 1, 1},     {16, 7, 512, 512, 3, 1, 1},
        {64, 4, 512, 512, 3, 1, 1},     {16, 32, 64, 128, 3, 2, 1},
        {16, 14, 512, 512, 3, 2, 1},    {16, 56, 64, 64, 1, 1, 1},
        {16, 56, 256, 64, 1, 1, 1},     {16, 32, 64, 256, 1, 1, 1},
        {16, 28, 512, 128, 1, 1, 1},    {16, 14, 256, 1024, 1, 1, 1},
        {16, 7, 2048, 512, 1, 1, 1},    {16, 56, 24, 144, 1, 1, 1},
        {16, 28, 256, 512, 1, 2, 1},    {4, 224, 3, 64, 7, 2, 1},
        {16, 14, 256, 256, 3, 1, 32},   {16, 32, 96, 96, 3, 1, 96},
        {16, 32, 96, 96, 3, 2, 96},     {16, 14, 480, 480, 5, 1, 480}})
    compare(shape, type, rounds);
  return 0;
} catch (const Error &error) {
  std::fputs(error.format().c_str(), stderr);
  return static_cast<int>(error.getCode());
}

// SPDX-License-Identifier: Apache-2.0

#include "tools/ingot-measure/Measure.h"

#include "passes/targets/cpu/CpuMachine.h"
#include "passes/targets/cpu/CpuScratch.h"
#include "runtime/core/Context.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <random>

using namespace ingot;
using namespace ingot::runtime;

namespace {

/// Returns the time in seconds of the fastest of several calls, after one that
/// is not counted.
double bestSeconds(int runs, const std::function<void()> &call) {
  using Clock = std::chrono::steady_clock;
  call();
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < runs; ++i) {
    Clock::time_point begin = Clock::now();
    call();
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    best = std::min(best, elapsed.count());
  }
  return best;
}

int64_t bytesOf(ingot_dtype type) {
  return type == INGOT_F64 ? 8 : type == INGOT_F32 ? 4 : 2;
}

/// Returns a buffer of zeros, which have the same bytes in every type, touched
/// once.
Block makeZeros(int64_t bytes) {
  Block block(bytes, "a measurement");
  std::memset(block.getData(), 0, bytes);
  return block;
}

/// Fills a buffer with random numbers near 1: CPUs multiply zeros faster,
/// because they use less power.
Block makeNumbers(ingot_dtype type, int64_t count) {
  Block block(count * bytesOf(type), "a measurement");
  std::minstd_rand random;
  for (int64_t i = 0; i < count; ++i) {
    float value = 1 + static_cast<float>(random() % 65536) / 65536;
    double wide = value;
    char *to = block.getData() + i * bytesOf(type);
    if (type == INGOT_F64)
      std::memcpy(to, &wide, sizeof(wide));
    else if (type == INGOT_F32)
      std::memcpy(to, &value, sizeof(value));
    else
      roundFromF32(&value, reinterpret_cast<uint16_t *>(to), type, 1);
  }
  return block;
}

/// A matmul of random numbers, which can be timed again and again.
class TimedMatmul {
public:
  TimedMatmul(ingot_dtype type, int64_t m, int64_t n, int64_t k,
              const Machine &machine, std::optional<ingot_math> math = {})
      : a(makeNumbers(type, m * k)), b(makeNumbers(type, k * n)),
        c(makeZeros(m * n * bytesOf(type))) {
    desc.batch = 1;
    desc.m = m;
    desc.n = n;
    desc.k = k;
    desc.a_type = desc.b_type = desc.c_type = type;
    cpu::ScratchMachine scratchMachine = getScratchMachine(machine);
    desc.math = math ? *math : getMath(desc, scratchMachine);
    desc.scratch_bytes = cpu::getScratchBytes(desc, scratchMachine);
    scratch = makeZeros(desc.scratch_bytes);
  }

  /// The time of the fastest of `runs` calls, in seconds.
  double getBestSeconds(int runs) {
    return bestSeconds(runs, [&] {
      ingot_matmul(&context, &desc, a.getData(), b.getData(),
                   /*a_scales=*/nullptr, /*b_scales=*/nullptr, c.getData(),
                   scratch.getData());
    });
  }

private:
  ingot_context context;
  ingot_matmul_desc desc = {};
  Block a, b, c, scratch;
};

/// Returns the operations per second of a matmul of square matrices on
/// `machine`.
double measureMatmul(ingot_dtype type, int64_t size, const Machine &machine) {
  double seconds =
      TimedMatmul(type, size, size, size, machine).getBestSeconds(4);
  return 2.0 * size * size * size / seconds;
}

/// Returns the time of a large f32 matmul by Strassen's algorithm as a share of
/// that of sums of products. Both are the best of runs in turns.
double measureStrassenShare(const Machine &machine) {
  constexpr int64_t m = 1536, n = 768, k = 768;
  constexpr int rounds = 12;
  TimedMatmul plain(INGOT_F32, m, n, k, machine, INGOT_MATH_EXACT);
  TimedMatmul strassen(INGOT_F32, m, n, k, machine, INGOT_MATH_STRASSEN);
  double plainSeconds = std::numeric_limits<double>::max();
  double strassenSeconds = plainSeconds;
  for (int round = 0; round < rounds; ++round) {
    plainSeconds = std::min(plainSeconds, plain.getBestSeconds(2));
    strassenSeconds = std::min(strassenSeconds, strassen.getBestSeconds(2));
  }
  return strassenSeconds / plainSeconds;
}

/// Returns the operations per second of a typical convolution, 3 x 3 over 64
/// channels: the mean of it and of its gradients.
double measureConvolution(ingot_dtype type, int64_t extent) {
  constexpr int64_t batch = 8, channels = 64, taps = 9;
  ingot_context context;
  ingot_conv_desc desc = {};
  desc.spatial_rank = 2;
  desc.batch = batch;
  desc.in_channels = desc.out_channels = channels;
  desc.groups = 1;
  // As in trainers, which give convolutions this layout.
  desc.channels_last = 1;
  for (int axis = 0; axis < 2; ++axis) {
    desc.in[axis] = desc.out[axis] = extent;
    desc.kernel[axis] = 3;
    desc.stride[axis] = desc.dilation[axis] = 1;
    desc.pad_low[axis] = desc.pad_high[axis] = 1;
  }
  desc.type = type;
  int64_t pixels = batch * extent * extent;
  Block in = makeZeros(pixels * channels * bytesOf(type));
  Block out = makeZeros(pixels * channels * bytesOf(type));
  Block filter = makeZeros(taps * channels * channels * bytesOf(type));
  double seconds = bestSeconds(3, [&] {
    ingot_conv(&context, &desc, in.getData(), filter.getData(), out.getData(),
               nullptr);
    ingot_conv_input_grad(&context, &desc, out.getData(), filter.getData(),
                          in.getData(), nullptr);
    ingot_conv_filter_grad(&context, &desc, out.getData(), in.getData(),
                           filter.getData(), nullptr);
  });
  return 3 * 2.0 * pixels * channels * channels * taps / seconds;
}

/// Returns the operations per second of causal attention, forward, which may be
/// recomputed.
double measureAttention(int32_t type, const Machine &machine) {
  constexpr int64_t heads = 16, tokens = 512, size = 64;
  ingot_context context;
  ingot_attention_desc desc = {};
  desc.batch = 1;
  desc.heads = desc.key_heads = heads;
  desc.queries = desc.keys = tokens;
  desc.size = desc.value_size = size;
  desc.left = -1;
  desc.scale = 0.125;
  desc.type = type;
  for (int64_t *strides : {desc.query_strides, desc.key_strides,
                           desc.value_strides, desc.result_strides}) {
    strides[0] = tokens * heads * size;
    strides[1] = heads * size;
    strides[2] = size;
  }
  desc.math = getMath(desc, getScratchMachine(machine));
  desc.scratch_bytes = cpu::getScratchBytes(desc, getScratchMachine(machine));
  int64_t bytes = tokens * heads * size * 4;
  Block query = makeZeros(bytes), key = makeZeros(bytes),
        value = makeZeros(bytes), result = makeZeros(bytes),
        lse = makeZeros(heads * tokens * 4),
        scratch = makeZeros(desc.scratch_bytes);
  double seconds = bestSeconds(4, [&] {
    ingot_attention(
        &context, &desc, query.getData(), key.getData(), value.getData(),
        nullptr, nullptr, nullptr, nullptr, nullptr, result.getData(),
        reinterpret_cast<float *>(lse.getData()), scratch.getData());
  });
  constexpr int64_t pairs = tokens * (tokens + 1) / 2;
  return 4.0 * heads * pairs * size / seconds;
}

/// Returns the bytes read and written per second by y = x + c over arrays of
/// `bytes`, in the best of many short runs: other programs may be running.
double measureBandwidth(int64_t bytes, int runs) {
  Block x = makeZeros(bytes), y = makeZeros(bytes);
  auto *from = reinterpret_cast<const float *>(x.getData());
  auto *to = reinterpret_cast<float *>(y.getData());
  constexpr int64_t grain = 4096;
  double seconds = bestSeconds(runs, [&] {
    parallelFor(bytes / 4, grain, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j)
        to[j] = from[j] + 1.0f;
    });
  });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

/// Returns the operations per second of a polynomial, of data in cache: between
/// the simple elementwise ops and the transcendental ones.
template <typename T> double measureVector() {
  constexpr int64_t elements = 1 << 16, grain = 1 << 12;
  constexpr int runs = 32, degree = 8;
  Block x = makeZeros(elements * sizeof(T)),
        y = makeZeros(elements * sizeof(T));
  auto *from = reinterpret_cast<const T *>(x.getData());
  auto *to = reinterpret_cast<T *>(y.getData());
  double seconds = bestSeconds(runs, [&] {
    parallelFor(elements, grain, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        T v = from[j], p = v + 1;
        for (int k = 2; k <= degree; ++k)
          p = p * v + static_cast<T>(k);
        to[j] = p;
      }
    });
  });
  return (2.0 * degree - 1) * static_cast<double>(elements) / seconds;
}

double measureLaunch() {
  constexpr int64_t launches = 1000;
  return bestSeconds(3,
                     [] {
                       for (int64_t i = 0; i < launches; ++i)
                         parallelFor(getThreadCount(), 1, [](int64_t, int64_t) {
                           std::atomic_signal_fence(std::memory_order_seq_cst);
                         });
                     }) /
         launches;
}

} // namespace

Machine ingot::measureMachine() {
  std::vector<std::string> features;
  for (const auto &[name, isThere] : llvm::sys::getHostCPUFeatures())
    // Without what INGOT_MAX_ISA hides.
    if (isThere && runtime::findMissingFeatures({name.str()}).empty())
      features.push_back(name.str());
  Machine machine = describeProcessor(features, getThreadCount());
  machine.matmulF32 = measureMatmul(INGOT_F32, 1024, machine);
  machine.matmulF64 = measureMatmul(INGOT_F64, 128, machine);
  machine.matmulBf16 = measureMatmul(INGOT_BF16, 1024, machine);
  machine.matmulF16 = measureMatmul(INGOT_F16, 1024, machine);
  // Where tile units multiply, it is never chosen.
  if (machine.tilesF32 == 0)
    machine.strassenShare = measureStrassenShare(machine);
  machine.convolutionF32 = measureConvolution(INGOT_F32, 28);
  machine.convolutionF64 = measureConvolution(INGOT_F64, 2);
  machine.convolutionBf16 = measureConvolution(INGOT_BF16, 28);
  machine.convolutionF16 = measureConvolution(INGOT_F16, 28);
  machine.attentionF32 = measureAttention(INGOT_F32, machine);
  machine.attentionBf16 = measureAttention(INGOT_BF16, machine);
  machine.attentionF16 = measureAttention(INGOT_F16, machine);
  machine.vectorF32 = measureVector<float>();
  machine.vectorF64 = measureVector<double>();
  machine.memoryBandwidth = measureBandwidth(128 << 20, 4);
  machine.cacheBandwidth =
      measureBandwidth(static_cast<int64_t>(machine.cacheBytes) / 4, 64);
  machine.launchSeconds = measureLaunch();
  return machine;
}

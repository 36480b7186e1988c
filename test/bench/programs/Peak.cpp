// SPDX-License-Identifier: Apache-2.0

// The arithmetic peak of one thread's vector units in f32: GFLOP/s of
// multiply-adds of registers, none of which waits for another. INGOT_MAX_ISA
// selects the width.
//
//   cmake --build --preset release --target ingot-bench-peak
//   INGOT_MAX_ISA=x86-64-v3 build/release/bin/ingot-bench-peak [ROUNDS]

#include "runtime/core/Error.h"
#include "runtime/core/machine/Features.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace ingot::runtime;
using ingot::abi::CpuLevel;

// A function of its own for each instruction set: as many sums as hide the
// latency of a multiply-add, and as registers hold.
#define INGOT_MULTIPLY_ADDS(NAME, TARGET, LANES, SUMS)                         \
  TARGET static float NAME(int64_t steps, const float *factors) {              \
    using Vector __attribute__((vector_size((LANES) * 4))) = float;            \
    Vector x = factors[0] + Vector{}, y = factors[1] + Vector{};               \
    Vector sum[SUMS];                                                          \
    for (int i = 0; i < (SUMS); ++i)                                           \
      sum[i] = y + static_cast<float>(i);                                      \
    for (int64_t step = 0; step < steps; ++step) {                             \
      _Pragma("unroll") for (int i = 0; i < (SUMS); ++i) sum[i] =              \
          sum[i] * x + y;                                                      \
    }                                                                          \
    Vector all = sum[0];                                                       \
    for (int i = 1; i < (SUMS); ++i)                                           \
      all += sum[i];                                                           \
    return all[0];                                                             \
  }

INGOT_MULTIPLY_ADDS(multiplyBaseline, , 4, 12)
INGOT_MULTIPLY_ADDS(multiplyAvx2, __attribute__((target("avx2,fma"))), 8, 12)
INGOT_MULTIPLY_ADDS(multiplyAvx512, __attribute__((target("avx512f"))), 16, 12)

static double getSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

int main(int argc, char **argv) try {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  if (rounds <= 0) {
    std::fprintf(stderr, "error: ROUNDS: not a positive number\nhint: "
                         "ingot-bench-peak [ROUNDS]\n");
    return 2;
  }
  struct Build {
    float (*run)(int64_t, const float *);
    int64_t lanes, sums;
  };
  CpuLevel level = getCpuLevel();
  Build build = level >= CpuLevel::V4   ? Build{multiplyAvx512, 16, 12}
                : level >= CpuLevel::V3 ? Build{multiplyAvx2, 8, 12}
                                        : Build{multiplyBaseline, 4, 12};
  constexpr int64_t steps = 1 << 20;
  // Sums stay near 1.
  const float factors[] = {0.5f + 1.0f / static_cast<float>(8 + rounds), 0.5f};
  double best = 1e9;
  float result = 0;
  for (int round = 0; round < rounds; ++round) {
    double start = getSeconds();
    result += build.run(steps, factors);
    best = std::min(best, getSeconds() - start);
  }
  if (result == 0)
    return 1;
  std::printf("%.1f\n",
              static_cast<double>(2 * steps * build.lanes * build.sums) / best *
                  1e-9);
  return 0;
} catch (const Error &error) {
  std::fputs(error.format().c_str(), stderr);
  return static_cast<int>(error.getCode());
}

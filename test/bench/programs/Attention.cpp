// SPDX-License-Identifier: Apache-2.0

// Ingot's own attention (runtime/cpu/attention) in fp32, causal or not: GFLOP/s
// of the forward pass and of the gradient, the best of the rounds, counting the
// products that the mask leaves. Beside them stands what the vector units give
// to a matmul of this tree. INGOT_MAX_ISA selects the build that is measured.
//
//   cmake --build --preset release --target ingot-bench-attention
//   INGOT_MAX_ISA=x86-64-v3 build/release/bin/ingot-bench-attention [ROUNDS]

#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/attention/FlashAttention.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "test/bench/programs/KernelTime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace ingot::runtime;
using ingot::runtime::bench::measure;

namespace {

struct Floats {
  explicit Floats(int64_t count)
      : block(count * static_cast<int64_t>(sizeof(float)), "numbers"),
        data(reinterpret_cast<float *>(block.getData())) {
    std::minstd_rand random;
    for (int64_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(random() % 65536) / 65536 - 0.5f;
  }
  /// Returns a view of [batch, rows, heads, columns].
  template <typename View>
  View view(int64_t rows, int64_t heads, int64_t columns) const {
    int64_t row = heads * columns * static_cast<int64_t>(sizeof(float));
    return {reinterpret_cast<decltype(View::data)>(data), rows * row,
            columns * static_cast<int64_t>(sizeof(float)), row};
  }
  Block block;
  float *data;
};

void run(int64_t batch, int64_t heads, int64_t rows, int64_t size,
         bool isCausal, int rounds) {
  AttentionShape s;
  s.batch = batch;
  s.heads = s.keyHeads = heads;
  s.queries = s.keys = rows;
  s.size = s.valueSize = size;
  s.scale = 0.125f;
  s.right = isCausal ? 0 : -1;
  int64_t count = batch * heads * rows * size;
  Floats q(count), k(count), v(count), out(count), g(count), dq(count),
      dk(count), dv(count), lse(batch * heads * rows),
      delta(batch * heads * rows);
  Block scratch(flashAttentionScratch(s) * getThreadCount(), "scratch");
  auto in = [&](const Floats &floats) {
    return floats.view<ReadRows>(rows, heads, size);
  };
  auto written = [&](const Floats &floats) {
    return floats.view<WrittenRows>(rows, heads, size);
  };
  double forward = 1e9, backward = 1e9;
  for (int round = 0; round < rounds; ++round) {
    forward = std::min(forward, measure([&] {
                         flashAttention(s, in(q), in(k), in(v), written(out),
                                        lse.data, scratch.getData());
                       }));
    backward = std::min(backward, measure([&] {
                          flashAttentionGrad(s, in(q), in(k), in(v), in(out),
                                             lse.data, in(g), written(dq),
                                             written(dk), written(dv),
                                             delta.data, scratch.getData());
                        }));
  }
  // Two products forward, five backward.
  double scores = isCausal ? rows * (rows + 1) / 2.0 : double(rows) * rows;
  double product = 2e-9 * double(batch) * heads * scores * size;
  std::printf("%5lld %5lld %5lld %5lld %6s %9.1f %9.1f\n",
              static_cast<long long>(batch), static_cast<long long>(heads),
              static_cast<long long>(rows), static_cast<long long>(size),
              isCausal ? "yes" : "no", 2 * product / forward,
              5 * product / backward);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) try {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  if (rounds <= 0) {
    std::fprintf(stderr, "error: ROUNDS: not a positive number\nhint: "
                         "ingot-bench-attention [ROUNDS]\n");
    return 2;
  }
  std::printf(
      "%s, %d threads\n",
      std::string(ingot::abi::kCpuLevelNames[static_cast<int>(getCpuLevel())])
          .c_str(),
      getThreadCount());
  std::printf("%5s %5s %5s %5s %6s %9s %9s\n", "batch", "heads", "rows", "size",
              "causal", "forward", "gradient");
  struct Shape {
    int64_t batch, heads, rows, size;
    bool isCausal;
  };
  // The last two are those of BERT and of ViT.
  constexpr Shape shapes[] = {{8, 6, 256, 64, true},   {4, 12, 128, 64, true},
                              {1, 12, 1024, 64, true}, {4, 4, 512, 32, true},
                              {4, 12, 128, 64, false}, {4, 12, 197, 64, false}};
  for (auto [batch, heads, rows, size, isCausal] : shapes)
    run(batch, heads, rows, size, isCausal, rounds);
  return 0;
} catch (const Error &error) {
  std::fputs(error.format().c_str(), stderr);
  return static_cast<int>(error.getCode());
}

// Matrix products of ours (runtime/cpu/gemm) against oneDNN called alone, both
// sides alternating in one run: the products of gpt2 at 4 x 128 tokens and of
// gpt-mini at 8 x 256, forward (x w^T), by the input (dy w) and by the weights
// (dy^T x). Prints GFLOP/s of each, the best of the rounds, and the ratio.
//
//   cmake --build --preset release --target ingot-bench-products
//   OMP_NUM_THREADS=2 build/release/bin/ingot-bench-products [ROUNDS]

#include "dnnl.hpp"
#include "runtime/core/Memory.h"
#include "runtime/cpu/gemm/Gemm.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace ingot::runtime;
using dnnl::memory;

namespace {

struct Product {
  int64_t m, n, k;
  bool transposesA, transposesB;
};

template <typename Function> double measure(Function run) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A matrix in memory of its own, as a trainer has it.
struct Matrix {
  explicit Matrix(int64_t elements)
      : block(elements * static_cast<int64_t>(sizeof(float)), "matrix"),
        data(reinterpret_cast<float *>(block.getData())) {
    for (int64_t i = 0; i < elements; ++i)
      data[i] = static_cast<float>(i % 97) / 97.0f - 0.5f;
  }
  Block block;
  float *data;
};

memory::desc describe(int64_t rows, int64_t columns, bool transposed) {
  return {{rows, columns},
          memory::data_type::f32,
          transposed ? memory::dims{1, rows} : memory::dims{columns, 1}};
}

double compare(const Product &p, int rounds, dnnl::engine &engine,
               dnnl::stream &stream) {
  Matrix a(p.m * p.k), b(p.k * p.n), ours(p.m * p.n), theirs(p.m * p.n);
  Gemm gemm = {1,
               p.m,
               p.n,
               p.k,
               {a.data, INGOT_F32},
               0,
               p.transposesA ? 1 : p.k,
               p.transposesA ? p.m : 1,
               {b.data, INGOT_F32},
               0,
               p.transposesB ? 1 : p.n,
               p.transposesB ? p.k : 1,
               ours.data,
               0,
               p.n};
  Block scratch(static_cast<int64_t>(getGemmScratchBytes(gemm)), "scratch");
  memory::desc aDesc = describe(p.m, p.k, p.transposesA);
  memory::desc bDesc = describe(p.k, p.n, p.transposesB);
  memory::desc cDesc = describe(p.m, p.n, false);
  dnnl::matmul matmul({engine, aDesc, bDesc, cDesc});
  memory aMemory(aDesc, engine, a.data), bMemory(bDesc, engine, b.data);
  memory cMemory(cDesc, engine, theirs.data);

  double ownSeconds = 1e9, seconds = 1e9;
  for (int round = 0; round < rounds; ++round) {
    ownSeconds = std::min(ownSeconds,
                          measure([&] { runGemm(gemm, scratch.getData()); }));
    seconds = std::min(seconds, measure([&] {
                         matmul.execute(stream, {{DNNL_ARG_SRC, aMemory},
                                                 {DNNL_ARG_WEIGHTS, bMemory},
                                                 {DNNL_ARG_DST, cMemory}});
                         stream.wait();
                       }));
  }
  double flops = 2.0 * p.m * p.n * p.k * 1e-9;
  std::printf("%6lld %6lld %6lld %9s %9.1f %9.1f %6.2f\n",
              static_cast<long long>(p.m), static_cast<long long>(p.n),
              static_cast<long long>(p.k),
              p.transposesA   ? "a^T b"
              : p.transposesB ? "a b^T"
                              : "a b",
              flops / ownSeconds, flops / seconds, seconds / ownSeconds);
  std::fflush(stdout);
  return seconds / ownSeconds;
}

} // namespace

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  if (rounds <= 0 || !canRunGemm()) {
    std::fprintf(stderr,
                 "error: %s\nhint: ingot-bench-products [ROUNDS], on a "
                 "processor with AVX-512\n",
                 rounds <= 0 ? "ROUNDS: not a positive number"
                             : "this processor lacks AVX-512");
    return 2;
  }
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  std::printf("%6s %6s %6s %9s %9s %9s %6s\n", "m", "n", "k", "", "ingot",
              "oneDNN", "ratio");
  double worst = 1e9;
  // Inputs and outputs of the layers, and the rows.
  constexpr int64_t layers[][3] = {
      {384, 1152, 2048}, {384, 384, 2048}, {384, 1536, 2048},
      {1536, 384, 2048}, {768, 2304, 512}, {768, 768, 512},
      {768, 3072, 512},  {3072, 768, 512}, {768, 50257, 512}};
  for (auto [in, out, rows] : layers)
    for (Product product : {Product{rows, out, in, false, true},
                            Product{rows, in, out, false, false},
                            Product{out, in, rows, true, false}})
      worst = std::min(worst, compare(product, rounds, engine, stream));
  std::printf("lowest ratio %.2f\n", worst);
  return 0;
}

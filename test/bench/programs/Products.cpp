// SPDX-License-Identifier: Apache-2.0

// Ingot's own GEMM (runtime/cpu/gemm) against oneDNN's, alternating in one run:
// the matmuls of gpt2 at 4 x 128 tokens, of gpt-mini at 8 x 256, and of the
// mlp, forward (x w^T) and the gradients of the input (dy w) and of the weights
// (dy^T x). Prints the GFLOP/s of each, the best of the rounds, and the ratio.
// Uses AMX where the CPU has it; `vectors` measures the f32 vector kernels in
// any case. 16 bits without instructions for them are compared with this tree's
// own f32.
//
//   cmake --build --preset release --target ingot-bench-products
//   OMP_NUM_THREADS=2 build/release/bin/ingot-bench-products
//       [ROUNDS [f32|bf16|f16|vectors|strassen]]

#include "dnnl.hpp"
#include "runtime/core/Context.h"
#include "runtime/core/Memory.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/onednn/DnnlCall.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"
#include "test/bench/programs/KernelTime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string_view>

using namespace ingot::runtime;
using dnnl::memory;
using ingot::runtime::bench::measure;

namespace {

struct Product {
  int64_t m, n, k;
  bool transposesA, transposesB;
};

/// A matrix in memory of its own, as a trainer has it. Random digits:
/// processors multiply others faster, for less power.
struct Matrix {
  Matrix(int64_t elements, int32_t type)
      : block(elements * (type == INGOT_F32 ? 4 : 2), "matrix"),
        data(block.getData()) {
    std::minstd_rand random;
    for (int64_t i = 0; i < elements; ++i) {
      float value = static_cast<float>(random() % 65536) / 65536 - 0.5f;
      if (type == INGOT_F32)
        static_cast<float *>(data)[i] = value;
      else
        roundFromF32(&value, static_cast<uint16_t *>(data) + i, type, 1);
    }
  }
  Block block;
  void *data;
};

memory::desc describe(int64_t rows, int64_t columns, int32_t type,
                      bool transposed) {
  return {{rows, columns},
          getDnnlType(type),
          transposed ? memory::dims{1, rows} : memory::dims{columns, 1}};
}

double compare(const Product &p, int32_t type, bool onTiles, ingot_math math,
               int rounds, dnnl::engine &engine, dnnl::stream &stream) {
  // As trainers have them: activations are half precision again, gradients of
  // weights are not.
  int32_t resultType = p.transposesA ? INGOT_F32 : type;
  Matrix a(p.m * p.k, type), b(p.k * p.n, type), ours(p.m * p.n, resultType),
      theirs(p.m * p.n, resultType);
  ingot_matmul_desc product = {};
  product.batch = 1;
  product.m = p.m;
  product.n = p.n;
  product.k = p.k;
  product.transpose_a = p.transposesA;
  product.transpose_b = p.transposesB;
  product.a_type = product.b_type = type;
  product.c_type = resultType;
  product.math = math;
  ingot_context context;
  std::function<void()> runOther;
  bool isDot = type == INGOT_BF16 && gemm::multipliesBf16();
  if (type != INGOT_F32 && !onTiles && !isDot) {
    ingot_matmul_desc wide = product;
    wide.a_type = wide.b_type = wide.c_type = INGOT_F32;
    auto wideA = std::make_shared<Matrix>(p.m * p.k, INGOT_F32);
    auto wideB = std::make_shared<Matrix>(p.k * p.n, INGOT_F32);
    auto wideC = std::make_shared<Matrix>(p.m * p.n, INGOT_F32);
    runOther = [=, &context] {
      multiplyPacked(&context, wide, /*onTiles=*/false, wideA->data,
                     wideB->data, wideC->data, nullptr);
    };
  } else {
    memory::desc aDesc = describe(p.m, p.k, type, p.transposesA);
    memory::desc bDesc = describe(p.k, p.n, type, p.transposesB);
    memory::desc cDesc = describe(p.m, p.n, resultType, false);
    dnnl::matmul matmul({engine, aDesc, bDesc, cDesc});
    memory aMemory(aDesc, engine, a.data), bMemory(bDesc, engine, b.data);
    memory cMemory(cDesc, engine, theirs.data);
    runOther = [=, &stream]() mutable {
      matmul.execute(stream, {{DNNL_ARG_SRC, aMemory},
                              {DNNL_ARG_WEIGHTS, bMemory},
                              {DNNL_ARG_DST, cMemory}});
      stream.wait();
    };
  }

  double ownSeconds = 1e9, seconds = 1e9;
  for (int round = 0; round < rounds; ++round) {
    ownSeconds = std::min(ownSeconds, measure([&] {
                            multiplyPacked(&context, product, onTiles, a.data,
                                           b.data, ours.data, nullptr);
                          }));
    seconds = std::min(seconds, measure(runOther));
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
  std::string_view name = argc > 2 ? argv[2] : "f32";
  int32_t type = name == "bf16"  ? INGOT_BF16
                 : name == "f16" ? INGOT_F16
                 : name == "f32" || name == "vectors" || name == "strassen"
                     ? INGOT_F32
                     : -1;
  bool onTiles = hasTileUnits() && name != "vectors" && name != "strassen";
  ingot_math math = name == "strassen" ? INGOT_MATH_STRASSEN : INGOT_MATH_EXACT;
  if (rounds <= 0 || type < 0) {
    std::fprintf(stderr,
                 "error: %s\nhint: ingot-bench-products [ROUNDS "
                 "[f32|bf16|f16|vectors|strassen]]\n",
                 rounds <= 0 ? "ROUNDS: not a positive number" : "not a type");
    return 2;
  }
  useAllThreads();
  dnnl::engine engine = getDnnlEngine();
  dnnl::stream stream = getDnnlStream();
  std::printf("%6s %6s %6s %9s %9s %9s %6s\n", "m", "n", "k", "", "ingot",
              type == INGOT_F32 || onTiles ||
                      (type == INGOT_BF16 && gemm::multipliesBf16())
                  ? "oneDNN"
                  : "f32",
              "ratio");
  double worst = 1e9;
  // Inputs and outputs of the layers, and the rows.
  constexpr int64_t layers[][3] = {
      {384, 1152, 2048}, {384, 384, 2048}, {384, 1536, 2048}, {1536, 384, 2048},
      {768, 2304, 512},  {768, 768, 512},  {768, 3072, 512},  {3072, 768, 512},
      {768, 50257, 512}, {784, 512, 128},  {512, 512, 128}};
  for (auto [in, out, rows] : layers)
    for (Product product : {Product{rows, out, in, false, true},
                            Product{rows, in, out, false, false},
                            Product{out, in, rows, true, false}})
      worst = std::min(
          worst, compare(product, type, onTiles, math, rounds, engine, stream));
  std::printf("lowest ratio %.2f\n", worst);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Matmul by cuBLASLt, which is loaded on demand.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_BLASLT_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_BLASLT_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cuda/driver/Library.h"
#include "runtime/cuda/libraries/Tuner.h"

#include <cublasLt.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define INGOT_BLASLT_FUNCTIONS(X)                                              \
  X(cublasLtCreate)                                                            \
  X(cublasLtDestroy)                                                           \
  X(cublasLtGetStatusString)                                                   \
  X(cublasLtGetVersion)                                                        \
  X(cublasLtMatmul)                                                            \
  X(cublasLtMatmulAlgoCheck)                                                   \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmulDescCreate)                                                  \
  X(cublasLtMatmulDescDestroy)                                                 \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatmulPreferenceCreate)                                            \
  X(cublasLtMatmulPreferenceDestroy)                                           \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatrixLayoutCreate)                                                \
  X(cublasLtMatrixLayoutDestroy)                                               \
  X(cublasLtMatrixLayoutSetAttribute)

namespace ingot::runtime {

class BlasLt {
public:
  /// Enqueues matmuls in `stream`, with algorithms that `tuner` finds if it is
  /// not null. Throws failure if there is no library.
  BlasLt(const Driver &driver, CUstream stream, Tuner *tuner);
  ~BlasLt();

  /// The addresses of what a matmul multiplies; only operands of 8-bit floats
  /// have scales.
  struct Factors {
    const void *a, *b, *aScales, *bScales;
  };

  /// Enqueues what comes in another stream.
  void setStream(CUstream current, bool beside) {
    stream = current;
    isBeside = beside;
  }
  /// Enqueues c = a x b (ingot_matmul). Throws failure.
  void multiply(ingot_context &context, const ingot_matmul_desc &desc,
                const Factors &factors, void *c, void *scratch);
  /// Enqueues a matmul with its epilogue; returns false if the library does not
  /// have it, or if `separately`, which enqueues the product and the kernels of
  /// the epilogue, is faster. The first choice is kept. Throws failure.
  bool multiply(ingot_context &context,
                const ingot_matmul_epilogue_grid_desc &desc,
                const Factors &factors, void *scratch, void *const *buffers,
                const std::function<void()> &separately);

private:
  struct Plan;
  std::unique_ptr<Plan> describe(const ingot_matmul_desc &desc,
                                 const Factors &factors) const;
  void describeScales(Plan &plan, const ingot_matmul_desc &desc,
                      const Factors &factors) const;
  void describeSwitches(Plan &plan, const ingot_matmul_desc &desc) const;
  void describe(Plan &plan, const ingot_matmul_epilogue_grid_desc &desc,
                void *const *buffers) const;
  /// The addresses that a matmul reads, writes and works in.
  struct Operands {
    Factors factors;
    const void *addend;
    void *result, *scratch;
    int64_t scratchBytes;
  };
  /// The choice that matmuls of one shape share.
  struct Choice {
    /// Nothing if the library has none.
    std::optional<cublasLtMatmulAlgo_t> algorithm;
    /// Whether the epilogue is faster in kernels of its own, once it is known.
    std::optional<bool> isFasterApart;
  };
  /// Gives the plan the algorithm of its shape, which is chosen for the first
  /// plan. Returns its choice, which has none if there is no algorithm.
  Choice &chooseAlgorithm(Plan &plan, const ingot_matmul_desc &desc,
                          const Operands &operands);
  /// Returns the library's algorithms, best first; none if it has no such
  /// matmul.
  std::vector<cublasLtMatmulAlgo_t>
  listAlgorithms(const Plan &plan, const ingot_matmul_desc &desc,
                 const Operands &operands) const;
  /// Describes everything that the choice of an algorithm depends on, with the
  /// version of the library.
  std::string describeKind(const Plan &plan, const ingot_matmul_desc &desc,
                           const Operands &operands) const;
  /// Returns the algorithm that was kept for a kind of matmul, if the library
  /// knows it.
  std::optional<cublasLtMatmulAlgo_t> findKept(const Plan &plan,
                                               const ingot_matmul_desc &desc,
                                               const std::string &key) const;
  /// Returns the fastest algorithm; nothing if there was no time to find it.
  std::optional<cublasLtMatmulAlgo_t>
  measure(Plan &plan, const std::vector<cublasLtMatmulAlgo_t> &algorithms,
          const Operands &operands, const std::string &key);
  /// Whether the product and its epilogue in kernels of their own are faster
  /// than with the library's epilogue, as measured now or before.
  bool isFasterApart(const Plan &plan, const ingot_matmul_desc &desc,
                     const Operands &operands,
                     const std::function<void()> &separately) const;
  cublasStatus_t run(const Plan &plan, const Operands &operands) const;
  void check(cublasStatus_t status, const char *action) const;

  Library library;
#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_BLASLT_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  cublasLtHandle_t handle = nullptr;
  CUstream stream;
  bool isBeside = false;
  /// Null if the library's first choice is used.
  Tuner *tuner;
  /// By the shape, types and alignments of a matmul.
  std::map<std::string, Choice> choices;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_BLASLT_H

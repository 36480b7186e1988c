//===----------------------------------------------------------------------===//
//
// Matrix products by cuBLASLt, loaded on demand.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_BLASLT_H
#define INGOT_RUNTIME_CUDA_BLASLT_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cuda/Library.h"

#include <cublasLt.h>
#include <memory>

#define INGOT_BLASLT_FUNCTIONS(X)                                              \
  X(cublasLtCreate)                                                            \
  X(cublasLtDestroy)                                                           \
  X(cublasLtGetStatusString)                                                   \
  X(cublasLtMatmul)                                                            \
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
  /// Throws failure if there is none.
  BlasLt();
  ~BlasLt();

  /// Puts c = a x b (ingot_matmul) into the stream. Throws failure.
  void multiply(ingot_context &context, const ingot_matmul_desc &desc,
                const void *a, const void *b, void *c, void *scratch,
                CUstream_st *stream);
  /// Puts a product with its epilogue into the stream, if the library has it:
  /// says so. What is chosen the first time is kept. Throws failure.
  bool multiply(ingot_context &context,
                const ingot_matmul_epilogue_grid_desc &desc, const void *a,
                const void *b, void *scratch, void *const *buffers,
                CUstream_st *stream);

private:
  struct Plan;
  std::unique_ptr<Plan> describe(const ingot_matmul_desc &desc) const;
  void describe(Plan &plan, const ingot_matmul_epilogue_grid_desc &desc,
                void *const *buffers) const;
  /// False if there is none.
  bool chooseAlgorithm(Plan &plan, const ingot_matmul_desc &desc) const;
  cublasStatus_t run(const Plan &plan, const void *a, const void *b,
                     const void *addend, void *result, void *scratch,
                     int64_t scratchBytes, CUstream_st *stream) const;
  void check(cublasStatus_t status, const char *action) const;

  Library library;
#define INGOT_DECLARE(name) decltype(::name) *name;
  INGOT_BLASLT_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  cublasLtHandle_t handle = nullptr;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_BLASLT_H

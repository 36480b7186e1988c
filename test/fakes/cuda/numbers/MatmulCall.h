// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A matmul as the documentation of cublasLtMatmul describes it, for the fake of
// cuBLASLt (cublasLtEpilogue_t, cublasLtMatmulDescAttributes_t).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_MATMULCALL_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_MATMULCALL_H

#include "test/fakes/cuda/numbers/Elements.h"

#include <cublasLt.h>
#include <functional>
#include <string>

namespace fakes {

/// A column-major matrix.
struct Matrix {
  const void *data;
  Element element;
  int64_t rows, columns, leading, batchStride;

  size_t getBytes(int64_t batch) const {
    return ((batch - 1) * batchStride + leading * columns) * getSize(element);
  }
};

/// The scales of a matrix of 8-bit floats, whose rows are m of A or n of B.
struct Scales {
  const void *data = nullptr;
  cublasLtMatmulMatrixScale_t mode = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;

  /// The scale of an element; 1 without scales.
  double get(int64_t row, int64_t inner, int64_t rows, int64_t k) const;
  size_t getBytes(int64_t rows, int64_t k) const;
};

struct MatmulCall {
  Matrix a, b, c, d;
  bool transposesA = false, transposesB = false, roundsToTF32 = false;
  int64_t batch = 1;
  double alpha = 1, beta = 0;
  Scales aScales = {}, bScales = {};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *auxiliary = nullptr;
  Element biasElement = Element::F32;
  int64_t auxiliaryLeading = 0, auxiliaryStride = 0, biasStride = 0;
};

void compute(const MatmulCall &call);
/// Calls `body` for all memory that the matmul reads or writes.
void forEachAccess(const MatmulCall &call,
                   const std::function<void(const void *, size_t bytes,
                                            bool isWritten)> &body);

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_MATMULCALL_H

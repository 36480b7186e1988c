// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A matmul as the documentation of cublasLtMatmul describes it, for the fake of
// cuBLASLt (cublasLtEpilogue_t, cublasLtMatmulDescAttributes_t).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_NUMBERS_MATMULCALL_H
#define INGOT_TEST_FAKES_CUDA_NUMBERS_MATMULCALL_H

#include "test/fakes/cuda/numbers/Values.h"

#include <cublasLt.h>
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

struct MatmulCall {
  Matrix a, b, c, d;
  bool transposesA = false, transposesB = false, roundsToTF32 = false;
  int64_t batch = 1;
  double alpha = 1, beta = 0;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *auxiliary = nullptr;
  Element biasElement = Element::F32;
  int64_t auxiliaryLeading = 0, auxiliaryStride = 0, biasStride = 0;
};

void compute(const MatmulCall &call);

} // namespace fakes

#endif // INGOT_TEST_FAKES_CUDA_NUMBERS_MATMULCALL_H

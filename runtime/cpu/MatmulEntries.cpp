// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_matmul and ingot_matmul_epilogue (Abi.h). They run the packed GEMM of
// this tree, on tile units (AMX) or vector units; f64 is a plain loop.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/DType.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/TileUnits.h"

#include <cstring>
#include <stdexcept>
#include <string>

using namespace ingot::runtime;

static void matmulF64(const ingot_matmul_desc &d, const double *a,
                      const double *b, double *c) {
  int64_t aRow = d.transpose_a ? 1 : d.k, aInner = d.transpose_a ? d.m : 1;
  int64_t bInner = d.transpose_b ? 1 : d.n, bColumn = d.transpose_b ? d.k : 1;
  parallelFor(d.batch * d.m, /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double *aRowData = a + row / d.m * d.m * d.k + row % d.m * aRow;
      const double *bData = b + row / d.m * d.k * d.n;
      for (int64_t column = 0; column < d.n; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < d.k; ++i)
          sum += aRowData[i * aInner] * bData[i * bInner + column * bColumn];
        c[row * d.n + column] = sum;
      }
    }
  });
}

/// Returns whether the epilogue has run.
static bool multiply(ingot_context *context, const ingot_matmul_desc &desc,
                     const void *a, const void *b, void *c, void *scratch,
                     Epilogue epilogue) {
  if (desc.c_type == INGOT_F64) {
    matmulF64(desc, static_cast<const double *>(a),
              static_cast<const double *>(b), static_cast<double *>(c));
    return false;
  }
  if (desc.k == 0) {
    // A sum of no terms.
    int64_t size = getSize(getDType(desc.c_type));
    std::memset(c, 0, desc.batch * desc.m * desc.n * size);
    return false;
  }
  for (int32_t type : {desc.a_type, desc.b_type, desc.c_type})
    if (type != INGOT_F32 && type != INGOT_BF16 && type != INGOT_F16)
      throw std::invalid_argument("nothing multiplies " +
                                  std::string(getName(getDType(type))));
  bool onTiles =
      (desc.math == INGOT_MATH_TILES || desc.math == INGOT_MATH_BF16X3) &&
      hasTileUnits();
  multiplyPacked(context, desc, onTiles, a, b, c, scratch, epilogue);
  return true;
}

static void matmul(ingot_context *context, const ingot_matmul_desc &desc,
                   const void *a, const void *b, void *c, void *scratch,
                   Epilogue epilogue) {
  ProfileScope scope(context, desc.index);
  guardLibraryCall(context, "matmul", [&] {
    int64_t rows = desc.batch * desc.m;
    if (rows == 0 || desc.n == 0)
      return;
    bool isFinished = multiply(context, desc, a, b, c, scratch, epilogue);
    if (!isFinished && epilogue.run)
      parallelFor(rows, /*grain=*/8, [&](int64_t begin, int64_t end) {
        epilogue.run(epilogue.buffers, begin, end, 0, desc.n);
      });
  });
}

void ingot_matmul(ingot_context *context, const ingot_matmul_desc *desc,
                  const void *a, const void *b, const void *, const void *,
                  void *c, void *scratch) {
  matmul(context, *desc, a, b, c, scratch, {});
}

void ingot_matmul_epilogue(ingot_context *context,
                           const ingot_matmul_epilogue_desc *desc,
                           const void *a, const void *b, const void *,
                           const void *, void *c, void *scratch,
                           void *const *buffers) {
  matmul(context, desc->matmul, a, b, c, scratch, {desc->epilogue, buffers});
}

//===----------------------------------------------------------------------===//
//
// ingot_matmul (Abi.h): our own product on tile units (AMX), and in f32 where
// the processor has AVX-512; oneDNN for other processors and for half precision
// on vector units; a plain loop for f64.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Scratch.h"
#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/OneDnn.h"
#include "runtime/cpu/Product.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace ingot::runtime;
using dnnl::memory;
using ingot::runtime::gemm::Elements;

static size_t alignUp(size_t bytes) {
  return (bytes + INGOT_ALIGNMENT - 1) / INGOT_ALIGNMENT * INGOT_ALIGNMENT;
}

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

namespace {
/// Rounds finished sums to half precision, then runs the epilogue on them.
struct Rounding {
  const float *sums;
  int64_t sumsRow;
  void *c;
  int32_t type;
  /// Elements from one row of c to the next, and where the sums belong.
  int64_t cRow, firstRow, firstColumn;
  Epilogue epilogue;

  static void run(void *const *buffers, int64_t rowBegin, int64_t rowEnd,
                  int64_t columnBegin, int64_t columnEnd) {
    const auto &r = *static_cast<const Rounding *>(buffers[0]);
    int64_t row = r.firstRow + rowBegin, column = r.firstColumn + columnBegin;
    for (int64_t i = 0; i < rowEnd - rowBegin; ++i)
      roundFromF32(r.sums + (rowBegin + i) * r.sumsRow + columnBegin,
                   static_cast<uint16_t *>(r.c) + (row + i) * r.cRow + column,
                   r.type, columnEnd - columnBegin);
    if (r.epilogue.run)
      r.epilogue.run(r.epilogue.buffers, row, r.firstRow + rowEnd, column,
                     r.firstColumn + columnEnd);
  }
};
} // namespace

void ingot::runtime::multiplyPacked(ingot_context *context,
                                    const ingot_matmul_desc &d, bool onTiles,
                                    const void *a, const void *b, void *c,
                                    void *planned, Epilogue epilogue) {
  Gemm gemm = {d.batch,
               d.m,
               d.n,
               d.k,
               {a, d.a_type},
               d.m * d.k,
               d.transpose_a ? 1 : d.k,
               d.transpose_a ? d.m : 1,
               {b, d.b_type},
               d.k * d.n,
               d.transpose_b ? 1 : d.n,
               d.transpose_b ? d.k : 1,
               static_cast<float *>(c),
               d.m * d.n,
               d.n,
               epilogue.run,
               epilogue.buffers};
  gemm.onTiles = onTiles;
  if (d.c_type == INGOT_F32) {
    size_t bytes = getGemmScratchBytes(gemm);
    return runGemm(gemm, context->getScratch(bytes, planned, d.scratch_bytes));
  }
  gemm.roundedType = d.c_type;
  gemm.rounded = static_cast<uint16_t *>(c);
  gemm.roundedRow = d.n;
  if (canRound(gemm)) {
    size_t bytes = getGemmScratchBytes(gemm);
    return runGemm(gemm, context->getScratch(bytes, planned, d.scratch_bytes));
  }
  gemm.roundedType = INGOT_F32;
  auto part = ingot::abi::SumPart::of(d, getThreadCount());
  gemm.batch = part.batches;
  gemm.cRow = part.columns;
  gemm.cBatch = d.m * part.columns;
  size_t packs = 0;
  for (int64_t columns : {part.columns, (d.n - 1) % part.columns + 1}) {
    gemm.n = columns;
    packs = std::max(packs, alignUp(getGemmScratchBytes(gemm)));
  }
  size_t sums = part.batches * gemm.cBatch * sizeof(float);
  char *scratch = context->getScratch(packs + sums, planned, d.scratch_bytes);
  gemm.c = reinterpret_cast<float *>(scratch + packs);
  Rounding rounding = {gemm.c, gemm.cRow, c, d.c_type, d.n, 0, 0, epilogue};
  void *const buffers[] = {&rounding};
  gemm.epilogue = Rounding::run;
  gemm.buffers = buffers;
  // Either all batches or all columns are in one part.
  for (int64_t batch = 0; batch < d.batch; batch += part.batches)
    for (int64_t column = 0; column < d.n; column += part.columns) {
      gemm.batch = std::min(part.batches, d.batch - batch);
      gemm.n = std::min(part.columns, d.n - column);
      gemm.a = Elements{a, d.a_type} + batch * gemm.aBatch;
      gemm.b =
          Elements{b, d.b_type} + batch * gemm.bBatch + column * gemm.bColumn;
      rounding.firstRow = batch * d.m;
      rounding.firstColumn = column;
      runGemm(gemm, scratch);
    }
}

/// A [batch, rows, columns] matrix, stored transposed or not.
static memory::desc describe(int64_t batch, int64_t rows, int64_t columns,
                             int32_t type, bool transposed) {
  memory::dims strides = transposed ? memory::dims{rows * columns, 1, rows}
                                    : memory::dims{rows * columns, columns, 1};
  memory::dims dims = {batch, rows, columns};
  if (batch == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  return memory::desc(dims, getDnnlType(type), strides);
}

static std::unique_ptr<DnnlCall> build(const ingot_matmul_desc &d) {
  // An f32 result of half precision is the library's own accumulator.
  int32_t type = getComputeType(d.a_type);
  int32_t resultType = type == d.a_type ? d.c_type : INGOT_F32;
  memory::desc a = describe(d.batch, d.m, d.k, type, d.transpose_a);
  memory::desc b = describe(d.batch, d.k, d.n, type, d.transpose_b);
  memory::desc c = describe(d.batch, d.m, d.n, resultType, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::primitive_desc primitive(getDnnlEngine(), a, b, c, attributes);
  auto call = std::make_unique<DnnlCall>();
  call->addInput(DNNL_ARG_SRC, d.a_type, a, primitive.src_desc());
  call->addInput(DNNL_ARG_WEIGHTS, d.b_type, b, primitive.weights_desc());
  call->addOutput(DNNL_ARG_DST, d.c_type, c, primitive.dst_desc());
  call->setPrimitive(dnnl::matmul(primitive), primitive.scratchpad_desc());
  return call;
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
    // A sum of no terms, which the library does not write.
    size_t size = memory::data_type_size(getDnnlType(desc.c_type));
    std::memset(c, 0, desc.batch * desc.m * desc.n * size);
    return false;
  }
  bool onTiles = desc.math != INGOT_MATH_EXACT && hasTileUnits();
  if (onTiles || (getComputeType(desc.a_type) == INGOT_F32 && canRunGemm())) {
    multiplyPacked(context, desc, onTiles, a, b, c, scratch, epilogue);
    return true;
  }
  context->getCached<DnnlCall>(&desc, /*kind=*/0, [&] { return build(desc); })
      .run(context, {a, b, c}, scratch, desc.scratch_bytes);
  return false;
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
                  const void *a, const void *b, void *c, void *scratch) {
  matmul(context, *desc, a, b, c, scratch, {});
}

void ingot_matmul_epilogue(ingot_context *context,
                           const ingot_matmul_epilogue_desc *desc,
                           const void *a, const void *b, void *c, void *scratch,
                           void *const *buffers) {
  matmul(context, desc->matmul, a, b, c, scratch, {desc->epilogue, buffers});
}

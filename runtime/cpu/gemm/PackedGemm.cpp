#include "runtime/cpu/gemm/PackedGemm.h"

#include "runtime/abi/Scratch.h"
#include "runtime/core/Context.h"
#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/gemm/Gemm.h"

#include <algorithm>

using namespace ingot::runtime;
using ingot::runtime::gemm::Elements;
namespace abi = ingot::abi;

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
  auto part = abi::SumPart::of(d, getThreadCount());
  gemm.batch = part.batches;
  gemm.cRow = part.columns;
  gemm.cBatch = d.m * part.columns;
  size_t packs = 0;
  for (int64_t columns : {part.columns, (d.n - 1) % part.columns + 1}) {
    gemm.n = columns;
    packs = std::max<size_t>(
        packs, abi::alignTo(getGemmScratchBytes(gemm), INGOT_ALIGNMENT));
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

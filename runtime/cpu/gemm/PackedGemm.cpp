// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/gemm/PackedGemm.h"

#include "runtime/core/Context.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/plan/Scratch.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/HalfPrecision.h"

#include <algorithm>

using namespace ingot::runtime;
using ingot::runtime::gemm::Elements;
namespace abi = ingot::abi;
namespace cpu = ingot::cpu;

namespace {
/// An epilogue that rounds complete sums to 16 bits, then runs another on them.
struct Rounding {
  const float *sums;
  int64_t sumsRow;
  void *c;
  int32_t type;
  /// The row stride of c in elements, and the position of the sums in it.
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

namespace {
/// How a matmul runs as one GEMM or several.
struct Plan {
  /// The GEMM without its matrices; where `isInParts`, the largest one.
  Gemm gemm;
  /// Whether sums go to scratch memory, a part of the result at a time, and are
  /// rounded from there.
  bool isInParts = false;
  cpu::SumPart part = {};
  /// Bytes of scratch memory that a GEMM packs operands in, and of all.
  size_t packBytes = 0, bytes = 0;

  Plan(const ingot_matmul_desc &d, bool onTiles, Elements b);
};
} // namespace

Plan::Plan(const ingot_matmul_desc &d, bool onTiles, Elements b)
    : gemm{d.batch,
           d.m,
           d.n,
           d.k,
           {nullptr, d.a_type},
           d.m * d.k,
           d.transpose_a ? 1 : d.k,
           d.transpose_a ? d.m : 1,
           b,
           d.k * d.n,
           d.transpose_b ? 1 : d.n,
           d.transpose_b ? d.k : 1,
           nullptr,
           d.m * d.n,
           d.n} {
  gemm.onTiles = onTiles;
  gemm.byStrassen = d.math == INGOT_MATH_STRASSEN;
  if (d.c_type != INGOT_F32) {
    gemm.roundedType = d.c_type;
    gemm.roundedRow = d.n;
    isInParts = !canRound(gemm);
  }
  if (!isInParts) {
    bytes = packBytes = getGemmScratchBytes(gemm);
    return;
  }
  gemm.roundedType = INGOT_F32;
  part = cpu::SumPart::of(d, getThreadCount());
  gemm.batch = part.batches;
  gemm.cRow = part.columns;
  gemm.cBatch = d.m * part.columns;
  for (int64_t columns : {(d.n - 1) % part.columns + 1, part.columns}) {
    gemm.n = columns;
    packBytes = std::max<size_t>(
        packBytes, abi::alignTo(getGemmScratchBytes(gemm), INGOT_ALIGNMENT));
  }
  bytes = packBytes + part.batches * gemm.cBatch * sizeof(float);
}

size_t ingot::runtime::getPackedScratchBytes(const ingot_matmul_desc &d,
                                             bool onTiles) {
  return Plan(d, onTiles, {nullptr, d.b_type}).bytes;
}

void ingot::runtime::multiplyPacked(ingot_context *context,
                                    const ingot_matmul_desc &d, bool onTiles,
                                    const void *a, const void *b, void *c,
                                    void *planned, Epilogue epilogue) {
  multiplyPacked(context, d, onTiles, a, Elements{b, d.b_type}, c, planned,
                 epilogue);
}

void ingot::runtime::multiplyPacked(ingot_context *context,
                                    const ingot_matmul_desc &d, bool onTiles,
                                    const void *a, Elements b, void *c,
                                    void *planned, Epilogue epilogue) {
  Plan plan(d, onTiles, b);
  Gemm &gemm = plan.gemm;
  char *scratch = context->getScratch(plan.bytes, planned, d.scratch_bytes);
  if (!plan.isInParts) {
    gemm.a.data = a;
    if (d.c_type == INGOT_F32)
      gemm.c = static_cast<float *>(c);
    else
      gemm.rounded = static_cast<uint16_t *>(c);
    gemm.epilogue = epilogue.run;
    gemm.buffers = epilogue.buffers;
    return runGemm(gemm, scratch);
  }
  gemm.c = reinterpret_cast<float *>(scratch + plan.packBytes);
  Rounding rounding = {gemm.c, gemm.cRow, c, d.c_type, d.n, 0, 0, epilogue};
  void *const buffers[] = {&rounding};
  gemm.epilogue = Rounding::run;
  gemm.buffers = buffers;
  // A part is either all columns of some batches or some columns of all.
  auto [batches, columns] = plan.part;
  for (int64_t batch = 0; batch < d.batch; batch += batches)
    for (int64_t column = 0; column < d.n; column += columns) {
      gemm.batch = std::min(batches, d.batch - batch);
      gemm.n = std::min(columns, d.n - column);
      gemm.a = Elements{a, d.a_type} + batch * gemm.aBatch;
      gemm.b = b + batch * gemm.bBatch + column * gemm.bColumn;
      rounding.firstRow = batch * d.m;
      rounding.firstColumn = column;
      runGemm(gemm, scratch);
    }
}

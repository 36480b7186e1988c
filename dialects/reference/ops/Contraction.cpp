// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Contractions: docs/spec/contraction.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

static void matmul(MatmulOp op, Operands in, Results out) {
  const Tensor &lhs = in[0], &rhs = in[1];
  Tensor &result = out[0];
  int64_t m = result.getShape()[result.getRank() - 2];
  int64_t n = result.getShape()[result.getRank() - 1];
  bool transposeLhs = op.getTransposeLhs(), transposeRhs = op.getTransposeRhs();
  int64_t k = lhs.getShape()[lhs.getRank() - (transposeLhs ? 2 : 1)];
  int64_t batch = m * n == 0 ? 0 : result.size() / (m * n);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l) {
        double x = lhs.real(b * m * k + (transposeLhs ? l * m + i : i * k + l));
        for (int64_t j = 0; j < n; ++j)
          result.real((b * m + i) * n + j) +=
              x * rhs.real(b * k * n + (transposeRhs ? j * k + l : l * n + j));
      }
}

/// The scale of an element in row `row` of an operand, `inner` along the sum.
static double scaleOf(const Tensor &scales, ScaleLayout layout, int64_t row,
                      int64_t inner) {
  ArrayRef<int64_t> shape = scales.getShape();
  switch (layout) {
  case ScaleLayout::Tensor:
    return scales.real(0);
  case ScaleLayout::Runs:
    return scales.real(inner / 128 * shape[1] + row);
  case ScaleLayout::Squares:
    return scales.real(row / 128 * shape[1] + inner / 128);
  case ScaleLayout::Tiles:
    break;
  }
  int64_t tile = row / 128 * shape[1] + inner / 128;
  int64_t within = row % 32 * 16 + row % 128 / 32 * 4 + inner / 32 % 4;
  return std::ldexp(1.0, static_cast<int>(scales.integer(tile * 512 + within)) -
                             127);
}

static void scaledMatmul(ScaledMatmulOp op, Operands in, Results out) {
  auto [batch, m, n, k] = op.getSizes();
  bool transposeLhs = op.getTransposeLhs(), transposeRhs = op.getTransposeRhs();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        out[0].real(i * n + j) +=
            in[0].real(transposeLhs ? l * m + i : i * k + l) *
            scaleOf(in[2], op.getLhsLayout(), i, l) *
            in[1].real(transposeRhs ? j * k + l : l * n + j) *
            scaleOf(in[3], op.getRhsLayout(), j, l);
}

void ingot::reference::registerContraction(Registry &registry) {
  registry.add<MatmulOp>(matmul);
  registry.add<ScaledMatmulOp>(scaledMatmul);
}

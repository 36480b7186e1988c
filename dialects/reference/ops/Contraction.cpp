// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Contractions: docs/spec/contraction.md.
//===----------------------------------------------------------------------===//

#include "dialects/reference/Registry.h"

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

void ingot::reference::registerContraction(Registry &registry) {
  registry.add<MatmulOp>(matmul);
}

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Losses that compare a model with another one: docs/spec/distillation.md.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/distillation/DistillationOps.h"
#include "dialects/reference/Registry.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

static void softmaxDivergence(SoftmaxDivergenceOp op, Operands in,
                              Results out) {
  Split split(in[0].getShape(), op.getDim());
  double temperature = op.getTemperature().convertToDouble();
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t n = 0; n < split.inner; ++n) {
      double lse[2];
      for (int side : {0, 1}) {
        double highest = -HUGE_VAL, sum = 0;
        for (int64_t i = 0; i < split.size; ++i)
          highest =
              std::max(highest, in[side].real(split.at(o, i, n)) / temperature);
        for (int64_t i = 0; i < split.size; ++i)
          sum += std::exp(in[side].real(split.at(o, i, n)) / temperature -
                          highest);
        lse[side] = highest + std::log(sum);
      }
      double divergence = 0;
      for (int64_t i = 0; i < split.size; ++i) {
        int64_t at = split.at(o, i, n);
        double logP = in[0].real(at) / temperature - lse[0];
        double logQ = in[1].real(at) / temperature - lse[1];
        if (double q = std::exp(logQ); q != 0)
          divergence += q * (logQ - logP);
      }
      int64_t row = o * split.inner + n;
      out[0].real(row) = divergence;
      out[1].real(row) = lse[0];
      out[2].real(row) = lse[1];
    }
}

void ingot::reference::registerDistillation(Registry &registry) {
  registry.add<SoftmaxDivergenceOp>(softmaxDivergence);
}

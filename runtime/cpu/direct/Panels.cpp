// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/direct/Panels.h"

#include "runtime/core/machine/Features.h"

using namespace ingot::runtime;
using namespace ingot::runtime::direct;

/// The kernels for panels of `columns`: half a vector of AVX-512 is one of
/// AVX2, of which as many are multiplied at a time.
static const Kernels &chooseKernels(int64_t columns) {
  static const Kernels &widest = INGOT_CHOOSE_KERNELS();
#ifdef __x86_64__
  if (columns <= avx2Kernels.lanes && &widest == &avx512Kernels)
    return avx2Kernels;
#endif
  (void)columns;
  return widest;
}

PanelList::PanelList(int64_t groups, int64_t columns, int64_t rows)
    : kernels(chooseKernels(columns)) {
  int64_t lanes = kernels.lanes, offset = 0;
  // Few rows leave registers for more vectors.
  bool isNarrow = rows <= kernels.mostRows[4];
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t column = 0; column < columns;) {
      int64_t rest = columns - column;
      int64_t vectors = isNarrow && rest >= 4 * lanes ? 4
                        : rest > lanes                ? 2
                                                      : 1;
      panels.push_back({group, column, vectors, vectors * lanes, offset});
      offset += vectors * lanes;
      column += vectors * lanes;
    }
}

int64_t PanelList::getColumns() const {
  return panels.empty() ? 0 : panels.back().offset + panels.back().width;
}

// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/direct/Panels.h"

#include "runtime/abi/Abi.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"

using namespace ingot::runtime;
using namespace ingot::runtime::direct;

/// The kernels for panels of `columns`: half a vector of AVX-512 is one of
/// AVX2, of which as many are multiplied at a time.
static const Kernels &chooseKernels(int64_t columns, bool ofPairs) {
  static const Kernels &widest = INGOT_CHOOSE_KERNELS();
#ifdef __x86_64__
  if (ofPairs)
    return dotKernels;
  if (columns <= avx2Kernels.lanes && &widest == &avx512Kernels)
    return avx2Kernels;
#endif
  (void)columns, (void)ofPairs;
  return widest;
}

bool ingot::runtime::direct::multipliesPairs(int32_t type, int64_t columns) {
#ifdef __x86_64__
  return type == INGOT_BF16 && columns > avx2Kernels.lanes &&
         gemm::multipliesBf16();
#else
  (void)type, (void)columns;
  return false;
#endif
}

PanelList::PanelList(int64_t groups, int64_t columns, int64_t rows,
                     bool ofPairs)
    : kernels(chooseKernels(columns, ofPairs)) {
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

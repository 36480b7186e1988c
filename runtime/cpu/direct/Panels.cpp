// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/direct/Panels.h"

#include "runtime/core/machine/Features.h"
#include "runtime/cpu/gemm/kernels/GemmKernels.h"
#include "runtime/cpu/vectors/TileUnits.h"

using namespace ingot::runtime;
using namespace ingot::runtime::direct;

/// The kernels for panels of `columns`: half a vector of AVX-512 is one of
/// AVX2, of which as many are multiplied at a time.
static const Kernels &chooseKernels(int64_t columns, Units units) {
  static const Kernels &widest = INGOT_CHOOSE_KERNELS();
#ifdef __x86_64__
  if (units != Units::Vectors)
    return units == Units::Tiles ? tileKernels : dotKernels;
  if (columns <= avx2Kernels.lanes && &widest == &avx512Kernels)
    return avx2Kernels;
#endif
  (void)columns, (void)units;
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

Units ingot::runtime::direct::chooseUnits(const ingot_conv_desc &desc,
                                          int64_t columns) {
  if (desc.math == INGOT_MATH_TILES && hasTileUnits())
    return Units::Tiles;
  return multipliesPairs(desc.type, columns) ? Units::Pairs : Units::Vectors;
}

PanelList::PanelList(int64_t groups, int64_t columns, int64_t rows, Units units)
    : kernels(chooseKernels(columns, units)) {
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

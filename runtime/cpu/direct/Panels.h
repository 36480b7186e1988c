// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Columns of results in panels of vectors, for direct convolution.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_PANELS_H
#define INGOT_RUNTIME_CPU_DIRECT_PANELS_H

#include "runtime/abi/Abi.h"
#include "runtime/cpu/direct/kernels/DirectKernels.h"

#include <vector>

namespace ingot::runtime::direct {

/// Columns of a group that are computed together: `width` of them from `column`
/// on, which may be more than there are.
struct Panel {
  int64_t group, column, vectors, width;
  /// Columns of all panels before this one.
  int64_t offset;
};

/// Units that multiply: vectors of f32, vectors of pairs in bf16, or tiles of
/// such pairs.
enum class Units { Vectors, Pairs, Tiles };

/// Whether this CPU multiplies pairs of elements of `type` for `columns` of a
/// group.
bool multipliesPairs(int32_t type, int64_t columns);

/// The units that compute `columns` of a group of a convolution with channels
/// last.
Units chooseUnits(const ingot_conv_desc &desc, int64_t columns);

/// The panels of all groups in order, and the kernels that compute them.
class PanelList {
public:
  /// Panels for `columns` of each group, and for tiles of `rows` rows.
  PanelList(int64_t groups, int64_t columns, int64_t rows, Units units);

  int64_t size() const { return static_cast<int64_t>(panels.size()); }
  const Panel &operator[](int64_t i) const { return panels[i]; }
  const Kernels &getKernels() const { return kernels; }
  int64_t getLanes() const { return kernels.lanes; }
  /// The columns of all panels.
  int64_t getColumns() const;

private:
  const Kernels &kernels;
  std::vector<Panel> panels;
};

} // namespace ingot::runtime::direct

#endif // INGOT_RUNTIME_CPU_DIRECT_PANELS_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The order of dimensions of the tensors that windows are applied to.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_CONVOLUTION_WINDOWLAYOUT_H
#define INGOT_DIALECTS_INGOT_CONVOLUTION_WINDOWLAYOUT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace ingot {

/// The layout is [N, C, spatial...] or [N, spatial..., C]. Filters are [O, C,
/// spatial...] or [O, spatial..., C], independently of the data.
struct WindowLayout {
  bool channelsLast;

  int64_t channelDim(int64_t rank) const { return channelsLast ? rank - 1 : 1; }

  /// Returns the spatial part of a list with an entry per dimension, such as
  /// sizes or indices.
  template <typename Range> Range spatial(Range dims) const {
    return channelsLast ? dims.drop_front().drop_back() : dims.drop_front(2);
  }

  /// Combines the entries of batch, channel and spatial dimensions into one
  /// list.
  template <typename T, typename Range>
  llvm::SmallVector<T> join(T batch, T channel, const Range &spatial) const {
    llvm::SmallVector<T> dims = {batch};
    if (!channelsLast)
      dims.push_back(channel);
    llvm::append_range(dims, spatial);
    if (channelsLast)
      dims.push_back(channel);
    return dims;
  }

  /// Returns the permutation from [N, C, spatial...] to channels last.
  static llvm::SmallVector<int64_t> channelsLastOrder(int64_t rank) {
    llvm::SmallVector<int64_t> order = {0};
    for (int64_t d = 2; d < rank; ++d)
      order.push_back(d);
    order.push_back(1);
    return order;
  }
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_CONVOLUTION_WINDOWLAYOUT_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Rows and filters as depthwise convolution reads them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEROWS_H
#define INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEROWS_H

#include "runtime/cpu/depthwise/DepthwiseKernels.h"
#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

#include <algorithm>

namespace ingot::runtime::depthwise {

/// Returns the kernels for a number of channels: half vectors of AVX-512 are
/// those of AVX2, which then need no copies of what they read.
const Kernels &getKernels(int64_t channels);

/// Whether vectors of channels are whole.
bool areWhole(int64_t channels);

/// Whether kernels combine `taps` neighbouring taps, in groups of `inputs`
/// channels.
bool combinesTaps(int64_t taps, int64_t step, int64_t inputs);

/// Throws unless the memory that cpu::DepthwiseBlocking plans is enough.
void checkMemory(bool fits);

/// The number of the element of a filter for a channel of the output, a channel
/// of its group, and a tap.
int64_t getFilterIndex(const ingot_conv_desc &desc,
                       const cpu::DepthwiseBlocking &blocking, int64_t out,
                       int64_t in, int64_t tap);

/// A conflict that no distance has.
inline constexpr int64_t kNoConflict = int64_t(1) << 60;

/// The scratch memory of a thread.
struct Room {
  int64_t *tags;
  float *rows, *others;

  Room(const cpu::DepthwiseBlocking &blocking, char *scratch, int64_t thread);
};

/// How a row of pixels is read: through a copy with zeros around it, or in
/// place, where only windows that reach over an edge are copied.
struct Edges {
  /// The pixels [begin, end) whose windows are inside, of `count`.
  int64_t begin, end, count;

  /// For pixels whose windows are [p * step + low, p * step + high) of columns.
  Edges(int64_t count, int64_t step, int64_t low, int64_t high, int64_t columns)
      : begin(std::clamp<int64_t>(
            abi::divideCeil(std::max<int64_t>(-low, 0), step), 0, count)),
        end(std::clamp<int64_t>(
            columns < high ? 0 : (columns - high) / step + 1, begin, count)),
        count(count) {}

  /// Whether copying the windows over the edges, `taps` columns each, is less
  /// work than copying the columns of the rows that a row of results adds.
  bool areFewer(int64_t taps, int64_t columns) const {
    return (count - (end - begin)) * taps < columns;
  }
  /// Calls `run` with each pixel whose window reaches over an edge.
  template <typename Run> void forEach(Run run) const {
    for (int64_t p = 0; p < begin; ++p)
      run(p);
    for (int64_t p = end; p < count; ++p)
      run(p);
  }
};

/// The range of `taps` taps, `distance` columns apart from column `first` on,
/// that are inside a row.
struct TapsInside {
  int64_t begin, end;

  TapsInside(int64_t first, int64_t distance, int64_t taps, int64_t columns)
      : begin(std::clamp<int64_t>(abi::divideCeil(-first, distance), 0, taps)),
        end(first < columns
                ? std::clamp((columns - 1 - first) / distance + 1, begin, taps)
                : begin) {}
};

} // namespace ingot::runtime::depthwise

#endif // INGOT_RUNTIME_CPU_DEPTHWISE_DEPTHWISEROWS_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Which positions of one operand of a convolution read which of the other: the
// gradient of the input of a convolution with strides has a part for each phase
// of its positions, with some of the taps.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_DIRECT_PHASES_H
#define INGOT_RUNTIME_CPU_DIRECT_PHASES_H

#include "runtime/cpu/direct/PixelRows.h"

#include <vector>

namespace ingot::runtime::direct {

/// The positions first, first + toStep, ... of results on an axis, `count` of
/// them. Number i reads i * step + shift for each tap.
struct Phase {
  struct Tap {
    int64_t index, shift;
  };
  int64_t first, toStep, count, step;
  /// In the order of their shifts.
  std::vector<Tap> taps;

  /// The positions of a phase on an axis: of the output, or in the gradient of
  /// the input of the input.
  static Phase of(const Axes &axes, cpu::ConvKind kind, int axis,
                  int64_t phase);
  /// The positions that are read: [low, high).
  int64_t getLow() const { return taps.empty() ? 0 : taps.front().shift; }
  int64_t getHigh() const {
    return taps.empty() || count == 0
               ? getLow()
               : (count - 1) * step + taps.back().shift + 1;
  }
  /// How many neighbouring positions all taps are in.
  int64_t getReach() const {
    return taps.empty() ? 1 : taps.back().shift - taps.front().shift + 1;
  }
};

/// Calls `run` with the phases of the three axes that have positions.
template <typename Run>
void forEachPhase(const Axes &axes, cpu::ConvKind kind, Run run) {
  auto countOf = [&](int axis) {
    return kind == cpu::ConvKind::Forward ? 1 : axes.stride[axis];
  };
  for (int64_t d = 0; d < countOf(0); ++d)
    for (int64_t h = 0; h < countOf(1); ++h)
      for (int64_t w = 0; w < countOf(2); ++w) {
        const Phase phases[3] = {Phase::of(axes, kind, 0, d),
                                 Phase::of(axes, kind, 1, h),
                                 Phase::of(axes, kind, 2, w)};
        if (phases[0].count > 0 && phases[1].count > 0 && phases[2].count > 0)
          run(phases);
      }
}

} // namespace ingot::runtime::direct

#endif // INGOT_RUNTIME_CPU_DIRECT_PHASES_H

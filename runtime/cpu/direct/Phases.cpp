// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/direct/Phases.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::runtime::direct;
using ingot::cpu::ConvKind;

Phase Phase::of(const Axes &axes, ConvKind kind, int axis, int64_t phase) {
  int64_t stride = axes.stride[axis], dilation = axes.dilation[axis];
  int64_t pad = axes.pad[axis];
  Phase result;
  if (kind == ConvKind::Forward) {
    result.first = 0;
    result.toStep = 1;
    result.count = axes.out[axis];
    result.step = stride;
    for (int64_t tap = 0; tap < axes.kernel[axis]; ++tap)
      result.taps.push_back({tap, tap * dilation - pad});
    return result;
  }
  result.first = phase;
  result.toStep = stride;
  result.count = ingot::abi::divideCeil(
      std::max<int64_t>(axes.in[axis] - phase, 0), stride);
  result.step = 1;
  for (int64_t tap = axes.kernel[axis]; tap-- > 0;) {
    int64_t shift = phase + pad - tap * dilation;
    if (shift % stride == 0)
      result.taps.push_back({tap, shift / stride});
  }
  return result;
}

// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/depthwise/DepthwiseRows.h"

#include "runtime/core/machine/Features.h"

#include <stdexcept>

using namespace ingot::runtime;
using namespace ingot::runtime::depthwise;
using ingot::cpu::DepthwiseBlocking;

const depthwise::Kernels &depthwise::getKernels(int64_t channels) {
  static const depthwise::Kernels &widest = INGOT_CHOOSE_KERNELS();
#ifdef __x86_64__
  if (&widest == &avx512Kernels && channels % avx512Kernels.lanes != 0 &&
      channels % avx2Kernels.lanes == 0)
    return avx2Kernels;
#endif
  (void)channels;
  return widest;
}

bool depthwise::areWhole(int64_t channels) {
  return channels % getKernels(channels).lanes == 0;
}

bool depthwise::combinesTaps(int64_t taps, int64_t step, int64_t inputs) {
  return taps > 0 && taps <= (inputs == 1 ? kTaps : kGroupTaps) &&
         (step == 1 || (step == 2 && taps % 2 == 1));
}

void depthwise::checkMemory(bool fits) {
  if (!fits)
    throw std::logic_error("a depthwise convolution needs more memory than "
                           "DepthwiseBlocking says");
}

int64_t depthwise::getFilterIndex(const ingot_conv_desc &d,
                                  const DepthwiseBlocking &blocking,
                                  int64_t out, int64_t in, int64_t tap) {
  return d.filter_channels_last
             ? (out * blocking.taps + tap) * blocking.inputs + in
             : (out * blocking.inputs + in) * blocking.taps + tap;
}

Room::Room(const DepthwiseBlocking &blocking, char *scratch, int64_t thread) {
  char *own = scratch + blocking.getThreadOffset(thread);
  tags = reinterpret_cast<int64_t *>(own);
  rows = reinterpret_cast<float *>(own + blocking.getTagBytes());
  others = rows + blocking.rows;
}

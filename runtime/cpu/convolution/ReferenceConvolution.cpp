// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution by plain loops. Threads divide independent parts of the
// result: images in the forward pass and in the input's gradient, output
// channels in the filter's gradient.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/convolution/ReferenceConvolution.h"

#include "runtime/cpu/threads/ThreadPool.h"

#include <algorithm>
#include <array>

using namespace ingot::runtime;

namespace {

using Index = std::array<int64_t, INGOT_MAX_SPATIAL>;

/// The descriptor with its spatial dimensions extended to three by ones.
struct Shape {
  explicit Shape(const ingot_conv_desc &d) : d(d) {
    for (int i = 0; i < INGOT_MAX_SPATIAL; ++i) {
      bool used = i < d.spatial_rank;
      in[i] = used ? d.in[i] : 1;
      out[i] = used ? d.out[i] : 1;
      kernel[i] = used ? d.kernel[i] : 1;
      stride[i] = used ? d.stride[i] : 1;
      dilation[i] = used ? d.dilation[i] : 1;
      padLow[i] = used ? d.pad_low[i] : 0;
    }
  }

  static int64_t getSize(const Index &extents) {
    return extents[0] * extents[1] * extents[2];
  }

  /// The linear position of the input that output position `o` and filter
  /// position `k` (both linear) read, or -1 in the padding.
  int64_t getInputPosition(int64_t o, int64_t k) const {
    int64_t position = 0, scale = 1;
    for (int i = INGOT_MAX_SPATIAL - 1; i >= 0; --i) {
      int64_t at =
          o % out[i] * stride[i] + k % kernel[i] * dilation[i] - padLow[i];
      if (at < 0 || at >= in[i])
        return -1;
      position += at * scale;
      scale *= in[i];
      o /= out[i];
      k /= kernel[i];
    }
    return position;
  }

  /// Calls visit(input, filter, output) with the linear indices of each
  /// product for one image and one output channel.
  template <typename Visit>
  void forEachProduct(int64_t image, int64_t channel, Visit visit) const {
    int64_t inSize = getSize(in), outSize = getSize(out);
    int64_t kernelSize = getSize(kernel);
    int64_t perGroup = d.in_channels / d.groups;
    int64_t first = channel / (d.out_channels / d.groups) * perGroup;
    for (int64_t o = 0; o < outSize; ++o)
      for (int64_t c = 0; c < perGroup; ++c)
        for (int64_t k = 0; k < kernelSize; ++k) {
          int64_t position = getInputPosition(o, k);
          if (position >= 0)
            visit(at(image, first + c, d.in_channels, position, inSize),
                  d.filter_channels_last
                      ? (channel * kernelSize + k) * perGroup + c
                      : (channel * perGroup + c) * kernelSize + k,
                  at(image, channel, d.out_channels, o, outSize));
        }
  }

  /// The linear index of an element of the input or output.
  int64_t at(int64_t image, int64_t channel, int64_t channels, int64_t position,
             int64_t plane) const {
    return d.channels_last ? (image * plane + position) * channels + channel
                           : (image * channels + channel) * plane + position;
  }

  const ingot_conv_desc &d;
  Index in, out, kernel, stride, dilation, padLow;
};

} // namespace

template <typename T>
static void convolveForward(const Shape &shape, const T *input, const T *filter,
                            T *output) {
  int64_t image = shape.d.out_channels * Shape::getSize(shape.out);
  parallelFor(shape.d.batch, 1, [&](int64_t begin, int64_t end) {
    std::fill(output + begin * image, output + end * image, T(0));
    for (int64_t b = begin; b < end; ++b)
      for (int64_t channel = 0; channel < shape.d.out_channels; ++channel)
        shape.forEachProduct(b, channel, [&](int64_t i, int64_t f, int64_t o) {
          output[o] += input[i] * filter[f];
        });
  });
}

template <typename T>
static void convolveInputGrad(const Shape &shape, const T *outputGrad,
                              const T *filter, T *inputGrad) {
  int64_t image = shape.d.in_channels * Shape::getSize(shape.in);
  parallelFor(shape.d.batch, 1, [&](int64_t begin, int64_t end) {
    std::fill(inputGrad + begin * image, inputGrad + end * image, T(0));
    for (int64_t b = begin; b < end; ++b)
      for (int64_t channel = 0; channel < shape.d.out_channels; ++channel)
        shape.forEachProduct(b, channel, [&](int64_t i, int64_t f, int64_t o) {
          inputGrad[i] += outputGrad[o] * filter[f];
        });
  });
}

template <typename T>
static void convolveFilterGrad(const Shape &shape, const T *outputGrad,
                               const T *input, T *filterGrad) {
  int64_t perChannel =
      shape.d.in_channels / shape.d.groups * Shape::getSize(shape.kernel);
  parallelFor(shape.d.out_channels, 1, [&](int64_t begin, int64_t end) {
    std::fill(filterGrad + begin * perChannel, filterGrad + end * perChannel,
              T(0));
    for (int64_t channel = begin; channel < end; ++channel)
      for (int64_t b = 0; b < shape.d.batch; ++b)
        shape.forEachProduct(b, channel, [&](int64_t i, int64_t f, int64_t o) {
          filterGrad[f] += outputGrad[o] * input[i];
        });
  });
}

template <typename T>
void ingot::runtime::convolveByLoops(const ingot_conv_desc &desc,
                                     cpu::ConvKind kind, const T *first,
                                     const T *second, T *result) {
  Shape shape(desc);
  switch (kind) {
  case cpu::ConvKind::Forward:
    return convolveForward(shape, first, second, result);
  case cpu::ConvKind::InputGrad:
    return convolveInputGrad(shape, first, second, result);
  case cpu::ConvKind::FilterGrad:
    return convolveFilterGrad(shape, first, second, result);
  }
}

template void ingot::runtime::convolveByLoops(const ingot_conv_desc &,
                                              cpu::ConvKind, const float *,
                                              const float *, float *);
template void ingot::runtime::convolveByLoops(const ingot_conv_desc &,
                                              cpu::ConvKind, const double *,
                                              const double *, double *);

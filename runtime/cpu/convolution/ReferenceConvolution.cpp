// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution in f64 by plain loops. Threads divide independent parts of the
// result: images in the forward pass and in the input's gradient, output
// channels in the filter's gradient.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/convolution/ReferenceConvolution.h"

#include "runtime/core/Context.h"
#include "runtime/cpu/ThreadPool.h"

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

void ingot::runtime::convolveF64(ingot_context *context,
                                 const ingot_conv_desc &desc,
                                 const double *input, const double *filter,
                                 double *output) {
  ProfileScope scope(context, desc.index);
  Shape shape(desc);
  int64_t image = desc.out_channels * Shape::getSize(shape.out);
  parallelFor(desc.batch, 1, [&](int64_t begin, int64_t end) {
    std::fill(output + begin * image, output + end * image, 0.0);
    for (int64_t b = begin; b < end; ++b)
      for (int64_t channel = 0; channel < desc.out_channels; ++channel)
        shape.forEachProduct(b, channel, [&](int64_t i, int64_t f, int64_t o) {
          output[o] += input[i] * filter[f];
        });
  });
}

void ingot::runtime::convolveInputGradF64(ingot_context *context,
                                          const ingot_conv_desc &desc,
                                          const double *outputGrad,
                                          const double *filter,
                                          double *inputGrad) {
  ProfileScope scope(context, desc.index);
  Shape shape(desc);
  int64_t image = desc.in_channels * Shape::getSize(shape.in);
  parallelFor(desc.batch, 1, [&](int64_t begin, int64_t end) {
    std::fill(inputGrad + begin * image, inputGrad + end * image, 0.0);
    for (int64_t b = begin; b < end; ++b)
      for (int64_t channel = 0; channel < desc.out_channels; ++channel)
        shape.forEachProduct(b, channel, [&](int64_t i, int64_t f, int64_t o) {
          inputGrad[i] += outputGrad[o] * filter[f];
        });
  });
}

void ingot::runtime::convolveFilterGradF64(ingot_context *context,
                                           const ingot_conv_desc &desc,
                                           const double *outputGrad,
                                           const double *input,
                                           double *filterGrad) {
  ProfileScope scope(context, desc.index);
  Shape shape(desc);
  int64_t perChannel =
      desc.in_channels / desc.groups * Shape::getSize(shape.kernel);
  parallelFor(desc.out_channels, 1, [&](int64_t begin, int64_t end) {
    std::fill(filterGrad + begin * perChannel, filterGrad + end * perChannel,
              0.0);
    for (int64_t channel = begin; channel < end; ++channel)
      for (int64_t b = 0; b < desc.batch; ++b)
        shape.forEachProduct(b, channel, [&](int64_t i, int64_t f, int64_t o) {
          filterGrad[f] += outputGrad[o] * input[i];
        });
  });
}

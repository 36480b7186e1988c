// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_conv and its gradients (Abi.h): by Winograd's algorithm where it
// applies (runtime/cpu/winograd), as a GEMM where filters have one tap
// (runtime/cpu/gemm), depthwise (runtime/cpu/depthwise), directly
// (runtime/cpu/direct), and by plain loops in f64 (ReferenceConvolution.h). On
// tile units, small images are a GEMM (Im2colConvolution.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/DType.h"
#include "runtime/cpu/convolution/Im2colConvolution.h"
#include "runtime/cpu/convolution/ReferenceConvolution.h"
#include "runtime/cpu/depthwise/Depthwise.h"
#include "runtime/cpu/direct/DirectConvolution.h"
#include "runtime/cpu/direct/DirectFilterGrad.h"
#include "runtime/cpu/direct/Panels.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/gemm/RunGemm.h"
#include "runtime/cpu/threads/ThreadPool.h"
#include "runtime/cpu/vectors/TileUnits.h"
#include "runtime/cpu/winograd/Winograd.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using ingot::cpu::ConvKind;

static void runWinograd(ingot_context *context, const ingot_conv_desc &desc,
                        ConvKind kind, const void *first, const void *second,
                        void *result, void *planned) {
  char *scratch =
      context->getScratch(getWinogradScratchBytes(desc, getThreadCount()),
                          planned, desc.scratch_bytes);
  switch (kind) {
  case ConvKind::Forward:
    return convolveWinograd(desc, first, second, result, scratch);
  case ConvKind::InputGrad:
    return convolveInputGradWinograd(desc, first, second, result, scratch);
  case ConvKind::FilterGrad:
    return convolveFilterGradWinograd(desc, first, second, result, scratch);
  }
}

/// Whether a GEMM is faster than reading pixels where they are, as measured:
/// for most gradients of filters, where there are so few pixels that filters
/// are most of the work, where pixels fall into the same cache sets, and in 16
/// bits, unless pairs in bf16 are multiplied. On tile units a GEMM has full
/// tiles whatever the rows of the image.
static bool isFastPointwise(const ingot_conv_desc &desc,
                            const ingot_matmul_desc &matmul, ConvKind kind,
                            bool onTiles) {
  if (onTiles)
    return true;
  bool isWide = matmul.a_type == INGOT_F32;
  if (kind == ConvKind::FilterGrad)
    return !isWide || !direct::isFastFilterGrad(desc);
  int64_t pixelBytes = matmul.k * (isWide ? 4 : 2);
  if (matmul.math == INGOT_MATH_STRASSEN ||
      matmul.m <= 2 * std::min(matmul.n, matmul.k) ||
      pixelBytes % ingot::cpu::kDirectConflict == 0)
    return true;
  return !isWide && (matmul.k % 2 != 0 ||
                     !direct::multipliesPairs(matmul.a_type, matmul.n));
}

/// Copies the pixels of the input that filters of one tap read.
static void gatherPixels(const ingot_conv_desc &desc, const char *input,
                         char *to) {
  direct::Axes axes(desc);
  int64_t pixel = desc.in_channels * (desc.type == INGOT_F32 ? 4 : 2);
  parallelFor(desc.batch * axes.out[0] * axes.out[1], /*grain=*/1,
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  int64_t y = row % axes.out[1] * axes.stride[1];
                  int64_t z = row / axes.out[1] % axes.out[0] * axes.stride[0];
                  int64_t image = row / axes.out[1] / axes.out[0];
                  int64_t first =
                      ((image * axes.in[0] + z) * axes.in[1] + y) * axes.in[2];
                  for (int64_t x = 0; x < axes.out[2]; ++x)
                    std::memcpy(to + (row * axes.out[2] + x) * pixel,
                                input + (first + x * axes.stride[2]) * pixel,
                                pixel);
                }
              });
}

/// A convolution of one tap with strides as a matmul, or the filter's gradient.
static void multiplyGathered(ingot_context *context,
                             const ingot_conv_desc &desc,
                             ingot_matmul_desc matmul, ConvKind kind,
                             bool onTiles, const void *first,
                             const void *second, void *result, void *planned) {
  auto gathered = static_cast<size_t>(ingot::cpu::getGatheredBytes(desc));
  size_t bytes = gathered + getPackedScratchBytes(matmul, onTiles);
  char *scratch = context->getScratch(bytes, planned, desc.scratch_bytes);
  const void *&input = kind == ConvKind::Forward ? first : second;
  gatherPixels(desc, static_cast<const char *>(input), scratch);
  input = scratch;
  matmul.scratch_bytes = static_cast<int64_t>(bytes - gathered);
  multiplyPacked(context, matmul, onTiles, first, second, result,
                 scratch + gathered);
}

/// Runs a convolution that has elements, in f32 or 16 bits.
static void runFast(ingot_context *context, const ingot_conv_desc &desc,
                    ConvKind kind, const void *first, const void *second,
                    void *result, void *scratch) {
  bool onTiles = desc.math == INGOT_MATH_TILES && hasTileUnits();
  if (onTiles && ingot::cpu::isIm2col(desc, kind))
    return convolveIm2col(context, desc, kind, first, second, result, scratch);
  if (ingot::cpu::isWinograd(desc))
    return runWinograd(context, desc, kind, first, second, result, scratch);
  if (ingot::cpu::isDepthwise(desc)) {
    ingot::cpu::DepthwiseBlocking blocking(desc, kind, getThreadCount());
    return convolveDepthwise(
        desc, kind, first, second, result,
        context->getScratch(blocking.getBytes(), scratch, desc.scratch_bytes));
  }
  bool isGathered = ingot::cpu::isGathered(desc, kind);
  if (isGathered || ingot::cpu::isPointwise(desc)) {
    ingot_matmul_desc matmul = ingot::cpu::getPointwiseMatmul(desc, kind);
    bool isFast = isFastPointwise(desc, matmul, kind, onTiles);
    if (isFast && isGathered)
      return multiplyGathered(context, desc, matmul, kind, onTiles, first,
                              second, result, scratch);
    if (isFast)
      return multiplyPacked(context, matmul, onTiles, first, second, result,
                            scratch);
  }
  size_t bytes =
      ingot::cpu::DirectBlocking(desc, kind, getThreadCount()).getBytes();
  convolveDirect(desc, kind, first, second, result,
                 context->getScratch(bytes, scratch, desc.scratch_bytes));
}

/// Whether there is nothing to multiply; the result is then zero, or empty.
static bool runEmpty(const ingot_conv_desc &desc, ConvKind kind, void *result) {
  int64_t inputs = desc.batch * desc.in_channels;
  int64_t outputs = desc.batch * desc.out_channels;
  int64_t filters = desc.out_channels * (desc.in_channels / desc.groups);
  for (int64_t i = 0; i < desc.spatial_rank; ++i) {
    inputs *= desc.in[i];
    outputs *= desc.out[i];
    filters *= desc.kernel[i];
  }
  if (inputs > 0 && outputs > 0 && filters > 0)
    return false;
  int64_t elements = kind == ConvKind::Forward     ? outputs
                     : kind == ConvKind::InputGrad ? inputs
                                                   : filters;
  std::memset(result, 0, elements * getSize(getDType(desc.type)));
  return true;
}

static void run(ingot_context *context, const ingot_conv_desc *desc,
                ConvKind kind, const char *name, const void *first,
                const void *second, void *result, void *scratch) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, name, [&] {
    if (runEmpty(*desc, kind, result))
      return;
    if (desc->type == INGOT_F64)
      return convolveByLoops(*desc, kind, static_cast<const double *>(first),
                             static_cast<const double *>(second),
                             static_cast<double *>(result));
    runFast(context, *desc, kind, first, second, result, scratch);
  });
}

void ingot_conv(ingot_context *context, const ingot_conv_desc *desc,
                const void *input, const void *filter, void *output,
                void *scratch) {
  run(context, desc, ConvKind::Forward, "convolution", input, filter, output,
      scratch);
}

void ingot_conv_input_grad(ingot_context *context, const ingot_conv_desc *desc,
                           const void *output_grad, const void *filter,
                           void *input_grad, void *scratch) {
  run(context, desc, ConvKind::InputGrad, "gradient of a convolution's input",
      output_grad, filter, input_grad, scratch);
}

void ingot_conv_filter_grad(ingot_context *context, const ingot_conv_desc *desc,
                            const void *output_grad, const void *input,
                            void *filter_grad, void *scratch) {
  run(context, desc, ConvKind::FilterGrad, "gradient of a convolution's filter",
      output_grad, input, filter_grad, scratch);
}

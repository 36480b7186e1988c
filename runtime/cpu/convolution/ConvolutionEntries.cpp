// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot_conv and its gradients (Abi.h): by Winograd's algorithm where it
// applies (runtime/cpu/winograd), as a GEMM where filters have one tap
// (runtime/cpu/gemm), depthwise (runtime/cpu/depthwise), as a GEMM on tile
// units for small images (Im2colConvolution.h), by plain loops in f64
// (ReferenceConvolution.h), and by the vendor's library for everything else.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/machine/Features.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/cpu/VendorLibrary.h"
#include "runtime/cpu/convolution/Im2colConvolution.h"
#include "runtime/cpu/convolution/ReferenceConvolution.h"
#include "runtime/cpu/depthwise/Depthwise.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/gemm/PackedGemm.h"
#include "runtime/cpu/winograd/Winograd.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using ingot::abi::ConvKind;

static void runWinograd(ingot_context *context, const ingot_conv_desc &desc,
                        ConvKind kind, const float *first, const float *second,
                        float *result, void *planned) {
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

/// Whether a GEMM is faster than the vendor's library, as measured: for the
/// gradient of filters that fill vectors, and where there are so few pixels
/// that the library's rearranging of the filter takes longer than packing.
/// With vectors of four, the library copies the pixels into blocks of channels,
/// which takes more scratch than is planned.
static bool isFastPointwise(const ingot_matmul_desc &matmul, ConvKind kind) {
  if (getCpuLevel() < ingot::abi::CpuLevel::V3)
    return true;
  constexpr int64_t wholeVectors = 64;
  if (kind == ConvKind::FilterGrad)
    return std::min(matmul.m, matmul.n) >= wholeVectors;
  return matmul.m <= 2 * std::min(matmul.n, matmul.k);
}

static void runPointwise(ingot_context *context,
                         const ingot_matmul_desc &matmul, const void *first,
                         const void *second, void *result, void *scratch) {
  if (matmul.m == 0 || matmul.n == 0)
    return;
  if (matmul.k == 0) {
    std::memset(result, 0, matmul.m * matmul.n * sizeof(float));
    return;
  }
  multiplyPacked(context, matmul, /*onTiles=*/false, first, second, result,
                 scratch);
}

static void run(ingot_context *context, const ingot_conv_desc *desc,
                ConvKind kind, const char *name, const void *first,
                const void *second, void *result, void *scratch) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, name, [&] {
    if (desc->type == INGOT_F64)
      return convolveByLoops(*desc, kind, static_cast<const double *>(first),
                             static_cast<const double *>(second),
                             static_cast<double *>(result));
    if (desc->math != INGOT_MATH_EXACT && hasTileUnits())
      return convolveIm2col(context, *desc, kind, first, second, result,
                            scratch);
    if (ingot::abi::isWinograd(*desc))
      return runWinograd(context, *desc, kind,
                         static_cast<const float *>(first),
                         static_cast<const float *>(second),
                         static_cast<float *>(result), scratch);
    if (ingot::abi::isPointwise(*desc)) {
      ingot_matmul_desc matmul = ingot::abi::getPointwiseMatmul(*desc, kind);
      if (!vendor::hasConvolutions() || isFastPointwise(matmul, kind))
        return runPointwise(context, matmul, first, second, result, scratch);
    }
    if (ingot::abi::isDepthwise(*desc) &&
        (!vendor::hasConvolutions() || isFastDepthwise(*desc, kind)))
      return convolveDepthwise(
          *desc, kind, static_cast<const float *>(first),
          static_cast<const float *>(second), static_cast<float *>(result),
          context->getScratch(ingot::abi::getDepthwiseBytes(*desc), scratch,
                              desc->scratch_bytes));
    vendor::convolve(context, *desc, kind, first, second, result, scratch);
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

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The vendor's library where there is none (AArch64): matmuls run on the packed
// GEMM of this tree, and what no convolution of this tree covers runs in plain
// loops, in f32.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/DType.h"
#include "runtime/cpu/HalfPrecision.h"
#include "runtime/cpu/VendorLibrary.h"
#include "runtime/cpu/convolution/ReferenceConvolution.h"
#include "runtime/cpu/gemm/PackedGemm.h"

#include <stdexcept>
#include <string>

using namespace ingot::runtime;
using ingot::abi::ConvKind;

int32_t vendor::getComputeType(int32_t type) {
  if (type != INGOT_F32 && type != INGOT_BF16 && type != INGOT_F16)
    throw std::invalid_argument("nothing multiplies " +
                                std::string(getName(getDType(type))));
  return INGOT_F32;
}

void vendor::multiply(ingot_context *context, const ingot_matmul_desc &desc,
                      const void *a, const void *b, void *c, void *scratch) {
  multiplyPacked(context, desc, /*onTiles=*/false, a, b, c, scratch, {});
}

void vendor::convolve(ingot_context *context, const ingot_conv_desc &desc,
                      ConvKind kind, const void *first, const void *second,
                      void *result, void *planned) {
  if (desc.type == INGOT_F32)
    return convolveByLoops(desc, kind, static_cast<const float *>(first),
                           static_cast<const float *>(second),
                           static_cast<float *>(result));
  int64_t in = desc.batch * desc.in_channels;
  int64_t out = desc.batch * desc.out_channels;
  int64_t filter = desc.out_channels * desc.in_channels / desc.groups;
  for (int64_t i = 0; i < desc.spatial_rank; ++i) {
    in *= desc.in[i];
    out *= desc.out[i];
    filter *= desc.kernel[i];
  }
  int64_t firstSize = kind == ConvKind::Forward ? in : out;
  int64_t secondSize = kind == ConvKind::FilterGrad ? in : filter;
  int64_t resultSize = kind == ConvKind::Forward     ? out
                       : kind == ConvKind::InputGrad ? in
                                                     : filter;
  size_t bytes = (in + out + filter) * sizeof(float);
  auto *wide = reinterpret_cast<float *>(
      context->getScratch(bytes, planned, desc.scratch_bytes));
  float *wideSecond = wide + firstSize, *sums = wideSecond + secondSize;
  widenToF32(first, desc.type, wide, firstSize);
  widenToF32(second, desc.type, wideSecond, secondSize);
  convolveByLoops(desc, kind, wide, wideSecond, sums);
  roundFromF32(sums, result, desc.type, resultSize);
}

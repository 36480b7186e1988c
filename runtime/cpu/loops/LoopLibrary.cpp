// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The vendor's library where there is none (AArch64): matmuls run on the packed
// GEMM of this tree, and what no convolution of this tree covers runs in plain
// loops, in f32.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/DType.h"
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

bool vendor::hasConvolutions() { return false; }

void vendor::convolve(ingot_context *context, const ingot_conv_desc &desc,
                      ConvKind kind, const void *first, const void *second,
                      void *result, void *planned) {
  convolveByLoops(context, desc, kind, first, second, result, planned);
}

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Convolution by the CPU vendor's library, for what the kernels of this tree do
// not cover: 16 bits on tile units. runtime/cpu/onednn implements it, and
// nothing else in runtime/cpu includes or names the library.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_VENDORLIBRARY_H
#define INGOT_RUNTIME_CPU_VENDORLIBRARY_H

#include "runtime/abi/Abi.h"

#include <cstdint>

struct ingot_context;

/// Computes a convolution or one of its gradients, of a kind
/// (ingot::abi::ConvKind): `first` and `second` are the operands of the entry
/// point of that kind (Abi.h). Computes nothing and returns false where the
/// processor has tile units that the library would leave idle. Throws
/// std::exception. Null in programs that are linked without the library: only
/// a step that may call it refers to it.
extern "C" __attribute__((weak)) bool
ingot_vendor_convolve(ingot_context *context, const ingot_conv_desc *desc,
                      int32_t kind, const void *first, const void *second,
                      void *result, void *scratch);

#endif // INGOT_RUNTIME_CPU_VENDORLIBRARY_H

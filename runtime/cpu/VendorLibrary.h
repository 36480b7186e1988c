// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Matmul and convolution by the CPU vendor's library, for what the kernels of
// this tree do not cover. One folder of runtime/cpu implements it, and nothing
// else there includes or names the library. The entry points that need it are
// an archive of their own, so that a trainer without matmul and convolution
// does not depend on the library.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_VENDORLIBRARY_H
#define INGOT_RUNTIME_CPU_VENDORLIBRARY_H

#include "runtime/abi/Scratch.h"

struct ingot_context;

namespace ingot::runtime::vendor {

/// The type in which the library multiplies operands of `type` on this CPU: f32
/// for 16-bit types without instructions, which the library emulates slowly or
/// not at all.
int32_t getComputeType(int32_t type);

/// Computes c = a x b as ingot_matmul describes it. Throws std::exception.
void multiply(ingot_context *context, const ingot_matmul_desc &desc,
              const void *a, const void *b, void *c, void *scratch);

/// Whether convolve() is the library's: there is one, and this CPU runs it.
bool hasConvolutions();

/// Computes a convolution or one of its gradients: `first` and `second` are the
/// operands of the entry point of that kind (Abi.h). Throws std::exception.
void convolve(ingot_context *context, const ingot_conv_desc &desc,
              abi::ConvKind kind, const void *first, const void *second,
              void *result, void *scratch);

} // namespace ingot::runtime::vendor

#endif // INGOT_RUNTIME_CPU_VENDORLIBRARY_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The families of kernels that calls of the runtime can reach. Trainers are
// linked without the tables of the others.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_PLAN_KERNELFAMILIES_H
#define INGOT_RUNTIME_CPU_PLAN_KERNELFAMILIES_H

#include "runtime/cpu/plan/ConvolutionAlgorithms.h"

namespace ingot::cpu {

/// Whether calls reach a family. Kernels that every call of an entry point may
/// run are in none.
struct KernelFamilies {
  bool depthwise = false, winograd = false, strassen = false;
  /// Units that multiply 16-bit floats: pairs of bf16, and tiles.
  bool halves = false;

  constexpr void add(const ingot_matmul_desc &desc) {
    addMath(desc.math);
    addType(desc.a_type);
    addType(desc.b_type);
  }
  constexpr void add(const ingot_decoded_matmul_desc &desc) {
    addMath(desc.math);
    addType(desc.a_type);
  }
  constexpr void add(const ingot_matmul_epilogue_desc &desc) {
    add(desc.matmul);
  }
  constexpr void add(const ingot_conv_desc &desc) {
    // A convolution of one tap is a matmul with its math.
    addMath(desc.math);
    addType(desc.type);
    winograd |= isWinograd(desc);
    depthwise |= isDepthwise(desc);
  }
  constexpr void add(const ingot_attention_desc &desc) {
    addMath(desc.math);
    addType(desc.type);
  }
  constexpr void add(const KernelFamilies &other) {
    depthwise |= other.depthwise;
    winograd |= other.winograd;
    strassen |= other.strassen;
    halves |= other.halves;
  }

private:
  constexpr void addMath(int32_t math) {
    strassen |= math == INGOT_MATH_STRASSEN;
    halves |= math == INGOT_MATH_TILES;
  }
  constexpr void addType(int32_t type) {
    halves |= type == INGOT_BF16 || type == INGOT_F16;
  }
};

} // namespace ingot::cpu

#endif // INGOT_RUNTIME_CPU_PLAN_KERNELFAMILIES_H

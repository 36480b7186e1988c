// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options that only GPUs have. The target reads those that were given by
// their names.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_TARGET_CUDAOPTIONS_H
#define INGOT_PASSES_TARGETS_CUDA_TARGET_CUDAOPTIONS_H

#include "passes/options/TargetOptions.h"

namespace ingot {

struct CudaOptions : TargetOptions {
  explicit CudaOptions(OptionTable &table) : table(table) {}

  bool belongTo(llvm::StringRef kind) const override {
    return kind == "cuda" || kind == "emulator";
  }
  llvm::Error check(llvm::StringRef kind) const override;
  void select(TargetSpec &spec) const override;

  /// Who multiplies: the faster by the model, the library, or generated kernels
  /// wherever there are some.
  static constexpr llvm::StringLiteral kMatmulKernels[] = {"auto", "library",
                                                           "own"};
  /// Where batch normalization around convolutions is computed.
  static constexpr llvm::StringLiteral kConvFusions[] = {"auto", "off"};

  OptionTable &table;

  Section forGpus{table, "GPUs only"};

  Setting<bool> tf32{
      table, "tf32",
      "matmuls and convolutions in fp32 use TF32 on tensor cores: "
      "operands are rounded to 10 bits of mantissa"};
  Setting<std::string> matmulKernels{
      table, "matmul-kernels NAME",
      "matmuls of sm_90a: library, own (generated kernels wherever there "
      "are some), or auto, the one that the model predicts to be faster",
      "auto", oneOf(kMatmulKernels)};
  Setting<std::string> convFusion{
      table, "conv-fusion NAME",
      "batch normalization around convolutions in fp16: in kernels (off), or "
      "in the library's convolutions where it has such ones (auto), whose "
      "last bits differ from run to run",
      "off", oneOf(kConvFusions)};
  Setting<std::string> libraryWorkspace{
      table, "library-workspace SIZE",
      "memory in which each call of a library works, and by which it chooses "
      "an algorithm (that of the machine's profile: 32MiB)",
      "", memorySize()};
};

/// Registers the options.
void registerCudaOptions();

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_TARGET_CUDAOPTIONS_H

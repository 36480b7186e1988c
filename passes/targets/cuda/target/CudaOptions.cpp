// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/CudaOptions.h"

#include "dialects/ingot/ir/Diagnostics.h"

using namespace ingot;

llvm::Error CudaOptions::check(llvm::StringRef kind) const {
  if (tf32 && kind == "cpu")
    return makeOptionError(tf32.getName(), "CPUs do not support TF32",
                           "leave it out, or compile with --target cuda");
  return llvm::Error::success();
}

void CudaOptions::select(TargetSpec &spec) const {
  TargetOptions::select(spec);
  // Which `#ingot.target` has as its math mode.
  if (spec.options.erase(tf32.getName().str()) > 0)
    spec.math = MathMode::TF32;
}

void ingot::registerCudaOptions() {
  registerTargetOptions(
      [](OptionTable &table) -> std::unique_ptr<TargetOptions> {
        return std::make_unique<CudaOptions>(table);
      });
}

// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/target/GpuSpec.h"

#include "passes/options/OptionValues.h"

using namespace mlir;
using namespace ingot;

StringRef GpuSpec::getArch() const {
  return spec.arch.empty() ? StringRef("sm_90") : StringRef(spec.arch);
}

unsigned GpuSpec::getCapability() const {
  unsigned number = 0;
  getArch().drop_front(StringRef("sm_").size()).consumeInteger(10, number);
  return number;
}

GpuSpec::Instructions GpuSpec::getInstructions() const {
  return {/*math=*/true, /*float8=*/getCapability() >= kFirstOfFloat8};
}

int64_t GpuSpec::getWorkspaceBytes() const {
  if (std::optional<StringRef> size = spec.getOption("library-workspace")) {
    auto bytes = MemorySize::parse("library-workspace", *size,
                                   /*allowPercent=*/false);
    return static_cast<int64_t>(llvm::cantFail(std::move(bytes)).number);
  }
  return static_cast<int64_t>(machine.getGpu().deviceWorkspaceBytes);
}

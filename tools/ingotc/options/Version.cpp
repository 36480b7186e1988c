// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/options/Version.h"

#include "runtime/abi/Abi.h"
#include "tools/ingotc/Revision.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"

std::string ingot::describeVersion() {
  return llvm::formatv("ingotc " INGOT_VERSION "\n"
                       "  revision  " INGOT_REVISION "\n"
                       "  dialect   " INGOT_DIALECT "\n"
                       "  ABI       {0:x}\n"
                       "  LLVM      " LLVM_VERSION_STRING "\n"
                       "  ONNX      " INGOT_ONNX_VERSION,
                       INGOT_ABI_VERSION)
      .str();
}

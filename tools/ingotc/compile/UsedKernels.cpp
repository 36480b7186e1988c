// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/UsedKernels.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/CallDescriptor.h"

using namespace mlir;
using namespace ingot;

cpu::KernelFamilies ingot::findUsedKernels(ModuleOp module) {
  cpu::KernelFamilies families;
  // Any op may have a descriptor: what it becomes gets its bytes.
  module.walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](exec::DescAttr attribute) {
      attribute.getDescriptor()
          .match<ingot_matmul_desc, ingot_decoded_matmul_desc,
                 ingot_matmul_epilogue_desc, ingot_conv_desc,
                 ingot_attention_desc>(
              [&](const auto &desc) { families.add(desc); });
    });
  });
  return families;
}

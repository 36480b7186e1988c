// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Selection of the target of a module.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_PASSES_TD
#define INGOT_PASSES_TARGETS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"ingot-attach-target", "::mlir::ModuleOp"> {
  let summary = "sets the target attribute of a module";
  let description = [{
    This is the first pass of the pipelines; later passes query the target of the module (`Target::of`).

    Before: `module {...}`

    After: `module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90", math = tf32>} {...}`
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu, cuda, or emulator for tests">,
    Option<"arch", "arch", "std::string", "\"\"",
           "LLVM's name of a CPU, or a GPU architecture; native and sm_90 by default">,
    Option<"tf32", "tf32", "bool", "false", "allow a GPU to round fp32 operands to TF32">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_TARGETS_PASSES_TD

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
  let summary = "sets the target and the machine of a module";
  let description = [{
    This is the first pass of the pipelines; later passes query the target of the module (`Target::of`). `ingot.machine`
    holds the built-in figures of the target, with those that the JSON file `machine` gives instead (docs/machine.md); a
    module that has figures keeps them unless `machine` is given. `options` are those of `ingotc` that only this target
    has, which `ingot.target_options` keeps for it. `ingot.precision` and `ingot.data_parallel` tell the trainer what
    its steps are.

    Before: `module {...}`

    After:
    ```mlir
    module attributes {ingot.machine = {threads = 1.0, ...}, ingot.precision = "fp32",
                       ingot.target = #ingot.target<"cuda", arch = "sm_90", math = tf32>} {...}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu, cuda, or emulator for tests">,
    Option<"arch", "arch", "std::string", "\"\"",
           "LLVM's name of a CPU, or a GPU architecture; native and sm_90 by default">,
    Option<"tf32", "tf32", "bool", "false", "allow a GPU to round fp32 operands to TF32">,
    ListOption<"targetOptions", "options", "std::string",
               "further options of the target, as NAME=VALUE or the name of a flag">,
    Option<"machine", "machine", "std::string", "\"\"", "JSON file of the machine to plan for">,
    Option<"precision", "precision", "std::string", "\"fp32\"", "precision of contractions: fp32, bf16 or fp16">,
    Option<"dataParallel", "data-parallel", "bool", "false", "steps exchange gradients with other ranks">,
    Option<"exactMath", "exact-math", "bool", "false",
           "matmuls and convolutions on CPUs are sums of products, and GPUs compute functions as CPUs do">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_TARGETS_PASSES_TD

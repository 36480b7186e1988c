//===----------------------------------------------------------------------===//
//
// What a module is compiled for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_PASSES_TD
#define INGOT_PASSES_TARGETS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"ingot-attach-target", "::mlir::ModuleOp"> {
  let summary = "sets the attribute of a module that names its target";
  let description = [{
    The first pass of the pipelines: later passes ask the module (`Target::of`).

    Before: `module {...}`

    After: `module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90", math = tf32>} {...}`
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu, cuda, or emulator for tests">,
    Option<"arch", "arch", "std::string", "\"\"", "processor by LLVM's name, or GPU architecture; native, or sm_90">,
    Option<"tf32", "tf32", "bool", "false", "a GPU may round fp32 operands to TF32">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_TARGETS_PASSES_TD

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The target of a module.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGET_TD
#define INGOT_DIALECTS_INGOT_TARGET_TARGET_TD

include "dialects/ingot/ir/Dialect.td"

def Ingot_MathMode : I32EnumAttr<"MathMode", "rounding of the fp32 operands of contractions", [
    I32EnumAttrCase<"Exact", 0, "exact">,
    I32EnumAttrCase<"TF32", 1, "tf32">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}

def Ingot_TargetAttr : AttrDef<Ingot_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the target that the functions of a module run on";
  let description = [{
    The attribute `ingot.target` of a module. `kind` names a registered `Target`, `arch` an architecture as that
    target spells it (empty: the target's default). With `math = tf32`, matmuls and convolutions may round fp32
    operands to TF32 on tensor cores. A module without the attribute is compiled for the CPU.

    ```mlir
    module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90", math = tf32>} {}
    ```
  }];
  let parameters = (ins StringRefParameter<>:$kind, StringRefParameter<"", "\"\"">:$arch,
                        DefaultValuedParameter<"::ingot::MathMode", "::ingot::MathMode::Exact">:$math);
  let assemblyFormat = "`<` $kind (`,` `arch` `=` $arch^)? (`,` `math` `=` $math^)? `>`";
  let genVerifyDecl = 1;
}

#endif // INGOT_DIALECTS_INGOT_TARGET_TARGET_TD

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// How numbers are combined, of one tensor or of several ranks.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_REDUCTION_REDUCTIONKIND_TD
#define INGOT_DIALECTS_INGOT_REDUCTION_REDUCTIONKIND_TD

include "dialects/ingot/ir/Dialect.td"

def Ingot_ReductionKind : I32EnumAttr<"ReductionKind", "reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_ReductionKindAttr
    : EnumAttr<Ingot_Dialect, Ingot_ReductionKind, "reduction_kind">;

#endif // INGOT_DIALECTS_INGOT_REDUCTION_REDUCTIONKIND_TD

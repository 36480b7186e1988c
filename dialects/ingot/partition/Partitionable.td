// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// How ops are computed in parts.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_TD
#define INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_TD

include "mlir/IR/OpBase.td"

def Partitionable : OpInterface<"Partitionable"> {
  let cppNamespace = "::ingot";
  let description = [{
    Describes how an op is computed in parts. The dimensions of operands and results that are split together are a
    factor: with equal parts of these dimensions, and whole operands where they lack the factor, the op computes parts
    of its results, or results that only have to be combined. `getFactors` answers for ops without this interface too,
    from `ScalarBody::getReadDims` and `Reduction::getReducedDims`. The implementations are in
    dialects/ingot/partition.
  }];
  let methods = [
    InterfaceMethod<"Returns the factors; dimensions in none of them are needed whole.",
      "::llvm::SmallVector<::ingot::Factor>", "getFactors", (ins),
      "", "return ::ingot::getDefaultFactors($_op);">,
    InterfaceMethod<[{
      Adapts the attributes of a copy of the op to operands and results of which that factor has another size.
    }], "void", "setFactorSize", (ins "const ::ingot::Factor &":$factor, "int64_t":$size), "",
      "(void)factor; (void)size;">,
    InterfaceMethod<[{
      Returns the results of one of `parts` equal parts of the op: parts of its results, or what the results are
      combined of. `number` is the part's, a scalar i64, which is read where results depend on positions.
    }], "::llvm::SmallVector<::mlir::Value>", "buildPart",
      (ins "::mlir::OpBuilder &":$builder, "const ::ingot::Factor &":$factor, "int64_t":$parts,
           "::mlir::ValueRange":$operands, "::mlir::Value":$number), "",
      "(void)number; return ::ingot::clonePart(builder, $_op, factor, parts, operands);">,
    InterfaceMethod<[{
      Returns whether the result is the sum over ranks of the ranks' results, if `partial` operands are sums over ranks
      of the ranks' operands, and the others are equal on all ranks.
    }], "bool", "keepsPartialSums", (ins "const ::llvm::SmallBitVector &":$partial), "",
      "(void)partial; return false;">];
}

#endif // INGOT_DIALECTS_INGOT_PARTITION_PARTITIONABLE_TD

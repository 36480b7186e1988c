// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Ops on tensors that are encoded: codes, and scales that blocks of them share.
// They are generated apart from the other ops, because few passes know them.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ENCODING_ENCODING_TD
#define INGOT_DIALECTS_INGOT_ENCODING_ENCODING_TD

include "dialects/ingot/ir/Dialect.td"

def DecodedMatmulOp : Ingot_ComputeOp<"decoded_matmul", [DeclareOpInterfaceMethods<LibraryCall, ["getCallBuffers"]>,
    DeclareOpInterfaceMethods<Differentiable>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "canKeepResult", "isStatistic"]>]> {
  let summary = "multiplies a matrix by one that is encoded";
  let description = [{
    lhs is [m, k]; the encoded matrix is [k, n], or [n, k] with `transposed`; the result is [m, n]. `codes` and
    `scales`, and `nested` where scales are codes as well, are one-dimensional and as docs/spec/encoding.md says for
    `kind` and `block`. Elements are decoded in f32 and rounded to the element type of lhs. Nothing depends on the
    encoded matrix for its gradient.

    ```mlir
    %y = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 64
        : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins Ingot_TensorOf<[F32, BF16, F16]>:$lhs, Ingot_TensorOf<[UI8]>:$codes,
                       Ingot_TensorOf<[F32, UI8]>:$scales, Optional<Ingot_TensorOf<[F32]>>:$nested,
                       UnitAttr:$transpose_rhs, StrAttr:$kind, I64Attr:$block);
  let results = (outs Ingot_TensorOf<[F32, BF16, F16]>:$result);
  let assemblyFormat = [{
    $lhs `,` $codes (`transposed` $transpose_rhs^)? `by` $scales (`,` $nested^)? `as` $kind `block` $block attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Matmul; }
    bool roundsOnce() { return false; }
    /// Returns the shape of the encoded matrix as it is stored.
    ::llvm::SmallVector<int64_t, 2> getStoredShape();
  }];
}

def InBlocks : OpInterface<"InBlocks"> {
  let cppNamespace = "::ingot";
  let description = [{
    The op works on blocks of elements that follow one another in memory, whatever the shape, of which the last one may
    be shorter. Tensors of it have an element for each element or for each block, and an element of the result depends
    on nothing outside of its block but on tables that all blocks read.
  }];
  let methods = [
    InterfaceMethod<"Returns the elements of a block.", "int64_t", "getBlockSize", (ins)>,
    InterfaceMethod<"Returns the tensor with an element for each element.", "::mlir::Value", "getElements", (ins)>,
    InterfaceMethod<"Returns whether the operand or result has an element for each block.", "bool", "isPerBlock",
      (ins "::mlir::Value":$value)>,
    InterfaceMethod<"Returns whether all blocks read the operand.", "bool", "isTable", (ins "::mlir::Value":$value), "",
      "return false;">,
  ];
}

/// An op on elements in blocks, one after the other.
class Ingot_BlockOp<string mnemonic, list<Trait> traits> : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
    DeclareOpInterfaceMethods<InBlocks, ["isTable"]>,
    DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
    DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>])> {
  let hasVerifier = 1;
}

def DecodeBlocksOp : Ingot_BlockOp<"decode_blocks", [DeclareOpInterfaceMethods<ScalarBody, ["readsPointwise"]>]> {
  let summary = "the numbers that codes stand for";
  let description = [{
    Of each element, the number of its code in `numbers`, times the scale of its block: element i, in the order of
    memory, is numbers[codes[i]] * scales[i / block]. `numbers` are those of `kind` (docs/spec/encoding.md), as a table
    in memory.

    ```mlir
    %x = ingot.decode_blocks %codes[%numbers] by %scales as "dyn8" block 256
        : (tensor<600xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<600xf32>
    ```
  }];
  let arguments = (ins Ingot_TensorOf<[UI8]>:$codes, Ingot_TensorOf<[F32]>:$numbers, Ingot_TensorOf<[F32]>:$scales,
                       StrAttr:$kind, I64Attr:$block);
  let results = (outs Ingot_TensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $codes `[` $numbers `]` `by` $scales `as` $kind `block` $block attr-dict `:` functional-type(operands, results)
  }];
}

def BlockMaxOp : Ingot_BlockOp<"block_max", [DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
    DeclareOpInterfaceMethods<Reduction, ["emitIdentity", "emitCombine"]>]> {
  let summary = "the largest magnitude of each block";
  let description = [{
    Element b of the result is the largest |operand[i]|, in the order of memory, with i / block = b. NaN if one of them
    is NaN.

    ```mlir
    %most = ingot.block_max %x block 256 : (tensor<600xf32>) -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand, I64Attr:$block);
  let results = (outs Ingot_TensorOf<[F32]>:$result);
  let assemblyFormat = "$operand `block` $block attr-dict `:` functional-type(operands, results)";
}

def EncodeBlocksOp : Ingot_BlockOp<"encode_blocks", [DeclareOpInterfaceMethods<ScalarBody, ["readsPointwise"]>]> {
  let summary = "the codes of the nearest numbers";
  let description = [{
    Of each element the code whose number of `kind` (docs/spec/encoding.md) is nearest to the element over the scale of
    its block; of two that are as near as each other, the lower one. NaN has code 0. `cells` and `middles` are tables
    in memory: how many middles between adjacent numbers are below what f32 numbers with some upper bits can be, and
    these middles.

    ```mlir
    %codes = ingot.encode_blocks %x[%cells, %middles] by %scales as "dyn8" block 256
        : (tensor<600xf32>, tensor<3073xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<600xui8>
    ```
  }];
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand, Ingot_TensorOf<[UI8]>:$cells, Ingot_TensorOf<[F32]>:$middles,
                       Ingot_TensorOf<[F32]>:$scales, StrAttr:$kind, I64Attr:$block);
  let results = (outs Ingot_TensorOf<[UI8]>:$result);
  let assemblyFormat = [{
    $operand `[` $cells `,` $middles `]` `by` $scales `as` $kind `block` $block attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // INGOT_DIALECTS_INGOT_ENCODING_ENCODING_TD

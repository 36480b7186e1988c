//===----------------------------------------------------------------------===//
// Collectives: what the ranks of a run compute together.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD
#define INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_CollectiveOp<string mnemonic>
    : Ingot_ComputeOp<mnemonic, [LibraryAnchor, BucketEnd,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>]> {
  let extraClassDefinition = [{
    ::ingot::Precision $cppClass::getPrecisionRole() { return ::ingot::Precision::Keep; }
  }];
  let hasVerifier = 1;
}

def AllReduceStartOp : Ingot_CollectiveOp<"all_reduce_start"> {
  let summary = "starts to add up a bucket of tensors over the ranks of the run";
  let description = [{
    The bucket holds the parts one after another, each from a multiple of 64 bytes on. Communication goes on
    behind what runs until the wait; nothing else may use the bucket.

    ```mlir
    %bucket = ingot.all_reduce_start %a, %b : (tensor<4x4xf32>, tensor<2xf32>) -> tensor<18xf32>
    %c, %d = ingot.all_reduce_wait %bucket : (tensor<18xf32>) -> (tensor<4x4xf32>, tensor<2xf32>)
    ```
  }];
  let arguments = (ins Variadic<Ingot_FloatTensor>:$parts);
  let results = (outs Ingot_FloatTensor:$bucket);
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
}

def AllReduceWaitOp : Ingot_CollectiveOp<"all_reduce_wait"> {
  let summary = "waits for a bucket and takes it apart: each element is the sum over ranks";
  let arguments = (ins Ingot_FloatTensor:$bucket);
  let results = (outs Variadic<Ingot_FloatTensor>:$parts);
  let assemblyFormat = "$bucket attr-dict `:` functional-type(operands, results)";
}

#endif // INGOT_DIALECTS_INGOT_COLLECTIVE_COLLECTIVE_TD

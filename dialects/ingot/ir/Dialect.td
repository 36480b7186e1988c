// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The `ingot` dialect, in which training passes work: value semantics on ranked,
// statically shaped tensors. docs/spec defines the semantics of every op.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_DIALECT_TD
#define INGOT_DIALECTS_INGOT_IR_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "dialects/ingot/ir/Interfaces.td"

def Ingot_Dialect : Dialect {
  let name = "ingot";
  let cppNamespace = "::ingot";
  let summary = "Training graphs on tensors";
  let description = [{
    A module holds the model's state as `ingot.state` symbols and functions over
    tensors: `@forward` as imported, `@train_step`, `@eval_step` and `@predict`
    as compiled. Attributes say what function arguments and results are:

    | attribute | on | meaning |
    |---|---|---|
    | `ingot.state = @w` | argument | the current value of the state |
    | `ingot.state = @w` | result | the value that replaces the state |
    | `ingot.name = "x"` | argument, result | the name of an input or output |
    | `ingot.gradient = @w` | result | the gradient of the loss by the parameter |
    | `ingot.classes = 10 : i64` | argument | the number of classes that labels refer to |
    | `ingot.slot = @carried0` | argument, result | of the body of an `ingot.repeat`: the memory of the loop that it is in |
    | `ingot.kind = "data"` | argument | `data`, `labels`, `hyper` or `valid` (docs/manifest.md), or `cotangent`: the cotangent of the loss, from which an imported backward pass starts |

    Attributes of the module describe the training step:

    | attribute | meaning |
    |---|---|
    | `ingot.model = "m.onnx"` | the model's file |
    | `ingot.loss = "cross-entropy:1"` | the loss as `--loss` names it, for people |
    | `ingot.loss_terms = [#ingot.loss_term<...>]` | the terms of the loss |
    | `ingot.metrics = ["top5"]` | the metrics of evaluations |
    | `ingot.shifted_labels = ["ids"]` | the inputs of tokens that the model shifts itself |
    | `ingot.optimizer = "adamw"` | the optimizer |
    | `ingot.hyperparameters = [{name = "lr", default = 1.0e-3}, ...]` | in the order of the step's inputs |
    | `ingot.precision = "bf16"` | the precision |
    | `ingot.batch = 8` | the samples of a micro-batch |
    | `ingot.variants = ["seq=16", "seq=32"]` | the variants of the functions |
    | `ingot.batches = array<i64: 8, 4>` | the samples of a micro-batch of each variant, if they differ |
    | `ingot.grad_accumulation = 2` | micro-batches of a step |
    | `ingot.uncompressed_steps = 100` | the first steps, which exchange uncompressed gradients |
    | `ingot.weights_crc32 = 1` | the checksum of the file of weights |
    | `ingot.data_parallel` | steps average gradients over ranks |
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"
  ];
}

//===----------------------------------------------------------------------===//
// Types and attributes that every family uses
//===----------------------------------------------------------------------===//

def Ingot_Float : AnyTypeOf<[F16, BF16, F32, F64], "floating point">;
/// Floats that are stored and read by matmuls, and in which nothing computes.
def Ingot_Float8 : AnyTypeOf<[F8E4M3FN, F8E5M2], "8-bit floating point">;
def Ingot_Int : AnyTypeOf<[I8, UI8, I16, UI16, I32, UI32, I64, UI64], "integer">;
def Ingot_Element : AnyTypeOf<[Ingot_Float, Ingot_Int, I1], "floating point, integer or boolean">;

/// A tensor of static shape, small enough that offsets and sums of sizes in
/// bytes stay far from overflow.
class Ingot_TensorOf<list<Type> elements> : Type<
    And<[StaticShapeTensorOf<elements>.predicate,
         CPred<"::ingot::detail::isAddressable($_self)">]>,
    StaticShapeTensorOf<elements>.summary # " (at most 2^48 of them)",
    "::mlir::RankedTensorType">;

def Ingot_Tensor : Ingot_TensorOf<[Ingot_Element]>;
def Ingot_StoredTensor : Ingot_TensorOf<[Ingot_Element, Ingot_Float8]>;
def Ingot_FloatTensor : Ingot_TensorOf<[Ingot_Float]>;
def Ingot_Float8Tensor : Ingot_TensorOf<[Ingot_Float8]>;
def Ingot_NumberTensor : Ingot_TensorOf<[Ingot_Float, Ingot_Int]>;
def Ingot_IntTensor : Ingot_TensorOf<[Ingot_Int]>;
def Ingot_BitsTensor : Ingot_TensorOf<[Ingot_Int, I1]>;
def Ingot_IndexTensor : Ingot_TensorOf<[I32, I64]>;
def Ingot_BoolTensor : Ingot_TensorOf<[I1]>;

class Ingot_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ingot_Dialect, mnemonic, traits>;

/// The declaration of ops whose elements take more than one rounding (CostModel).
defvar roundsMoreThanOnce = [{
  bool roundsOnce() { return false; }
}];

/// A computation without side effects, which knows its cost and its role in mixed
/// precision. Op families add bodies and gradients.
class Ingot_ComputeOp<string mnemonic, list<Trait> traits = []>
    : Ingot_Op<mnemonic, !listconcat(traits, [Pure, CostModel, PrecisionRole])>;

#endif // INGOT_DIALECTS_INGOT_IR_DIALECT_TD

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Elementwise ops, which compute each element of the result from the elements of
// the operands at the same index. Shapes are equal; `ingot.broadcast` is explicit.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ELEMENTWISE_ELEMENTWISE_TD
#define INGOT_DIALECTS_INGOT_ELEMENTWISE_ELEMENTWISE_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        SameOperandsAndResultShape, Elementwise, Permutable,
        DeclareOpInterfaceMethods<ScalarBody, ["readsPointwise"]>])> {
  let extraClassDefinition = [{
    bool $cppClass::readsPointwise(unsigned) { return true; }
  }];
}

class Ingot_UnaryOp<string mnemonic, TypeConstraint type, list<Trait> traits = []>
    : Ingot_ElementwiseOp<mnemonic,
        !listconcat([SameOperandsAndResultType], traits)> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

class Ingot_FloatUnaryOp<string mnemonic, string text, list<Trait> traits = []>
    : Ingot_UnaryOp<mnemonic, Ingot_FloatTensor, !listconcat(traits, [
        DeclareOpInterfaceMethods<Differentiable>])> {
  let summary = text;
}

class Ingot_BinaryOp<string mnemonic, TypeConstraint type, list<Trait> traits = []>
    : Ingot_ElementwiseOp<mnemonic,
        !listconcat([SameOperandsAndResultType], traits)> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

class Ingot_ArithmeticOp<string mnemonic, string text, list<Trait> traits = []>
    : Ingot_BinaryOp<mnemonic, Ingot_NumberTensor, !listconcat(traits, [
        DeclareOpInterfaceMethods<Differentiable>])> {
  let summary = text;
  let hasFolder = 1;
}

/// A function that needs several operations per element: `flops`, the number of
/// operations of its polynomial.
class Ingot_FunctionOp<string mnemonic, string text, int flops>
    : Ingot_FloatUnaryOp<mnemonic, text, [
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>]> {
  let extraClassDeclaration = roundsMoreThanOnce;
  let extraClassDefinition = [{
    bool $cppClass::readsPointwise(unsigned) { return true; }
    int64_t $cppClass::getFlops() {
      return getType().getNumElements() * }] # !cast<string>(flops) # [{;
    }
  }];
}

def NegOp : Ingot_UnaryOp<"neg", Ingot_NumberTensor,
    [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "-x";
  let hasFolder = 1;
}
def AbsOp : Ingot_UnaryOp<"abs", Ingot_NumberTensor,
    [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "|x|; the derivative at 0 is 0";
}
def SignOp : Ingot_UnaryOp<"sign", Ingot_NumberTensor,
    [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "-1, 0 or 1; NaN stays NaN; the derivative is 0";
}
def FloorOp : Ingot_FloatUnaryOp<"floor", "largest integer not above x; the derivative is 0">;
def CeilOp : Ingot_FloatUnaryOp<"ceil", "smallest integer not below x; the derivative is 0">;
def RoundOp : Ingot_FloatUnaryOp<"round", "nearest integer, ties to even; the derivative is 0">;
def ExpOp : Ingot_FunctionOp<"exp", "e to the x", 16>;
def LogOp : Ingot_FunctionOp<"log", "natural logarithm", 24>;
def Log1pOp : Ingot_FunctionOp<"log1p", "log(1 + x), accurate near 0", 32>;
def SqrtOp : Ingot_FloatUnaryOp<"sqrt", "square root">;
def RsqrtOp : Ingot_FloatUnaryOp<"rsqrt", "1 / sqrt(x)"> {
  let extraClassDeclaration = roundsMoreThanOnce;
}
def TanhOp : Ingot_FunctionOp<"tanh", "hyperbolic tangent", 32>;
def ErfOp : Ingot_FunctionOp<"erf", "Gauss error function", 40>;
def SinOp : Ingot_FunctionOp<"sin", "sine of x in radians", 32>;
def CosOp : Ingot_FunctionOp<"cos", "cosine of x in radians", 32>;
def AtanOp : Ingot_FunctionOp<"atan", "inverse tangent of x, in radians", 32>;
def LogisticOp : Ingot_FunctionOp<"logistic", "1 / (1 + exp(-x))", 20>;

def NotOp : Ingot_UnaryOp<"not", Ingot_BitsTensor,
    [DeclareOpInterfaceMethods<ElementFunction>]> {
  let summary = "logical negation; of integers, that of each bit";
  let hasFolder = 1;
}

def AddOp : Ingot_ArithmeticOp<"add", "a + b",
    [Commutative, DeclareOpInterfaceMethods<ElementFunction>]>;
def SubOp : Ingot_ArithmeticOp<"sub", "a - b",
    [DeclareOpInterfaceMethods<ElementFunction>]>;
def MulOp : Ingot_ArithmeticOp<"mul", "a * b", [Commutative]>;
def DivOp : Ingot_ArithmeticOp<"div",
    "a / b; integers round towards zero, division by zero gives 0">;
// Not commutative: of the operands, one may be a bound.
def MaxOp : Ingot_ArithmeticOp<"max",
    "larger of a and b, NaN if either is; a tie shares the gradient, unless one is constant">;
def MinOp : Ingot_ArithmeticOp<"min",
    "smaller of a and b, NaN if either is; a tie shares the gradient, unless one is constant">;

def PowOp : Ingot_BinaryOp<"pow", Ingot_FloatTensor,
    [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "a to the b, as C's pow";
  let extraClassDeclaration = roundsMoreThanOnce;
}
def RemOp : Ingot_BinaryOp<"rem", Ingot_NumberTensor,
    [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "remainder with the sign of a (C's fmod)";
}
def AndOp : Ingot_BinaryOp<"and", Ingot_BitsTensor,
    [Commutative, DeclareOpInterfaceMethods<ElementFunction>]> {
  let summary = "logical and; of integers, that of each bit";
  let hasFolder = 1;
}
def OrOp : Ingot_BinaryOp<"or", Ingot_BitsTensor,
    [Commutative, DeclareOpInterfaceMethods<ElementFunction>]> {
  let summary = "logical or; of integers, that of each bit";
  let hasFolder = 1;
}
def XorOp : Ingot_BinaryOp<"xor", Ingot_BitsTensor, [Commutative]> {
  let summary = "logical exclusive or; of integers, that of each bit";
  let hasFolder = 1;
}
def ShiftLeftOp : Ingot_BinaryOp<"shift_left", Ingot_IntTensor> {
  let summary = "the bits of a, moved up by b places; 0 where b is not in [0, width)";
}
def ShiftRightOp : Ingot_BinaryOp<"shift_right", Ingot_IntTensor> {
  let summary = "the bits of a, moved down by b places";
  let description = [{
    Signed integers keep their sign: the result is floor(a / 2^b). Where b is not in [0, width), the result is 0, or
    -1 for a negative a.
  }];
}

def Ingot_Predicate : I32EnumAttr<"Predicate", "comparison", [
    I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
    I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
    I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]> {
  let cppNamespace = "::ingot";
  let genSpecializedAttr = 0;
}
def Ingot_PredicateAttr : EnumAttr<Ingot_Dialect, Ingot_Predicate, "predicate">;

def CompareOp : Ingot_ElementwiseOp<"compare",
    [SameTypeOperands, DeclareOpInterfaceMethods<ElementFunction>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "compares; with NaN everything but `ne` is false";
  let arguments = (ins Ingot_PredicateAttr:$predicate, Ingot_Tensor:$lhs,
                       Ingot_Tensor:$rhs);
  let results = (outs Ingot_BoolTensor:$result);
  let assemblyFormat = [{
    `` $predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def SelectOp : Ingot_ElementwiseOp<"select",
    [AllTypesMatch<["on_true", "on_false", "result"]>,
     DeclareOpInterfaceMethods<ElementFunction>,
     DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "on_true where the condition holds, else on_false";
  let arguments = (ins Ingot_BoolTensor:$condition, Ingot_Tensor:$on_true,
                       Ingot_Tensor:$on_false);
  let results = (outs Ingot_Tensor:$result);
  let assemblyFormat = [{
    $condition `,` $on_true `,` $on_false attr-dict `:`
    type($condition) `,` type($result)
  }];
  let hasFolder = 1;
}

def CastOp : Ingot_ElementwiseOp<"cast",
    [DeclareOpInterfaceMethods<ElementFunction>,
     DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "converts the element type";
  let description = [{
    Float to float rounds to nearest even; float to integer rounds towards zero;
    to boolean is `!= 0`; from boolean is 0 or 1. Only float to float passes a gradient.
    8-bit floats are converted from and to f32: what is beyond their largest number becomes that, infinities included,
    and NaN stays NaN.
  }];
  let arguments = (ins Ingot_StoredTensor:$operand);
  let results = (outs Ingot_StoredTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def BitcastOp : Ingot_ElementwiseOp<"bitcast"> {
  let summary = "the elements of another type with the same bits";
  let arguments = (ins Ingot_NumberTensor:$operand);
  let results = (outs Ingot_NumberTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def StraightThroughOp : Ingot_BinaryOp<"straight_through", Ingot_FloatTensor,
    [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "b, whose gradient goes to a: the straight-through estimator of quantization";
  let description = [{
    Training with quantized values differentiates a smooth function, a, in place of the quantized one, b (Bengio et
    al., "Estimating or propagating gradients through stochastic neurons for conditional computation", 2013).
  }];
}

def StochasticRoundOp : Ingot_ElementwiseOp<"stochastic_round"> {
  let summary = "rounds to bf16 stochastically, such that the expected value is the operand";
  let description = [{
    Let t be the operand rounded towards zero, s the next bf16 number away from zero, and f = (x - t) / (s - t). The
    result is s where drawn + f is at least 1, else t. `drawn` is uniform in [0, 1). bf16 numbers and infinities are
    unchanged, NaN is NaN, and finite numbers stay finite.

    With rounding to nearest, a state in bf16 would lose small updates; with stochastic rounding it keeps them on
    average (Gupta et al., "Deep learning with limited numerical precision", ICML 2015).
  }];
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand, Ingot_TensorOf<[F32]>:$drawn);
  let results = (outs Ingot_TensorOf<[BF16]>:$result);
  let assemblyFormat = "$operand `,` $drawn attr-dict `:` functional-type(operands, results)";
}

def ReducePrecisionOp : Ingot_UnaryOp<"reduce_precision", Ingot_TensorOf<[F32]>,
    [DeclareOpInterfaceMethods<CostModel, ["getFlops"]>]> {
  let summary = "rounds to the nearest number of a narrower float type, saturating";
  let description = [{
    Each element becomes the nearest number that the type `to` has, ties to even, and what is beyond its largest number
    becomes that, infinities included; NaN stays NaN. The result still is f32: with scales around it, the op computes
    what a matmul that reads 8-bit operands would see (Micikevicius et al., "FP8 formats for deep learning", 2022). No
    gradient is defined.
  }];
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand, TypeAttr:$to);
  let assemblyFormat = "$operand `to` $to attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = roundsMoreThanOnce;
  let extraClassDefinition = [{
    bool $cppClass::readsPointwise(unsigned) { return true; }
    int64_t $cppClass::getFlops() { return getType().getNumElements() * 8; }
  }];
}

def UpperHalfOp : Ingot_ElementwiseOp<"upper_half"> {
  let summary = "rounds to bf16 such that `lower_half` holds the remaining bits";
  let description = [{
    Rounds to the nearest bf16 number, ties away from zero; NaN is NaN. The result differs from that of `cast` only at
    ties. Together with `lower_half` it represents the f32 number exactly (`join_halves`) in 32 bits, of which matmuls
    read half: a bf16 copy next to an f32 master is not needed.

    This follows Split-SGD-BF16 (Kalamkar et al., "Optimizing Deep Learning Recommender Systems' Training On CPU
    Cluster Architectures", SC 2020), which truncates instead of rounding.
  }];
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand);
  let results = (outs Ingot_TensorOf<[BF16]>:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def LowerHalfOp : Ingot_ElementwiseOp<"lower_half"> {
  let summary = "the lower 16 bits of an f32 number; 0 for NaN";
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand);
  let results = (outs Ingot_TensorOf<[I16]>:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def JoinHalvesOp : Ingot_ElementwiseOp<"join_halves"> {
  let summary = "the f32 number with the given `upper_half` and `lower_half`";
  let arguments = (ins Ingot_TensorOf<[BF16]>:$upper, Ingot_TensorOf<[I16]>:$lower);
  let results = (outs Ingot_TensorOf<[F32]>:$result);
  let assemblyFormat = "$upper `,` $lower attr-dict `:` functional-type(operands, results)";
}

def MagnitudeOp : Ingot_ElementwiseOp<"magnitude"> {
  let summary = "the bits of |x| as an integer, which increases with |x|; NaN is above infinity";
  let arguments = (ins Ingot_TensorOf<[F32]>:$operand);
  let results = (outs Ingot_TensorOf<[I32]>:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

#endif // INGOT_DIALECTS_INGOT_ELEMENTWISE_ELEMENTWISE_TD

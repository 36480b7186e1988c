//===----------------------------------------------------------------------===//
//
// What passes may ask an op. Passes are generic: everything that is particular
// to an op is answered through one of these.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_INTERFACES_TD
#define INGOT_DIALECTS_INGOT_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def LibraryCall : OpInterface<"LibraryCall"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that one entry of the C ABI (docs/abi.md) can run whole, faster than generated loops would:
    fusion leaves it alone, and the schedule makes it a call. Whether the entry of a target takes the op, and
    what it then needs, is the target's to say (`Target::getSupport`).
  }];
  let methods = [
    InterfaceMethod<"The symbol of the entry.", "::llvm::StringRef", "getEntry", (ins)>,
    InterfaceMethod<[{
      Fills the entry's descriptor: sizes, element types, strides and attributes of the op. Fields that depend on
      the target (math mode, scratch) or on the function (numbers of calls and buckets) are left 0.
    }], "void", "describeCall", (ins "::ingot::CallDescriptor &":$descriptor)>,
    InterfaceMethod<[{
      The entry's buffers in its order, but for scratch: operands and results of the op, or parts of them.
    }], "::llvm::SmallVector<::ingot::CallBuffer>", "getCallBuffers", (ins),
      "", "return ::ingot::detail::operandsAndResults($_op);">,
    InterfaceMethod<[{
      Why no target's entry can run the op: an attribute or element type that the descriptor cannot express. Empty
      if one may; the targets' own limits are theirs (`Target::getSupport`).
    }], "::llvm::StringRef", "refuseCall", (ins), "", "return {};">];
}

def SameBytes : NativeOpTrait<"SameBytes"> {
  let cppNamespace = "::ingot";
}

def MovesElements : OpInterface<"MovesElements"> {
  let cppNamespace = "::ingot";
  let description = [{
    Only moves elements of its one operand, or repeats them (reshape, transpose, slice,
    broadcast): a conversion of its result is one of its operand.
  }];
  let methods = [InterfaceMethod<
    "Which element of the operand each element of the result is.",
    "::ingot::ElementMove", "getMove", (ins)>];
}

def RowSplit : OpInterface<"RowSplit"> {
  let cppNamespace = "::ingot";
  let description = [{
    How an op follows when tensors come in parts: equal stretches of their first dimension.
    Ops that compute one element from elements elsewhere (`ScalarBody`, `getReadDims`) need not say.
  }];
  let methods = [InterfaceMethod<[{
      What one part gives. `isCut` says which values come in parts already.
    }],
    "::ingot::RowParts", "splitRows",
    (ins "::llvm::function_ref<bool(::mlir::Value)>":$isCut)>];
}

def ElementFunction : OpInterface<"ElementFunction"> {
  let cppNamespace = "::ingot";
  let description = [{
    An elementwise op that analyses of constants can follow: it computes on elements held as
    doubles (booleans are 0 and 1), exactly where these and the result are small integers.
  }];
  let methods = [InterfaceMethod<
    "The element of the result.", "double", "evaluate",
    (ins "::llvm::ArrayRef<double>":$operands)>];
}

def EpilogueAnchor : OpInterface<"EpilogueAnchor"> {
  let cppNamespace = "::ingot";
  let description = [{
    A library anchor of one result whose call can hand its elements, while they are in the
    cache, to a kernel that finishes them (the fusion kind `epilogue`).
  }];
  let methods = [InterfaceMethod<
    "Whether the call does so for these types.", "bool", "takesEpilogue", (ins)>];
}

def BucketEnd : OpInterface<"BucketEnd"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that puts tensors into a bucket or takes them out of it, without changing them: parts lie in the
    bucket's memory as BucketLayout says, so that the planner need not copy. What happens between
    the two ends is not repeated, and other work goes on meanwhile.
  }];
  let methods = [
    InterfaceMethod<"The tensors.", "::mlir::ValueRange", "getParts", (ins)>,
    InterfaceMethod<"The bucket, of rank 1.", "::mlir::Value", "getBucket", (ins)>,
    InterfaceMethod<"Whether each rank has a shard of the bucket: the layout is then one for all element types.",
      "bool", "isSharded", (ins)>,
    InterfaceMethod<"Whether the step cannot go on without it: nothing is moved in between.",
      "bool", "isBlocking", (ins), "", "return false;">,
  ];
}

def Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::ingot";
  let description = [{
    Reverse-mode differentiation: the op builds its vector-Jacobian product.
    A floating-point op on the way from a parameter to the loss that lacks this interface is
    an error; integers and booleans carry no gradient.
  }];
  let methods = [InterfaceMethod<[{
      Builds the vector-Jacobian product at the builder's position.
      `cotangents` has one entry per result, null where the loss does not depend
      on it (at least one is set). For each operand set in `needed`, stores its cotangent, of
      the operand's type, in `operandCotangents` (which has one null entry per
      operand); an entry left null means that the derivative is zero.
      Fails, with an error emitted on the op, where no derivative is defined.
    }],
    "::llvm::LogicalResult", "buildVjp",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::ArrayRef<::mlir::Value>":$cotangents,
         "const ::llvm::BitVector &":$needed,
         "::llvm::MutableArrayRef<::mlir::Value>":$operandCotangents)>];
}

def Decomposable : OpInterface<"Decomposable"> {
  let cppNamespace = "::ingot";
  let description = [{
    A composite: kept whole where its gradient or a kernel for the whole is
    better than its parts', replaced by primitives before code generation.
  }];
  let methods = [InterfaceMethod<
    "Builds the same results from primitives at the builder's position.",
    "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>];
}

def ModeDependent : OpInterface<"ModeDependent"> {
  let cppNamespace = "::ingot";
  let description = [{
    Behaves differently in training and in evaluation (batch statistics, dropout).
    The op itself is the training form.
  }];
  let methods = [InterfaceMethod<
    "Builds the results as evaluation wants them.",
    "::llvm::SmallVector<::mlir::Value>", "buildInferenceForm",
    (ins "::mlir::OpBuilder &":$builder)>];
}

def CostModel : OpInterface<"CostModel"> {
  let cppNamespace = "::ingot";
  let description = "What executing the op once costs, apart from fusion.";
  let methods = [
    InterfaceMethod<"Floating-point operations.", "int64_t", "getFlops", (ins),
      "", [{ return ::ingot::detail::elementwiseFlops($_op); }]>,
    InterfaceMethod<"Bytes read and written when nothing is fused.",
      "int64_t", "getBytes", (ins),
      "", [{ return ::ingot::detail::operandAndResultBytes($_op); }]>,
    InterfaceMethod<"Which of a machine's rates the operations run at.",
      "::ingot::WorkKind", "getWorkKind", (ins),
      "", "return ::ingot::WorkKind::Vector;">,
    InterfaceMethod<[{
      True if each element of a result is exact, or the exact result rounded once: two ways of computing it then give
      the same bits.
    }], "bool", "roundsOnce", (ins), "", "return !::ingot::detail::isComposite($_op);">,
  ];
}

def PrecisionRole : OpInterface<"PrecisionRole"> {
  let cppNamespace = "::ingot";
  let description = "The op's place in mixed precision.";
  let methods = [InterfaceMethod<[{
      `Low`: runs in the low precision (contractions, accumulating in fp32).
      `Keep`: stays in fp32 (statistics, losses, reductions, optimizer).
      `Follow`: takes the precision of its inputs.
    }],
    "::ingot::Precision", "getPrecisionRole", (ins),
    "", "return ::ingot::Precision::Follow;">,
    InterfaceMethod<[{
      True if the result may stay f32 while the operands are in low precision: what is
      accumulated need not be rounded.
    }],
    "bool", "canKeepResult", (ins), "", "return false;">,
    InterfaceMethod<[{
      True if an operand or result stays f32 in an op of low precision: a statistic.
    }],
    "bool", "isStatistic", (ins "::mlir::Value":$value), "", "return false;">];
}

def ScalarBody : OpInterface<"ScalarBody"> {
  let cppNamespace = "::ingot";
  let description = [{
    How the op computes one element of its results, given the elements of its
    operands: all that a loop nest or a GPU thread needs, fused or not. All
    results have one shape.

    Elements have the code's types, not the tensor's: floats as they are, `i1` and
    signless integers as they are, `ui8` as `i8`.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the elements of all results at `indices` (index values, one per
      dimension). `load(operand, indices)` emits an operand's element.
    }],
    "::llvm::SmallVector<::mlir::Value>", "emitElements",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "::mlir::ValueRange":$indices, "::ingot::ElementSource":$load)>,
    InterfaceMethod<[{
      True if an operand is read only at the very index that is written, so that
      the result may take the operand's memory.
    }],
    "bool", "readsPointwise", (ins "unsigned":$operand),
    "", "return false;">,
    InterfaceMethod<[{
      For each dimension of an operand, the dimension of the result whose index it is read at, or -1
      where that is index 0 always; nothing if elements are found in another way.
    }],
    "::std::optional<::llvm::SmallVector<int64_t>>", "getReadDims",
    (ins "unsigned":$operand), "", [{
      if (!$_op.readsPointwise(operand))
        return ::std::nullopt;
      return ::ingot::detail::sameDims($_op->getOperand(operand));
    }]>,
    InterfaceMethod<[{
      True if each element of the result takes a loop over operand elements
      (reductions, windows): repeating it in several consumers costs.
    }],
    "bool", "isLooped", (ins), "", "return false;">,
  ];
}

def Reduction : OpInterface<"Reduction"> {
  let cppNamespace = "::ingot";
  let description = [{
    Folds one operand (the first) over some of its dimensions with an associative
    combination. Code generation chooses the loop order by what is contiguous.
  }];
  let methods = [
    InterfaceMethod<"The dimensions folded away, increasing.",
      "::llvm::ArrayRef<int64_t>", "getReducedDims", (ins)>,
    InterfaceMethod<"Emits the neutral element.", "::mlir::Value",
      "emitIdentity", (ins "::mlir::OpBuilder &":$builder,
                           "::mlir::Location":$loc)>,
    InterfaceMethod<"Emits one step: the accumulator after one more element.",
      "::mlir::Value", "emitCombine",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$accumulator, "::mlir::Value":$element)>,
  ];
}

def Permutable : OpInterface<"Permutable"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that can work on tensors whose dimensions are in another order. What it
    carries are the tensors whose dimensions take the new order together; the others
    keep theirs. An order lists, for each new dimension, the old one (as `transpose`).
  }];
  let methods = [
    InterfaceMethod<"True if the operand takes the new order.", "bool",
      "carriesOperand", (ins "unsigned":$operand), "", "return true;">,
    InterfaceMethod<"True if the results take the new order.", "bool",
      "carriesResults", (ins), "", "return true;">,
    InterfaceMethod<[{
      Changes the attributes for the new order of the carried tensors; their types are the
      caller's to change. False, and nothing is changed, where the op has no such form.
    }], "bool", "permute", (ins "::llvm::ArrayRef<int64_t>":$order), "",
      "return true;">,
    InterfaceMethod<[{
      Changes the attributes so that the tensors that keep their order (filters) take it as well: their types, and
      transposes around the op, are the caller's. False, and nothing is changed, where the op has no such form.
    }], "bool", "permuteOthers", (ins), "", "return false;">,
  ];
}

def KernelBody : OpInterface<"KernelBody"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op whose elements cannot be computed one by one (scatters): it emits its
    own loop nest over memory. It is never fused.
  }];
  let methods = [
    InterfaceMethod<"Independent iterations that threads may share out.",
      "int64_t", "getParallelExtent", (ins)>,
    InterfaceMethod<[{
      True if each iteration reads the operand only where it alone writes the
      result, which may then take the operand's memory.
    }], "bool", "readsPointwise", (ins "unsigned":$operand), "",
      "return false;">,
    InterfaceMethod<[{
      Emits the loops for iterations [begin, end) of the extent. `inputs` and
      `outputs` are memrefs of the operands and results; an input whose memory
      a result has taken is that result's memref.
    }],
    "void", "emitKernel",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs,
         "::mlir::Value":$begin, "::mlir::Value":$end)>,
  ];
}

#endif // INGOT_DIALECTS_INGOT_IR_INTERFACES_TD

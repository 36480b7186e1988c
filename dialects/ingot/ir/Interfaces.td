// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The op interfaces that passes query. Passes are generic: whatever is specific
// to an op is answered through one of these interfaces.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_INTERFACES_TD
#define INGOT_DIALECTS_INGOT_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def LibraryCall : OpInterface<"LibraryCall"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that one entry point of the C ABI (docs/abi.md) can execute as a whole, faster than generated loops
    would: fusion leaves it alone, and the schedule makes it a call. Whether the entry point of a target supports the
    op, and which resources it then needs, is the target's decision (`Target::getSupport`).
  }];
  let methods = [
    InterfaceMethod<"Returns the symbol of the entry point.", "::llvm::StringRef", "getEntry", (ins)>,
    InterfaceMethod<[{
      Fills the entry's descriptor: sizes, element types, strides and attributes of the op. Fields that depend on
      the target (math mode, scratch) or on the function (numbers of calls and buckets) are left 0.
    }], "void", "describeCall", (ins "::ingot::CallDescriptor &":$descriptor)>,
    InterfaceMethod<[{
      Returns the buffers of the entry point in its order, except scratch: operands and results of the op, or parts of
      them.
    }], "::llvm::SmallVector<::ingot::CallBuffer>", "getCallBuffers", (ins),
      "", "return ::ingot::detail::operandsAndResults($_op);">,
    InterfaceMethod<[{
      Returns why no target's entry point can execute the op: an attribute or element type that the descriptor cannot
      express. Empty if the descriptor can express the op; limits of a single target belong to `Target::getSupport`.
    }], "::llvm::StringRef", "refuseCall", (ins), "", "return {};">];
}

def SameBytes : NativeOpTrait<"SameBytes"> {
  let cppNamespace = "::ingot";
}

def MovesElements : OpInterface<"MovesElements"> {
  let cppNamespace = "::ingot";
  let description = [{
    The op only moves or repeats elements of its single operand (reshape, transpose, slice, broadcast): a conversion
    of its result is one of its operand.
  }];
  let methods = [InterfaceMethod<
    "Returns which element of the operand each element of the result is.",
    "::ingot::ElementMove", "getMove", (ins)>];
}

def IndexesElements : OpInterface<"IndexesElements"> {
  let cppNamespace = "::ingot";
  let description = [{
    An operand of integers numbers elements along a dimension of another value: those that are read (gather) or written
    (scatter).
  }];
  let methods = [InterfaceMethod<
    "Returns the integers, and how many elements they choose among.",
    "::ingot::ElementIndices", "getElementIndices", (ins)>];
}

def ElementFunction : OpInterface<"ElementFunction"> {
  let cppNamespace = "::ingot";
  let description = [{
    An elementwise op that analyses of constants can evaluate: it computes on elements stored as doubles (booleans are
    0 and 1), and is exact where these and the result are small integers.
  }];
  let methods = [InterfaceMethod<
    "Returns the element of the result.", "double", "evaluate",
    (ins "::llvm::ArrayRef<double>":$operands)>];
}

def EpilogueAnchor : OpInterface<"EpilogueAnchor"> {
  let cppNamespace = "::ingot";
  let description = [{
    A library call with one result whose tiles a generated kernel can transform further while they are in the cache
    (the fusion kind `epilogue`).
  }];
  let methods = [InterfaceMethod<
    "Returns whether the call supports an epilogue for these types.", "bool", "takesEpilogue", (ins)>];
}

def BucketEnd : OpInterface<"BucketEnd"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that packs tensors into a bucket or unpacks them, without changing them: parts are at the offsets in the
    bucket's memory that BucketLayout computes, so that the planner need not copy. The operation in flight between the
    two ends cannot be repeated, and other work overlaps with it.
  }];
  let methods = [
    InterfaceMethod<"Returns the tensors.", "::mlir::ValueRange", "getParts", (ins)>,
    InterfaceMethod<"Returns the bucket, a tensor of rank 1.", "::mlir::Value", "getBucket", (ins)>,
    InterfaceMethod<
      "Returns whether each rank owns a shard of the bucket: the layout is then the same for all element types.",
      "bool", "isSharded", (ins)>,
    InterfaceMethod<"Returns whether the step cannot continue without it: no op is moved in between.",
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
    A composite op: it is kept where its gradient, or a kernel for the whole op, is better than those of its parts,
    and replaced by primitives before code generation.
  }];
  let methods = [InterfaceMethod<
    "Builds the same results from primitives at the builder's position.",
    "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>];
}

def ModeDependent : OpInterface<"ModeDependent"> {
  let cppNamespace = "::ingot";
  let description = [{
    The op behaves differently in training and in evaluation (batch statistics, dropout). The op itself is the
    training form.
  }];
  let methods = [InterfaceMethod<
    "Builds the results of the evaluation form.",
    "::llvm::SmallVector<::mlir::Value>", "buildInferenceForm",
    (ins "::mlir::OpBuilder &":$builder)>];
}

def CostModel : OpInterface<"CostModel"> {
  let cppNamespace = "::ingot";
  let description = "Estimates the cost of one execution of the op when it is not fused.";
  let methods = [
    InterfaceMethod<"Returns the number of floating-point operations.", "int64_t", "getFlops", (ins),
      "", [{ return ::ingot::detail::elementwiseFlops($_op); }]>,
    InterfaceMethod<"Returns the number of bytes that are read and written when nothing is fused.",
      "int64_t", "getBytes", (ins),
      "", [{ return ::ingot::detail::operandAndResultBytes($_op); }]>,
    InterfaceMethod<"Returns the kind of work, which selects a throughput of the machine.",
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
  let description = "The role of the op in mixed precision.";
  let methods = [InterfaceMethod<[{
      `Low`: runs in 16 bits (contractions, which accumulate in fp32).
      `Keep`: stays in fp32 (statistics, losses, reductions, optimizer).
      `Follow`: runs in the precision of its inputs.
    }],
    "::ingot::Precision", "getPrecisionRole", (ins),
    "", "return ::ingot::Precision::Follow;">,
    InterfaceMethod<[{
      True if the result may stay f32 while the operands are in 16 bits: the accumulated value need not be rounded.
    }],
    "bool", "canKeepResult", (ins), "", "return false;">,
    InterfaceMethod<[{
      The operands that may be 8-bit floats with scales, in the form of the op that accelerators have for them, which
      accumulates in f32: of each its number and the dimension that is summed. None if there is no such form.
    }],
    "::llvm::SmallVector<::ingot::Float8Read>", "getFloat8Reads", (ins), "", "return {};">,
    InterfaceMethod<[{
      Creates the op on 8-bit floats in memory, with those operands in the order of `getFloat8Reads`, and returns its
      result, of the same type. Called only where there are such operands.
    }],
    "::mlir::Value", "buildFloat8",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::ingot::Float8Operand>":$operands),
    "", "return {};">,
    InterfaceMethod<[{
      True if an operand or result stays f32 in an op that runs in 16 bits: a statistic.
    }],
    "bool", "isStatistic", (ins "::mlir::Value":$value), "", "return false;">];
}

def ScalarBody : OpInterface<"ScalarBody"> {
  let cppNamespace = "::ingot";
  let description = [{
    Describes how the op computes one element of its results from elements of its operands, which is all that a loop
    nest or a GPU thread needs, fused or not. All results have one shape.

    Elements have the types of generated code instead of the tensor's: floats are unchanged, as are `i1` and signless
    integers; `ui8` becomes `i8`.
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
      True if an operand is read only at the index that is written, so that the result may reuse the operand's memory.
    }],
    "bool", "readsPointwise", (ins "unsigned":$operand),
    "", "return false;">,
    InterfaceMethod<[{
      For each dimension of an operand, returns the dimension of the result whose index it is read at, or -1 where the
      index is always 0; nothing if elements are found in another way.
    }],
    "::std::optional<::llvm::SmallVector<int64_t>>", "getReadDims",
    (ins "unsigned":$operand), "", [{
      if (!$_op.readsPointwise(operand))
        return ::std::nullopt;
      return ::ingot::detail::sameDims($_op->getOperand(operand));
    }]>,
    InterfaceMethod<[{
      True if each element of the result requires a loop over operand elements (reductions, windows): recomputing it
      in several consumers is expensive.
    }],
    "bool", "isLooped", (ins), "", "return false;">,
  ];
}

def Reduction : OpInterface<"Reduction"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that reduces one operand (the first) over some of its dimensions with an associative combination. Code
    generation chooses the loop order by which dimensions are contiguous.
  }];
  let methods = [
    InterfaceMethod<"Returns the reduced dimensions in increasing order.",
      "::llvm::ArrayRef<int64_t>", "getReducedDims", (ins)>,
    InterfaceMethod<"Emits the neutral element; null where partial results are several values.", "::mlir::Value",
      "emitIdentity", (ins "::mlir::OpBuilder &":$builder,
                           "::mlir::Location":$loc), "", "return {};">,
    InterfaceMethod<[{
      Emits one step, which combines the accumulator with one more element; null where partial results are several
      values.
    }], "::mlir::Value", "emitCombine",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$accumulator, "::mlir::Value":$element), "", "return {};">,
    InterfaceMethod<[{
      Returns the types of a partial result, which is what is known of some of the elements. Where it is several
      values, only the following methods emit the reduction, and only kernels that merge partial results compute it
      (`Target::splitsReductions`).
    }], "::llvm::SmallVector<::mlir::Type>", "getPartialTypes", (ins), "",
      "return {::ingot::detail::accumulatorOf($_op)};">,
    InterfaceMethod<"Returns the number of accumulators of a loop over elements.", "unsigned", "getNumAccumulators",
      (ins), "", "return 1;">,
    InterfaceMethod<"Emits the accumulators of no elements.", "::llvm::SmallVector<::mlir::Value>", "emitIdentities",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc), "",
      "return {$_op.emitIdentity(builder, loc)};">,
    InterfaceMethod<"Emits the accumulators after one more element.", "::llvm::SmallVector<::mlir::Value>",
      "emitElement", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
                          "::mlir::ValueRange":$accumulators, "::mlir::Value":$element), "",
      "return {$_op.emitCombine(builder, loc, accumulators.front(), element)};">,
    InterfaceMethod<"Emits the partial result of the elements that a loop has accumulated.",
      "::llvm::SmallVector<::mlir::Value>", "emitPartial",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$accumulators), "",
      "return ::llvm::to_vector(accumulators);">,
    InterfaceMethod<"Emits the partial result of the elements of two partial results.",
      "::llvm::SmallVector<::mlir::Value>", "emitMerge",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$partial,
           "::mlir::ValueRange":$other), "",
      "return {$_op.emitCombine(builder, loc, partial.front(), other.front())};">,
    InterfaceMethod<"Emits the result from the partial result of all elements.", "::mlir::Value", "emitResult",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$partial), "",
      "return partial.front();">,
  ];
}

def Permutable : OpInterface<"Permutable"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op that can operate on tensors whose dimensions are permuted. It carries the tensors whose dimensions are
    permuted together; the others keep their order. An order lists the old dimension for each new one (as `transpose`
    does).
  }];
  let methods = [
    InterfaceMethod<"True if the operand is permuted with the op.", "bool",
      "carriesOperand", (ins "unsigned":$operand), "", "return true;">,
    InterfaceMethod<"True if the results are permuted with the op.", "bool",
      "carriesResults", (ins), "", "return true;">,
    InterfaceMethod<[{
      Updates the attributes for the new order of the carried tensors; the caller updates their types. Returns false,
      and changes nothing, where the op has no such form.
    }], "bool", "permute", (ins "::llvm::ArrayRef<int64_t>":$order), "",
      "return true;">,
    InterfaceMethod<[{
      Updates the attributes such that the tensors that keep their order (filters) are permuted as well; the caller
      updates their types and inserts transposes around the op. Returns false, and changes nothing, where the op has
      no such form.
    }], "bool", "permuteOthers", (ins), "", "return false;">,
  ];
}

def KernelBody : OpInterface<"KernelBody"> {
  let cppNamespace = "::ingot";
  let description = [{
    An op whose elements cannot be computed independently (scatters): it emits its own loop nest over memory. It is
    never fused.
  }];
  let methods = [
    InterfaceMethod<"Returns the number of independent iterations, which threads may execute in parallel.",
      "int64_t", "getParallelExtent", (ins)>,
    InterfaceMethod<[{
      True if each iteration reads the operand only at elements of the result that no other iteration writes, so that
      the result may reuse the operand's memory.
    }], "bool", "readsPointwise", (ins "unsigned":$operand), "",
      "return false;">,
    InterfaceMethod<[{
      Emits the loops for iterations [begin, end) of the extent. `inputs` and
      `outputs` are memrefs of the operands and results; an input whose memory
      a result reuses is that result's memref.
    }],
    "void", "emitKernel",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs,
         "::mlir::Value":$begin, "::mlir::Value":$end)>,
  ];
}

#endif // INGOT_DIALECTS_INGOT_IR_INTERFACES_TD

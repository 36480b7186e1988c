// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Loops with a known number of iterations.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_LOOP_LOOP_TD
#define INGOT_DIALECTS_INGOT_LOOP_LOOP_TD

include "dialects/ingot/ir/Dialect.td"

/// Base of both forms of a loop: the body, in a region or a function, takes the
/// carried values, one slice of each sequence and the captures, and returns the
/// next carried values and one slice of each output.
class Ingot_IterationOp<string mnemonic, list<Trait> traits>
    : Ingot_Op<mnemonic, !listconcat(traits, [Pure, AttrSizedOperandSegments])> {
  let results = (outs Variadic<Ingot_Tensor>:$results);
  code iterationMethods = [{
    unsigned countCarried() { return getInitial().size(); }
    unsigned countOutputs() { return getNumResults() - countCarried(); }
    /// Returns the values that the last iteration leaves.
    ::mlir::ResultRange getFinals() { return getResults().take_front(countCarried()); }
    /// Returns the outputs of all iterations.
    ::mlir::ResultRange getOutputs() { return getResults().drop_front(countCarried()); }
  }];
}

def LoopOp : Ingot_IterationOp<"loop", [IsolatedFromAbove, DeclareOpInterfaceMethods<Differentiable>,
    SingleBlockImplicitTerminator<"::ingot::YieldOp">]> {
  let summary = "executes a body a known number of times";
  let description = [{
    The arguments of the body are the carried values, one slice of each sequence, and the captures; it yields the next
    carried values and one slice of each output. Iteration i reads and writes slice i along dimension 0, and with
    `reverse` slice count - 1 - i. The results are the last carried values, and the outputs with their slices stacked.

    ```mlir
    %h, %all = ingot.loop 16 carries(%h0) slices(%x) captures(%w)
        : (tensor<8x4xf32>, tensor<16x8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<16x8x4xf32>) {
    ^body(%old: tensor<8x4xf32>, %row: tensor<8x4xf32>, %weight: tensor<4x4xf32>):
      ...
      ingot.yield %next, %next : tensor<8x4xf32>, tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count, UnitAttr:$reverse,
                       Variadic<Ingot_Tensor>:$initial, Variadic<Ingot_Tensor>:$sequences,
                       Variadic<Ingot_Tensor>:$captures);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count (`reverse` $reverse^)? (`carries` `(` $initial^ `)`)? (`slices` `(` $sequences^ `)`)?
    (`captures` `(` $captures^ `)`)? attr-dict-with-keyword `:` functional-type(operands, results) $body
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = iterationMethods # [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::Operation *getYield() { return getBlock().getTerminator(); }
    /// Returns the body's arguments of one kind.
    ::mlir::Block::BlockArgListType getCarriedArguments();
    ::mlir::Block::BlockArgListType getSliceArguments();
    ::mlir::Block::BlockArgListType getCaptureArguments();
    /// Adds a capture, and returns its argument of the body.
    ::mlir::BlockArgument addCapture(::mlir::Value value);
  }];
}

def RepeatOp : Ingot_IterationOp<"repeat", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "executes a function a known number of times: a loop whose body is scheduled by itself";
  let description = [{
    The function is the body of an `ingot.loop`. The attribute `ingot.slot` of its arguments and results names the
    memory of the loop that they are in: `@carried0`, `@slice0`, `@capture0` or `@output0`. The function has no other
    caller.
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, ConfinedAttr<I64Attr, [IntPositive]>:$count, UnitAttr:$reverse,
                       Variadic<Ingot_Tensor>:$initial, Variadic<Ingot_Tensor>:$sequences,
                       Variadic<Ingot_Tensor>:$captures);
  let assemblyFormat = [{
    $body $count (`reverse` $reverse^)? (`carries` `(` $initial^ `)`)? (`slices` `(` $sequences^ `)`)?
    (`captures` `(` $captures^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = iterationMethods;
}

#endif // INGOT_DIALECTS_INGOT_LOOP_LOOP_TD

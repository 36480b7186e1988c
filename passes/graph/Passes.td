// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that make a graph simpler without changing what it computes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_PASSES_TD
#define INGOT_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def Decompose : Pass<"ingot-decompose", "::mlir::func::FuncOp"> {
  let summary = "replaces composite ops by primitives";
  let description = [{
    Every op with the interface Decomposable is replaced by the ops that its `decompose` builds; those without uses
    are omitted.

    Before:
    ```mlir
    %0 = ingot.softmax %x dim = 1 : tensor<8x4xf32>
    ```
    After:
    ```mlir
    %max = ingot.reduce max %x dims = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
    %0 = ingot.broadcast %max dims = [0] : tensor<8xf32> -> tensor<8x4xf32>
    %1 = ingot.sub %x, %0 : tensor<8x4xf32>
    %2 = ingot.exp %1 : tensor<8x4xf32>
    ...
    ```
    Runs after differentiation, because the gradients of composites are better than those of their
    parts. With `keep-anchors`, composites that are library calls of the target are kept.
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"keepAnchors", "keep-anchors", "bool", "false", "keep ops that the target's library supports">];
  let statistics = [
    Statistic<"numDecomposed", "decomposed", "composites replaced">];
}

def FormAttention : Pass<"ingot-form-attention", "::mlir::func::FuncOp"> {
  let summary = "forms attention ops where a fused kernel that never stores the scores is faster";
  let description = [{
    A softmax over the matmul of queries and keys, scaled anywhere, with a mask (selected, added, or both) or a bias,
    whose result is only multiplied by the values, becomes `ingot.attention`. Constant masks that are causal or a
    sliding window become bounds, and comparisons of key positions with a number per sample become key sequence
    lengths, so that the kernel skips masked blocks; key heads that are repeated for several query heads are read in
    place. Guards that replace NaN weights by zeros, which PyTorch's exporter emits for fully masked rows, are covered
    by the semantics of the op. The op computes in f32 where the decomposed form rounded to 16 bits in between.
    Dropout of the weights becomes part of it. Weights with other readers (an output), a trained bias, and a finite
    mask value with which a fully masked row attends to all keys are left as they are; a remark says why.

    `ingot.attention` from the frontend is kept or decomposed by the same cost estimate, and its mask is analyzed in
    the same way. With `plain`, all attention is decomposed. The target states which attention its library supports
    (`Target::refuseAttention`).

    Before:
    ```mlir
    %0 = ingot.matmul %q, %k transposed : (tensor<2x4x64x16xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x64xf32>
    %1 = ingot.mul %0, %scale : tensor<2x4x64x64xf32>
    %2 = ingot.select %causal, %1, %lowest : tensor<2x4x64x64xi1>, tensor<2x4x64x64xf32>
    %3 = ingot.softmax %2 dim = 3 : tensor<2x4x64x64xf32>
    %4 = ingot.matmul %3, %v : (tensor<2x4x64x64xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x16xf32>
    ```
    After, where queries, keys and values are transposed to [batch, rows, heads, columns]:
    ```mlir
    %result, %lse = ingot.attention %q1, %k1, %v1 {right = 0 : i64, scale = 0.25 : f64} : ...
    %4 = ingot.transpose %result [0, 2, 1, 3] : (tensor<2x64x4x16xf32>) -> tensor<2x4x64x16xf32>
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"plain", "plain", "bool", "false", "decompose all attention and form none">,
    Option<"precision", "precision", "std::string", "\"fp32\"",
           "precision that f32 will be computed in: fp32, bf16 or fp16">];
  let statistics = [Statistic<"numFormed", "formed", "attention ops formed">];
}

def MergeProjections : Pass<"ingot-merge-projections", "::mlir::func::FuncOp"> {
  let summary = "merges linear layers that share an input into one matmul, whose parts attention reads in place";
  let description = [{
    Matmuls of one input with several weights of the same role, as queries, keys and values have them in most exports,
    become one matmul with the concatenated weights and biases. Differentiation then yields one matmul for the
    gradient of the input, instead of a sum of several, and one for the gradients of the weights. The cost is a copy
    of the weights in every step, and of the parts of the result unless attention reads them in place: the machine's
    throughput decides, and a remark states both times.

    `ingot.attention` whose queries, keys and values are parts of one tensor becomes `ingot.packed_attention`, both
    for layers that were merged here and for those that the author of the model merged. Imported training steps are
    left alone.

    Before:
    ```mlir
    %0 = ingot.matmul %x, %wq transposed : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    %1 = ingot.matmul %x, %wk transposed : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    %2 = ingot.matmul %x, %wv transposed : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    ... // reshapes to tensor<2x32x2x16xf32>
    %result, %lse = ingot.attention %q, %k, %v {scale = 0.25 : f64} : ...
    ```
    After:
    ```mlir
    %0 = ingot.concat %wq, %wk, %wv dim = 0 : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<96x32xf32>
    %1 = ingot.matmul %x, %0 transposed : (tensor<64x32xf32>, tensor<96x32xf32>) -> tensor<64x96xf32>
    %2 = ingot.reshape %1 : tensor<64x96xf32> -> tensor<2x32x6x16xf32>
    %result, %lse = ingot.packed_attention %2 {key_heads = 2 : i64, scale = 0.25 : f64} : ...
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"precision", "precision", "std::string", "\"fp32\"",
           "precision that f32 will be computed in: fp32, bf16 or fp16">];
  let statistics = [
    Statistic<"numMerged", "merged", "matmuls merged from several layers">,
    Statistic<"numPacked", "packed", "attention ops that read one packed tensor">];
}

def PadClasses : Pass<"ingot-pad-classes", "::mlir::ModuleOp"> {
  let summary = "pads the class dimension so that rows of logits have the alignment that the target prefers";
  let description = [{
    The tensor cores of GPUs require rows that begin at multiples of 16 bytes (`TargetCalls::getRowAlignment`); the
    logits of a vocabulary of 50,257 words, and their gradient, which two more matmuls read, are not aligned. The layer
    before a cross entropy is given padding classes, up to rows of a multiple of 128 bytes: zeros in its weight and
    bias. The logits of padding classes are set to -infinity, so that their probability and their gradient are exactly
    0, and the loss does not change. All other readers of the logits read a slice without padding classes.

    The cost is a copy of the weight in every step. The pass applies where the matmuls save more time than that by the
    machine's throughput; a remark states both times. Evaluation, which has only one of the three matmuls, is left
    alone.

    Before:
    ```mlir
    %0 = ingot.matmul %x, %w transposed : (tensor<512x64xf32>, tensor<1001x64xf32>) -> tensor<512x1001xf32>
    %losses, %lse = ingot.cross_entropy %0, %labels dim = 1 : ...
    ```
    After:
    ```mlir
    %0 = ingot.pad %w low = [0, 0] high = [23, 0] interior = [0, 0] value = 0.0 : (tensor<1001x64xf32>) -> tensor<1024x64xf32>
    %1 = ingot.matmul %x, %0 transposed : (tensor<512x64xf32>, tensor<1024x64xf32>) -> tensor<512x1024xf32>
    %2 = ingot.iota {dim = 1 : i64} : tensor<512x1024xi64>
    %3 = ingot.compare lt %2, %classes : (tensor<512x1024xi64>, tensor<512x1024xi64>) -> tensor<512x1024xi1>
    %4 = ingot.select %3, %1, %infinite : tensor<512x1024xi1>, tensor<512x1024xf32>
    %losses, %lse = ingot.cross_entropy %4, %labels dim = 1 : ...
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"precision", "precision", "std::string", "\"fp32\"",
           "precision that f32 will be computed in: fp32, bf16 or fp16">];
  let statistics = [Statistic<"numPadded", "padded", "layers with padding classes">];
}

def Simplify : Pass<"ingot-simplify", "::mlir::func::FuncOp"> {
  let summary = "canonicalizes, eliminates common subexpressions and simplifies shape ops";
  let description = [{
    Applies the folders and canonicalizations of all ops, common subexpression elimination, and the patterns below,
    until nothing changes:

    - a transpose before or after a `matmul` becomes an attribute of it;
    - a batched `matmul` with one matrix that is broadcast over the batch becomes a single
      matmul without the broadcast, and without the sum over it in the gradient;
    - zero padding before `conv` and `sum_pool` becomes an attribute of them;
    - a transpose that only moves dimensions of size 1, and a reduction over such
      dimensions, becomes a reshape;
    - reshapes that only add or drop dimensions of size 1 move into a following
      `broadcast`; broadcasts, reductions and concatenations in a row are merged;
    - a transpose of matrices between two reshapes of the batch becomes one transpose;
    - a sum of adjacent parts, each padded with zeros, becomes a `concat`;
    - a division by a power of two becomes a multiplication.

    No pattern changes the rounding of a sum, except for the order of a merged sum.

    Before:
    ```mlir
    %0 = ingot.transpose %w[1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %1 = ingot.matmul %x, %0 : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    ```
    After:
    ```mlir
    %1 = ingot.matmul %x, %w transposed : (tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<8x3xf32>
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let statistics = [Statistic<"numRounds", "rounds", "iterations until nothing changed">];
}

def ChunkLoss : Pass<"ingot-chunk-loss", "::mlir::func::FuncOp"> {
  let summary = "computes a linear layer, its cross entropy and their gradients in chunks of rows";
  let description = [{
    The logits of many tokens over a large vocabulary are often the largest tensor of a step. Their loss and gradient
    are computed row by row, so that a chunk of rows can be processed completely, from the matmul of the layer to the
    gradients of its operands, before the next one begins: the logits of only one chunk are in memory at a time, and
    nothing is recomputed. The gradient of the weights is the sum of those of the chunks, in order. Losses that read one
    layer, or that compare two (ClassLoss), are computed in the same chunks, with all of their layers.

    The number of chunks follows from the shapes: the largest one that leaves at least `min-rows` rows per chunk, so
    that the time to read the weights once per chunk is small compared to the matmuls, and up to `max-parts`, because
    each chunk has kernels of its own, which are compiled. Where only larger numbers divide the rows, it is the
    smallest one up to four times as many. The pass does not apply where the accumulated gradients would take as much
    memory as the logits free, where the logits have other readers, and where the gradient depends on the losses of all
    rows; a remark says so.

    Each chunk reads and writes the sum of the weights' gradients. A GPU multiplies so fast that this takes as long as
    the matmuls of hundreds of rows: there a loss is computed whole unless there is a memory budget, and a chunk has as
    many rows as keep that time below a tenth of the matmuls', by the rates of the machine
    (`TargetCalls::getLossChunks`).

    Before:
    ```mlir
    %logits = ingot.matmul %x, %w transposed : (tensor<2048x64xf32>, tensor<5000x64xf32>) -> tensor<2048x5000xf32>
    %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : ...
    %gradient = ... // of %logits
    %dx = ingot.matmul %gradient, %w : (tensor<2048x5000xf32>, tensor<5000x64xf32>) -> tensor<2048x64xf32>
    %dw = ingot.matmul %gradient transposed, %x : (tensor<2048x5000xf32>, tensor<2048x64xf32>) -> tensor<5000x64xf32>
    ```
    After, for each of 8 chunks:
    ```mlir
    %x0 = ingot.slice %x starts = [0, 0] limits = [256, 64] strides = [1, 1] : ...
    %logits0 = ingot.matmul %x0, %w transposed : (tensor<256x64xf32>, tensor<5000x64xf32>) -> tensor<256x5000xf32>
    %losses0, %lse0 = ingot.cross_entropy %logits0, %labels0 dim = 1 : ...
    %gradient0 = ...
    %dx0 = ingot.matmul %gradient0, %w : (tensor<256x5000xf32>, tensor<5000x64xf32>) -> tensor<256x64xf32>
    %dw0 = ingot.matmul %gradient0 transposed, %x0 : (tensor<256x5000xf32>, tensor<256x64xf32>) -> tensor<5000x64xf32>
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"minRows", "min-rows", "int64_t", "0", "minimum number of rows of a chunk; 0: the target's">,
    Option<"maxParts", "max-parts", "int64_t", "16", "maximum number of chunks where one divides the rows">,
    Option<"minBytes", "min-bytes", "int64_t", "16 << 20", "minimum number of bytes saved">,
    Option<"memoryBudget", "memory-budget", "::ingot::MemorySize", "",
           "the budget of the step; without one, targets with much memory compute losses whole">];
  let statistics = [Statistic<"numChunked", "chunked", "chunked losses">];
}

def OutlineLoops : Pass<"ingot-outline-loops", "::mlir::ModuleOp"> {
  let summary = "outlines the bodies of loops as functions";
  let description = [{
    From here on a body is a function like the others, with kernels, an order and a memory plan of its own, which
    `ingot.repeat` executes. Slices of sequences and outputs are read and written where they are in memory: where
    their size is no multiple of the target's alignment, they are padded.

    Before:
    ```mlir
    %h = ingot.loop 16 carries(%h0) slices(%x) : (tensor<32xf32>, tensor<16x32xf32>) -> tensor<32xf32> {
    ^body(%old: tensor<32xf32>, %row: tensor<32xf32>):
      %next = ingot.add %old, %row : tensor<32xf32>
      ingot.yield %next : tensor<32xf32>
    }
    ```
    After:
    ```mlir
    %h = ingot.repeat @loop_0 16 carries(%h0) slices(%x) : (tensor<32xf32>, tensor<16x32xf32>) -> tensor<32xf32>

    func.func private @loop_0(%old: tensor<32xf32> {ingot.slot = @carried0},
        %row: tensor<32xf32> {ingot.slot = @slice0}) -> (tensor<32xf32> {ingot.slot = @carried0}) {
      %next = ingot.add %old, %row : tensor<32xf32>
      return %next : tensor<32xf32>
    }
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect", "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numOutlined", "outlined", "bodies of loops">];
}

def ExposeValues : Pass<"ingot-expose-values", "::mlir::func::FuncOp"> {
  let summary = "returns every floating-point value of a function as a result";
  let description = [{
    Used to compare two builds value by value (tools/bisect). A result is named `NUMBER|PART|NODE|OP`: its position in
    the program, `forward` up to the loss and `backward` after it, the ONNX node, and the op.

    Before: `-> (tensor<f32> {ingot.name = "loss"})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<8x4xf32> {ingot.name = "000000|forward|fc1|matmul"}, ...)`
  }];
}

#endif // INGOT_PASSES_GRAPH_PASSES_TD

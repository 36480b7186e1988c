//===----------------------------------------------------------------------===//
//
// Passes that make a graph simpler without changing what it computes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_PASSES_TD
#define INGOT_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def Decompose : Pass<"ingot-decompose", "::mlir::func::FuncOp"> {
  let summary = "replaces composites by primitives";
  let description = [{
    Every op with the interface Decomposable is replaced by what its `decompose`
    builds; parts of it that nothing needs are left out.

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
    Runs after differentiation: the gradients of composites are better than their
    parts'. With `keep-anchors`, those that a library call runs whole stay.
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"keepAnchors", "keep-anchors", "bool", "false", "keep what a library call of the target runs whole">];
  let statistics = [
    Statistic<"numDecomposed", "decomposed", "composites replaced">];
}

def FormAttention : Pass<"ingot-form-attention", "::mlir::func::FuncOp"> {
  let summary = "makes attention one op, where a kernel that never stores the scores is worth it";
  let description = [{
    A softmax over the product of queries and keys, scaled anywhere, with a mask (selected, added, or both) or a bias,
    whose result is only multiplied with the values, becomes `ingot.attention`. Masks of constants that are causal or
    a sliding window become bounds, and comparisons of positions of keys with a number for each sample become lengths,
    so that the kernel skips what they hide; key heads repeated for several query heads are read where they are. Zeros
    in place of weights that are not numbers, as PyTorch's exporter writes them for queries that look nowhere, are
    what the op gives. The op computes in f32 what was computed in half precision in between. Dropout of the weights
    becomes part of it. Weights that anything else reads (an output), a bias that is trained, and a finite fill that
    shows a query without keys all values stay as they are; a remark says why.

    `ingot.attention` from the frontend stays, or is taken apart, by the same estimate of cost; its mask is looked at
    in the same way. With `plain`, all are taken apart. For a device, whose kernel adds a bias and knows no mask, what
    is hidden gets a bias of -2^24, and a query that sees no key the result 0 after the call; lengths are at least 1,
    with the same for samples without a key, or part of the bias where there is a window. Its library drops weights by
    its own generator, with a seed for each attention and step: other weights than on a processor, which a remark
    says.

    Before:
    ```mlir
    %0 = ingot.matmul %q, %k transposed : (tensor<2x4x64x16xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x64xf32>
    %1 = ingot.mul %0, %scale : tensor<2x4x64x64xf32>
    %2 = ingot.select %causal, %1, %lowest : tensor<2x4x64x64xi1>, tensor<2x4x64x64xf32>
    %3 = ingot.softmax %2 dim = 3 : tensor<2x4x64x64xf32>
    %4 = ingot.matmul %3, %v : (tensor<2x4x64x64xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x16xf32>
    ```
    After, where queries, keys and values are transposed back to [batch, rows, heads, columns]:
    ```mlir
    %result, %lse = ingot.attention %q1, %k1, %v1 {right = 0 : i64, scale = 0.25 : f64} : ...
    %4 = ingot.transpose %result [0, 2, 1, 3] : (tensor<2x64x4x16xf32>) -> tensor<2x4x64x16xf32>
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    Option<"plain", "plain", "bool", "false", "decompose attention, form none">,
    Option<"precision", "precision", "std::string", "\"fp32\"",
           "what f32 will be computed in: fp32, bf16 or fp16">];
  let statistics = [Statistic<"numFormed", "formed", "attentions recognised">];
}

def MergeProjections : Pass<"ingot-merge-projections", "::mlir::func::FuncOp"> {
  let summary = "makes one product of layers that share an input, and lets attention read parts of it in place";
  let description = [{
    Products of one input with several weights of the same role, as queries, keys and values have them in most
    exports, become one product over the weights one after the other, with their biases. Differentiation
    then gives one product for the gradient of the input, where parts would be added up, and
    one for those of the weights. The price is a copy of the weights in every step, and of the parts, unless
    attention reads them: the machine's rates decide, and a remark says what was weighed.

    `ingot.attention` whose queries, keys and values are parts of one tensor becomes
    `ingot.packed_attention`, for layers that were merged here or by the author of the model. Imported
    training steps stay as they are.

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
           "what f32 will be computed in: fp32, bf16 or fp16">];
  let statistics = [
    Statistic<"numMerged", "merged", "products of several layers">,
    Statistic<"numPacked", "packed", "attentions that read one tensor">];
}

def PadClasses : Pass<"ingot-pad-classes", "::mlir::ModuleOp"> {
  let summary = "pads the class dimension so that rows of logits are aligned as the target prefers";
  let description = [{
    The tensor cores of GPUs read rows that begin at multiples of 16 bytes (`Target::getRowAlignment`); the logits of a vocabulary of
    50,257 words, and their gradient, which two more matmuls read, have none. The layer before a cross entropy gets
    padding classes, up to rows of a multiple of 128 bytes: zeros in its weight and bias. Their logits become -infinity, so that their
    probability and their gradient are exactly 0, and losses do not change. Everything else that reads the logits reads the
    classes that there are.

    The price is a copy of the weight in every step. It is paid where the products take longer than that by the
    machine's rates; a remark says what was weighed. Evaluation, which has one product of the three, stays.

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
           "what f32 will be computed in: fp32, bf16 or fp16">];
  let statistics = [Statistic<"numPadded", "padded", "layers with further classes">];
}

def Simplify : Pass<"ingot-simplify", "::mlir::func::FuncOp"> {
  let summary = "canonicalizes, removes common subexpressions, cleans up around shape ops";
  let description = [{
    Folders and canonicalizations of all ops, elimination of common
    subexpressions, and the patterns below, until nothing changes:

    - a transpose before or after a `matmul` becomes its attribute;
    - a `matmul` of a batch with one matrix repeated for the whole batch becomes one
      product, and the repetition goes away, as does the sum over it in the gradient;
    - zero padding before `conv` and `sum_pool` becomes theirs;
    - a transpose that only moves dimensions of size 1, and a reduction over such,
      becomes a reshape;
    - reshapes that only add or drop dimensions of size 1 move into a following
      `broadcast`; broadcasts, reductions and concatenations in a row are merged;
    - a transpose of matrices between two reshapes of the batch becomes one transpose;
    - a sum of neighbouring parts, each padded with zeros, becomes a `concat`;
    - a division by a power of two becomes a multiplication.

    No pattern changes how a sum is rounded, but for the order of a merged sum.

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
  let statistics = [Statistic<"numRounds", "rounds", "rounds until nothing changed">];
}

def ChunkLoss : Pass<"ingot-chunk-loss", "::mlir::func::FuncOp"> {
  let summary = "computes a linear layer, its cross entropy and their gradients for a part of the rows at a time";
  let description = [{
    Logits of many tokens over a large vocabulary are often the largest tensor of a step. Their loss and
    gradient are computed row by row, so that a part of the rows can go all the way, from the layer's
    product to the gradients of its operands, before the next begins: one part's logits are in memory at
    a time, nothing is computed twice. The gradient of the weights is the sum of the parts', in order.

    How many parts there are follows from the shapes: as many as leave `min-rows` rows each, so that
    reading the weights once per part costs little beside the products. Refused where the parts'
    sums would take more memory than the logits leave, where anything else reads the logits, and where the gradient depends on all
    rows' losses; a remark says so.

    Before:
    ```mlir
    %logits = ingot.matmul %x, %w transposed : (tensor<2048x64xf32>, tensor<5000x64xf32>) -> tensor<2048x5000xf32>
    %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : ...
    %gradient = ... // of %logits
    %dx = ingot.matmul %gradient, %w : (tensor<2048x5000xf32>, tensor<5000x64xf32>) -> tensor<2048x64xf32>
    %dw = ingot.matmul %gradient transposed, %x : (tensor<2048x5000xf32>, tensor<2048x64xf32>) -> tensor<5000x64xf32>
    ```
    After, for each of 8 parts:
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
    Option<"minRows", "min-rows", "int64_t", "256", "rows that a part has at least">,
    Option<"minBytes", "min-bytes", "int64_t", "16 << 20", "what must be saved at least">];
  let statistics = [Statistic<"numChunked", "chunked", "losses computed in parts">];
}

def ExposeValues : Pass<"ingot-expose-values", "::mlir::func::FuncOp"> {
  let summary = "makes every floating-point value of a function one of its results";
  let description = [{
    For comparing two builds value by value (tools/bisect). A result is named
    `NUMBER|PART|NODE|OP`: its place in the program, `forward` up to the loss and `backward` after it, the ONNX node, the op.

    Before: `-> (tensor<f32> {ingot.name = "loss"})`

    After: `-> (tensor<f32> {ingot.name = "loss"}, tensor<8x4xf32> {ingot.name = "000000|forward|fc1|matmul"}, ...)`
  }];
}

#endif // INGOT_PASSES_GRAPH_PASSES_TD

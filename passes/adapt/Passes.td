// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that change what is trained of a model.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_ADAPT_PASSES_TD
#define INGOT_PASSES_ADAPT_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddAdapters : Pass<"ingot-add-adapters", "::mlir::ModuleOp"> {
  let summary = "trains low-rank adapters of layers in place of the model";
  let description = [{
    A linear layer y = x W' of `@forward`, with the weight W [out, in], becomes y + scale (dropout(x) A') B' (Hu et al.,
    "LoRA: low-rank adaptation of large language models", ICLR 2022). A [rank, in] and B [out, rank] are parameters in
    fp32, or in the weight's type if it is wider. B is zero at first, and a run draws A from its seed, uniform within
    1 / sqrt(in). The scale is alpha / rank, of `rslora` alpha / sqrt(rank). All other parameters become `frozen`, but
    those that `adapter-train` finds, and biases as the rules say.

    `dora` (Liu et al., "DoRA: weight-decomposed low-rank adaptation", ICML 2024) computes m / n (y + scale (dropout(x)
    A') B') before the bias is added. m [out] is a parameter that begins with the norms of the rows of W; n are the
    norms of the rows of W + scale B A, which pass no gradient, computed from W A', A A', B and the squares of the norms
    of the rows of W, a constant, without a matrix of that size.

    Rules are tried in order, and the first that matches the path of a layer gives it an adapter. The path is that of
    the module in the metadata of the exporter, else the initializer's name without `.weight`, else the node's path.
    `all-linear` takes all linear layers but the head, whose result is an output of the model. Layers that share a
    weight share an adapter; a weight that something else reads cannot have one, because no weight could be exported
    with it.

    A convolution with filters W [out, in, kernel...] has A [rank, in, kernel...], which reads as W does, and B [out,
    rank, 1...]. Those with groups cannot be merged, and have none. An embedding, rows of W [number, out], has A [rank,
    number], zero at first, and B [out, rank], drawn with deviation 1: its rows are y + scale A'[i] B'. Magnitudes of
    `dora` are one for each of `out`.

    The module attribute `ingot.adapters` lists the adapters.

    Before, with `adapter=lora:r=2,alpha=4@up`:
    ```mlir
    ingot.state parameter @up.weight : tensor<8x4xf32> = ...
    %y = ingot.matmul %x, %w transposed : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
    ```
    After:
    ```mlir
    ingot.state frozen @up.weight : tensor<8x4xf32> = ...
    ingot.state parameter @up.lora_A.weight : tensor<2x4xf32> = dense<0.0> : ... {ingot.uniform = 0.5 : f64}
    ingot.state parameter @up.lora_B.weight : tensor<8x2xf32> = dense<0.0> : ...
    %y = ingot.matmul %x, %w transposed : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
    %0 = ingot.matmul %x, %a transposed : (tensor<16x4xf32>, tensor<2x4xf32>) -> tensor<16x2xf32>
    %1 = ingot.mul %0, %two : tensor<16x2xf32>
    %2 = ingot.matmul %1, %b transposed : (tensor<16x2xf32>, tensor<8x2xf32>) -> tensor<16x8xf32>
    %3 = ingot.add %y, %2 : tensor<16x8xf32>
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [
    ListOption<"adapter", "adapter", "::ingot::AdapterRule",
               "KIND:SETTINGS@LAYERS: the adapter of the layers that no rule before it takes">,
    Option<"adapterTrain", "adapter-train", "::ingot::NamePattern", "",
           "regular expression: parameters with a matching name are trained as well">];
  let statistics = [Statistic<"numAdapters", "adapters", "adapters added">];
}

def AddTeacher : Pass<"ingot-add-teacher", "::mlir::ModuleOp"> {
  let summary = "checks and freezes the model that another one learns from";
  let description = [{
    A module with a function `@teacher` beside `@forward` has two models, the second of which the first one learns from.
    This pass makes it one that does not learn: ops that behave otherwise in training have their inference form, states
    are frozen, and none is updated. Its inputs have to be inputs of `@forward`, of the same names and types, and its
    results `distill.N` have to have the shapes of those of `@forward`. `--ingot-attach-loss` compares both and erases
    the function.

    Before:
    ```mlir
    ingot.state running @"@teacher/mean" : tensor<4xf32> = ...
    func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %mean: tensor<4xf32> {...})
        -> (tensor<8x4xf32> {ingot.name = "logits"}, tensor<4xf32> {ingot.state = @"@teacher/mean"})
    ```
    After:
    ```mlir
    ingot.state frozen @"@teacher/mean" : tensor<4xf32> = ...
    func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %mean: tensor<4xf32> {...})
        -> (tensor<8x4xf32> {ingot.name = "logits"})
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [Option<"distill", "distill", "::ingot::DistillRule", "",
                        "how the model learns from the teacher">];
}

def EncodeBase : Pass<"ingot-encode-base", "::mlir::ModuleOp"> {
  let summary = "stores weights that are not trained as codes";
  let description = [{
    The weights of linear layers that are frozen are encoded in blocks (docs/spec/encoding.md): as quantiles of a normal
    distribution (`nf4`: Dettmers et al., "QLoRA: efficient finetuning of quantized LLMs", NeurIPS 2023), floats or
    integers of 4 bits, or integers of 8 bits. Blocks follow the elements of the matrix as [outputs, inputs], whatever
    its state is. Matmuls decode them (`decoded_matmul`), so that neither the state nor the plan has the whole matrix as
    numbers. Weights that come with codes in the model are used as they are, with or without `base`.

    Weights in fp32 are encoded that only matmuls read as their right operand, but that of the head, whose result is an
    output of the model; with an expression those whose names it finds. Remarks say why others are left out.

    The weight stays as a state without memory, whose value the states of its parts have (`ingot.encoding`).

    Before, with `base=nf4`:
    ```mlir
    ingot.state frozen @up.weight : tensor<64x32xf32> = ...
    %y = ingot.matmul %x, %w transposed : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
    ```
    After:
    ```mlir
    ingot.state frozen @up.weight : tensor<64x32xf32> = dense<0.0> : ...
        {ingot.encoding = {block = 64, kind = "nf4", parts = [@"up.weight/codes", @up.weight.absmax]}}
    ingot.state frozen @"up.weight/codes" : tensor<1024xui8> = ...
    ingot.state frozen @up.weight.absmax : tensor<32xf32> = ...
    %y = ingot.decoded_matmul %x, %codes transposed by %absmax as "nf4" block 64
        : (tensor<16x32xf32>, tensor<1024xui8>, tensor<32xf32>) -> tensor<16x64xf32>
    ```
  }];
  let dependentDialects = ["::ingot::IngotDialect"];
  let options = [Option<"base", "base", "::ingot::BaseRule", "",
                        "KIND:SETTINGS@REGEX: how weights are encoded, and which">,
                 Option<"function", "function", "std::string", "\"forward\"",
                        "the name of the function whose weights are encoded">,
                 Option<"encodesBases", "encodes", "bool", "true",
                        "whether matmuls can decode; otherwise weights that come with codes become numbers">];
  let statistics = [Statistic<"numEncoded", "encoded", "weights encoded">];
}

def PruneWeights : Pass<"ingot-prune-weights", "::mlir::ModuleOp"> {
  let summary = "chooses the weights that are pruned";
  let description = [{
    Gives the weights of linear layers and convolutions of `@forward` that are trained the attribute `ingot.pruning`,
    by the first rule that takes them. A rule without an expression takes those that nothing else reads. One with an
    expression takes a weight whose name, or whose layer's path, the expression finds, and any other parameter that it
    matches from the first to the last letter.

    | rule | what becomes zero |
    |---|---|
    | `SHARE` | that share of the elements |
    | `N:M` | all but N of each M elements that follow each other along the dimension that the product reduces |
    | `block:RxC,share=SHARE` | that share of blocks of R outputs and C inputs |

    The dimension of inputs is that which the product reduces, however the weight is stored; that of a convolution
    is its input channels. It has to be a multiple of M or C, and that of outputs one of R. Numbers are rounded, halves
    to even.

    The optimizer gives such weights states of bits, and keeps elements at zero whose bit is set
    (`--ingot-apply-optimizer`). Which these are, the runtime chooses between steps, after those that `schedule` names:
    the ones of the least magnitude, of blocks of the least sum of squares, of equal ones the first; never fewer than
    before. With `schedule=BEGIN:END:EVERY` their share after step t is share (1 - (1 - (t - BEGIN) / (END - BEGIN))^3)
    (Zhu and Gupta, "To prune, or not to prune: exploring the efficacy of pruning for model compression", 2017), for
    t = BEGIN, BEGIN + EVERY and so on, and END.

    Before, with `prune=2:4`:
    ```mlir
    ingot.state parameter @up.weight : tensor<8x4xf32> = ...
    %y = ingot.matmul %x, %w transposed : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
    ```
    After:
    ```mlir
    ingot.state parameter @up.weight : tensor<8x4xf32> = ... {ingot.pruning = {weight = @up.weight, share = 0.5 : f64,
        blocks = 32, output_dim = 0, input_dim = 1, group = 4, begin = 0, end = 0, every = 1, ...}}
    ```
  }];
  let options = [
    ListOption<"prune", "prune", "::ingot::PruneRule",
               "WHAT@REGEX: what is pruned of the weights that no rule before it takes">];
  let statistics = [Statistic<"numPruned", "pruned", "weights that are pruned">];
}

#endif // INGOT_PASSES_ADAPT_PASSES_TD

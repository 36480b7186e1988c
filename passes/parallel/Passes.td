//===----------------------------------------------------------------------===//
//
// Data parallel training: what the ranks of a run exchange.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_PASSES_TD
#define INGOT_PASSES_PARALLEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReduceGradients : Pass<"ingot-reduce-gradients", "::mlir::ModuleOp"> {
  let summary = "adds gradients up over ranks, in buckets";
  let description = [{
    Each gradient that `@train_step` returns, the loss, and its weight become the sum over the ranks of the run; without the
    result `loss_weight` (`--ingot-attach-loss=weigh`) each rank weighs 1. `--ingot-average-gradients` makes means of
    them: of what counts on all ranks together, whatever each rank's share. With `grad-comm`, f32 gradients are rounded before they are sent,
    and sums after each addition; the loss is not. Running statistics become
    the mean over ranks, so that all states stay equal on all ranks.

    Tensors of one element type share buckets, in the order in which they are computed, so that
    the first can be under way while later ones are computed; a bucket that has reached `bucket-mb` is full. Unless it is given, the size
    is where what the last bucket exposes, its time on the link, equals what all buckets wait for, their latencies
    (sqrt(bytes of all x bandwidth x latency) of the machine, docs/machine.md), and at most 25 MiB. A bucket
    starts after its last part, and is waited for at the end of the step, before the
    optimizer that is added there. With `zero`, buckets of gradients are reduce-scattered. All ranks run the same step, hence start the same
    buckets in the same order.

    Before:
    ```mlir
    return %loss, %gw, %gb
    ```
    After:
    ```mlir
    %bucket = ingot.all_reduce_start %loss, %one, %gb, %gw : (tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<4x3xf32>) -> tensor<60xf32>
    %sums:4 = ingot.all_reduce_wait %bucket : (tensor<60xf32>) -> (tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<4x3xf32>)
    return %sums#0, %sums#1, %sums#3, %sums#2
    ```
  }];
  let options = [
    Option<"bucketMb", "bucket-mb", "double", "0.0", "size of a bucket in MiB; 0 chooses by the machine's link">,
    Option<"gradComm", "grad-comm", "std::string", "\"\"", "bf16 or fp16: what f32 gradients are sent as; powersgd:RANK is --ingot-compress-gradients'">,
    Option<"zero", "zero", "unsigned", "0", "1 or 2: each rank gets its shard of the sums (see --ingot-shard-updates)">,
  ];
  let statistics = [
    Statistic<"numBuckets", "buckets", "buckets of gradients">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def ShardUpdates : Pass<"ingot-shard-updates", "::mlir::ModuleOp"> {
  let summary = "each rank updates its shard of the parameters";
  let description = [{
    Works on steps whose gradients were reduce-scattered (`--ingot-reduce-gradients=zero=1`), after the optimizer: what
    is computed from a shard of gradients is a shard. New values of parameters are collected from all ranks, a bucket
    of them for each bucket of gradients; moments become states of which a rank holds its shard alone. This is
    stage 1 of Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020.
    With `gradients`, stage 2, so do the sums of gradients: as states (`W/gradient`) they leave the
    bucket, whose memory is free once it has been reduced.

    An update that needs more than the rank's elements (norms of single parameters, as lamb's) is an error.

    Before:
    ```mlir
    ingot.state moment @w/momentum : tensor<96xf32> = dense<0.0>
    %g = ingot.reduce_scatter_wait %bucket : (tensor<96xf32>) -> tensor<96xf32>
    %m = ingot.add %momentum, %g : tensor<96xf32>
    %next = ingot.sub %w, %m : tensor<96xf32>
    return %next, %m
    ```
    After:
    ```mlir
    ingot.state moment @w/momentum : tensor<96xf32> = dense<0.0> {shard = #ingot.shard<first = 0, of = 96>}
    %g = ingot.reduce_scatter_wait %bucket : (tensor<96xf32>) -> tensor<96xf32>
    %m = ingot.add %momentum, %g : tensor<96xf32>
    %next = ingot.sub %w, %m : tensor<96xf32>
    %start = ingot.all_gather_start %next : (tensor<96xf32>) -> tensor<96xf32>
    %whole = ingot.all_gather_wait %start : (tensor<96xf32>) -> tensor<96xf32>
    return %whole, %m
    ```
  }];
  let options = [
    Option<"gradients", "gradients", "bool", "false", "ranks keep their shard of the gradients alone">,
  ];
  let statistics = [
    Statistic<"numParameters", "parameters", "parameters updated in shards">,
    Statistic<"numStates", "states", "states held in shards">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def DeferGathers : Pass<"ingot-defer-gathers", "::mlir::ModuleOp"> {
  let summary = "new parameters travel behind the next forward pass";
  let description = [{
    Assumes functions of kernels. A bucket of new parameters that a step collects at its end (`--ingot-shard-updates`) and only
    returns need not be waited for there: the parameters become states of one bucket (`gathered`), in whose memory the
    updates write the rank's shard and the ranks' shards meet, so that the bucket takes no memory of its own, and nothing is
    copied. All functions that read one of them, of training, evaluation and prediction, take it from a
    `state_gather_wait`, which the schedule puts right before the first reader. Buckets start to travel when all updates are done, in the order in which
    the step needs their parameters, or what it computes from states alone.

    Where the step goes on with a new value, or another function writes the parameters in another way, a remark says so, and the step
    waits at its end.

    Before:
    ```mlir
    ingot.state parameter @w : tensor<96xf32> = dense<0.0>
    func.func @train_step(%w: tensor<96xf32> {ingot.state = @w}) -> (tensor<96xf32> {ingot.state = @w}) {
      %next = ingot.fusion loop(%w, %gradient) : ...
      %start = ingot.all_gather_start %next : (tensor<96xf32>) -> tensor<96xf32>
      %whole = ingot.all_gather_wait %start : (tensor<96xf32>) -> tensor<96xf32>
      return %whole
    ```
    After:
    ```mlir
    ingot.state parameter @w : tensor<96xf32> = dense<0.0> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 96>}
    func.func @train_step(%w: tensor<96xf32> {ingot.state = @w}) -> (tensor<96xf32> {ingot.state = @w}) {
      %whole = ingot.state_gather_wait 0 %w at [0] of 96 : (tensor<96xf32>) -> tensor<96xf32>
      %next = ingot.fusion loop(%whole, %gradient) : ...
      %later = ingot.state_gather_start 0 %next at [0] of 96 : (tensor<96xf32>) -> tensor<96xf32>
      return %later
    ```
  }];
  let statistics = [
    Statistic<"numDeferred", "deferred", "buckets of parameters that the next step waits for">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def CompressGradients : Pass<"ingot-compress-gradients", "::mlir::ModuleOp"> {
  let summary = "less than gradients travels, and what is left comes later";
  let description = [{
    With `int8` in `grad-comm`, the gradients of a bucket travel as integers with a scale for each block of 256, with `topk:SHARE` that share of
    the elements, those of largest magnitude, with their indices: `compress` says which, and the bucket's `compression` how it is sent. What a rank's gradients have beyond that is the
    bucket's `residual`, added to the next step's, so that nothing is lost.

    With `powersgd:RANK`, a gradient of n x m elements (the first dimension, and all others) leaves its bucket, which
    gets the rank x n elements of its product with the rows of a `basis` instead. Their sum over ranks is made orthonormal (Gram-Schmidt), and a second bucket
    adds up its product with the gradient, rank x m elements. The sum of gradients becomes the product of both: n m / (rank (n + m))
    times less to send. The residual is the gradient's own, and the
    second sums are the next step's basis (warm start). Gradients that would not shrink `min-rate` times (2 by default) stay in their bucket, vectors among
    them; a remark says so. Vogels et al., 2019.

    The first steps (`start:STEPS`, 10 by default) send whole gradients, which change most then: they run `@uncompressed_step`, the
    function as it was before. `bf16` or `fp16` is what all of this is sent as. A step that loss scaling skips leaves residuals and bases
    alone.

    Before:
    ```mlir
    %bucket = ingot.all_reduce_start %g : (tensor<8x6xf32>) -> tensor<48xf32>
    %sum = ingot.all_reduce_wait %bucket : (tensor<48xf32>) -> tensor<8x6xf32>
    ```
    After, with rank 1:
    ```mlir
    %whole = ingot.add %g, %residual : tensor<8x6xf32>
    %p = ingot.matmul %basis, %whole transposed : (tensor<1x6xf32>, tensor<8x6xf32>) -> tensor<1x8xf32>
    %bucket = ingot.all_reduce_start %p : (tensor<1x8xf32>) -> tensor<8xf32>
    %psum = ingot.all_reduce_wait %bucket : (tensor<8xf32>) -> tensor<1x8xf32>
    // %rows: %psum, orthonormal
    %q = ingot.matmul %rows, %whole : (tensor<1x8xf32>, tensor<8x6xf32>) -> tensor<1x6xf32>
    %second = ingot.all_reduce_start %q : (tensor<1x6xf32>) -> tensor<6xf32>
    %next_basis = ingot.all_reduce_wait %second : (tensor<6xf32>) -> tensor<1x6xf32>
    %sum = ingot.matmul %rows transposed, %next_basis : (tensor<1x8xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>
    %own = ingot.matmul %rows transposed, %q : (tensor<1x8xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>
    %next_residual = ingot.sub %whole, %own : tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"gradComm", "grad-comm", "std::string", "\"\"", "powersgd:RANK (with min-rate:RATE), int8 or topk:SHARE, with start:STEPS, separated by commas; bf16 or fp16 beside powersgd">,
  ];
  let statistics = [
    Statistic<"numMatrices", "matrices", "gradients that travel as products of matrices">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def SynchronizeBatchNorm : Pass<"ingot-synchronize-batch-norm", "::mlir::ModuleOp"> {
  let summary = "batch normalization takes the statistics of all ranks' batches";
  let description = [{
    Marks each `batch_norm` of `@train_step`. Its decomposition and its gradient add up sums over ranks where they need them: the
    mean and the variance in the forward pass, one more time in the backward pass. The step waits for
    each. N ranks then do what one does with the whole batch.

    Before:
    ```mlir
    ingot.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
    ```
    After:
    ```mlir
    ingot.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, over_ranks}
    ```
  }];
  let statistics = [
    Statistic<"numSynchronized", "synchronized", "normalizations that take statistics of all ranks">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_PARALLEL_PASSES_TD

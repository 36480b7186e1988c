// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Data-parallel training: communication between the ranks of a run.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_PASSES_TD
#define INGOT_PASSES_PARALLEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReduceGradients : Pass<"ingot-reduce-gradients", "::mlir::ModuleOp"> {
  let summary = "gradients become sums over ranks";
  let description = [{
    Each gradient that `@train_step` returns, the loss, its weight and sums that metrics are computed from
    (`metric.NAME`) become the sum over the ranks of the axis `data`;
    without the result `loss_weight` (`--ingot-attach-loss=weigh`) each rank has weight 1. `--ingot-average-gradients`
    turns the sums into means over all samples that count on any rank. With `grad-comm`, f32 gradients are rounded
    before they are sent, and sums after each addition; the loss is not. Running statistics become the mean over
    ranks, so that all states stay equal on all ranks.

    With `each-micro-batch`, the gradient of each micro-batch is summed over ranks before it is added to the sum over
    micro-batches (`--ingot-accumulate-gradients`), of which ranks can then have shards.

    What comes next, such as norms and updates, sees sums and knows nothing of ranks. `--ingot-form-buckets` decides
    how they are exchanged.

    Before:
    ```mlir
    return %loss, %gw, %gb
    ```
    After:
    ```mlir
    %0 = ingot.all_reduce sum %loss over [data] : tensor<f32>
    %1 = ingot.all_reduce sum %one over [data] : tensor<f32>
    %2 = ingot.all_reduce sum %gw over [data] gradient_of @w : tensor<4x3xf32>
    %3 = ingot.all_reduce sum %gb over [data] gradient_of @b : tensor<3xf32>
    return %0, %1, %2, %3
    ```
  }];
  let options = [
    Option<"gradComm", "grad-comm", "std::string", "\"\"",
           "bf16 or fp16: type in which f32 gradients are sent; other formats belong to --ingot-compress-gradients">,
    Option<"eachMicroBatch", "each-micro-batch", "bool", "false",
           "sum gradients over ranks before they are added to those of other micro-batches">,
  ];
  let statistics = [
    Statistic<"numSums", "sums", "sums over ranks">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def FormBuckets : Pass<"ingot-form-buckets", "::mlir::ModuleOp"> {
  let summary = "sums over ranks become collectives in flight, in buckets";
  let description = [{
    Works on steps with their optimizer. Sums over the axis `data` that do not depend on each other share buckets, in
    the order in which they are computed, those of one element type each, so that the all-reduce of the first bucket
    overlaps with the computation of later gradients; a bucket that has reached `bucket-mb` is full. By default, the
    size is the one at which the exposed time of the last bucket on the link equals the sum of the latencies of all
    buckets (sqrt(total bytes x bandwidth x latency) of the machine, docs/machine.md), and at most 25 MiB. The
    all-reduce of a bucket starts after its last part, and the wait is where the first of the sums was. All ranks run
    the same step, and therefore start the same buckets in the same order.

    With `zero`, buckets of gradients are reduce-scattered: each rank has its shard of the sums. With 3, gradients
    share a bucket only if their parameters are read in the same types. What is computed from
    them element by element has the same shard. Sums of squares over a gradient, or over what an optimizer makes of
    it, become sums of the rank's shard, and their sum over ranks is exchanged where it is needed: once for the norm
    of all gradients, and in one bucket for the norms that lamb divides by. A gradient that an update reads in another
    way is all-reduced, with a remark.

    Scalars that ranks along other axes add up, such as the squares of gradients of which they have parts, share
    buckets, too.

    Before:
    ```mlir
    %1 = ingot.all_reduce sum %gw over [data] gradient_of @w : tensor<4x3xf32>
    %2 = ingot.all_reduce sum %gb over [data] gradient_of @b : tensor<3xf32>
    ```
    After:
    ```mlir
    %bucket = ingot.all_reduce_start %gb, %gw : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<28xf32>
    %sums:2 = ingot.all_reduce_wait %bucket : (tensor<28xf32>) -> (tensor<3xf32>, tensor<4x3xf32>)
    ```
  }];
  let options = [
    Option<"bucketMb", "bucket-mb", "double", "0.0", "size of a bucket in MiB; 0 derives it from the machine's link">,
    Option<"zero", "zero", "unsigned", "0",
           "1 to 3: each rank receives only its shard of the sums (see --ingot-shard-updates)">,
  ];
  let statistics = [
    Statistic<"numBuckets", "buckets", "buckets of sums">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def ShardUpdates : Pass<"ingot-shard-updates", "::mlir::ModuleOp"> {
  let summary = "each rank updates its shard of the parameters";
  let description = [{
    Works on steps whose gradients are reduce-scattered (`--ingot-form-buckets=zero=1`), after the optimizer:
    values computed from a shard of the gradients are sharded. New values of parameters are all-gathered, in one
    bucket for each bucket of gradients; moments become states of which a rank holds only its shard. This is stage 1
    of Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020. With
    `gradients` (stage 2), the summed gradients are sharded as well: they are copied to states (`W/gradient`), so that
    the memory of the bucket is free once it has been reduced.

    With `parameters` (stage 3), parameters and their compute copies are states of which a rank holds only its shard.
    Functions all-gather a bucket of them, in the type in which they read it, where they need it first; updates read
    and write shards. What is computed element by element for both is computed twice. `--ingot-place-gathers` decides
    how long a bucket stays in memory.

    Updates whose gradients are whole stay whole. An update that needs elements outside of the rank's shard is an error.

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
    Option<"gradients", "gradients", "bool", "false", "ranks keep only their shard of the gradients">,
    Option<"parameters", "parameters", "bool", "false", "ranks keep only their shard of the parameters">,
  ];
  let statistics = [
    Statistic<"numParameters", "parameters", "parameters whose update is sharded">,
    Statistic<"numStates", "states", "sharded states">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def DeferGathers : Pass<"ingot-defer-gathers", "::mlir::ModuleOp"> {
  let summary = "overlaps the all-gather of parameters with the next forward pass";
  let description = [{
    Assumes functions of kernels. A bucket of new parameters that a step all-gathers at its end
    (`--ingot-shard-updates`) and only returns need not be waited for there: the parameters become states of one
    bucket (`gathered`). The updates write the rank's shard directly into the memory of the states, and the all-gather
    completes them in place, so that the bucket takes no memory of its own, and nothing is copied. All functions that
    read one of the states, for training, evaluation and prediction, read it from a `state_gather_wait`, which the
    schedule puts right before the first reader. The all-gathers start when all updates are done, in the order in
    which the step, or the part of it that is derived from states only, needs the parameters.

    Where the step itself reads a new value, or another function writes the parameters in a different way, a remark
    says so, and the step waits at its end.

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
    Statistic<"numDeferred", "deferred", "buckets of parameters whose all-gather the next step waits for">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def CompressGradients : Pass<"ingot-compress-gradients", "::mlir::ModuleOp"> {
  let summary = "compresses gradients before the all-reduce, with error feedback";
  let description = [{
    With `int8` in `grad-comm`, the gradients of a bucket are sent as integers with a scale for each block of 256;
    with `topk:FRACTION`, only that fraction of the elements is sent, those of largest magnitude, with their indices:
    `compress` computes the values that the format represents, and an attribute of the bucket names the format of the
    payload. The rest of a rank's gradients is the `residual` of the bucket, which is added to the gradients of the
    next step (error feedback).

    With `powersgd:RANK`, a gradient of n x m elements (the first dimension, and all others) is removed from its
    bucket, and replaced by its matmul with the rows of the low-rank factor Q (state role `basis`), rank x n elements.
    Their sum over ranks is orthonormalized (Gram-Schmidt) to P, and a second bucket sums the matmul of P with the
    gradient, rank x m elements, which is the factor Q of the next step (warm start). The summed gradient becomes the
    matmul of both factors, which takes n m / (rank (n + m)) times fewer elements to send. The residual is that of the
    rank's own gradient. Gradients whose compression rate is below `min-rate` (2 by default) stay in their bucket,
    vectors among them; a remark says so. Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for
    Distributed Optimization", 2019.

    The first steps (`start:STEPS`, 10 by default), in which gradients change most, send whole gradients: they run
    `@uncompressed_step`, a copy of the function without compression. `bf16` or `fp16` is the type in which
    uncompressed tensors and low-rank factors are sent. A step that loss scaling skips leaves residuals and factors
    unchanged.

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
    // %rows: %psum, orthonormalized
    %q = ingot.matmul %rows, %whole : (tensor<1x8xf32>, tensor<8x6xf32>) -> tensor<1x6xf32>
    %second = ingot.all_reduce_start %q : (tensor<1x6xf32>) -> tensor<6xf32>
    %next_basis = ingot.all_reduce_wait %second : (tensor<6xf32>) -> tensor<1x6xf32>
    %sum = ingot.matmul %rows transposed, %next_basis : (tensor<1x8xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>
    %own = ingot.matmul %rows transposed, %q : (tensor<1x8xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>
    %next_residual = ingot.sub %whole, %own : tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"gradComm", "grad-comm", "std::string", "\"\"",
           "powersgd:RANK (with min-rate:RATE), int8 or topk:FRACTION, and start:STEPS, separated by commas; "
           "powersgd may be combined with bf16 or fp16">,
  ];
  let statistics = [
    Statistic<"numMatrices", "matrices", "gradients that are sent as low-rank factors">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def SplitExchanges : Pass<"ingot-split-exchanges", "::mlir::ModuleOp"> {
  let summary = "matmuls and the exchanges of their results in pieces";
  let description = [{
    A contraction whose result ranks exchange over another axis than `data`, with cheap ops in between, is computed in
    2, 4 or 8 pieces of one of its dimensions (`Partitionable`), each with an exchange of its own, which is in flight
    while the next piece is computed. Pieces are along dimensions along which the exchange keeps elements in their place
    (`Exchange::keepsDim`). The time of each choice is that of its ops on the module's machine, with slices of operands,
    the latency of each exchange and the concatenation of results; a remark says what was chosen, or why one piece is
    kept. Exchanges that another contraction can hide, which reads an operand of theirs, stay whole. Pieces are in
    flight by `--ingot-overlap-exchanges`.

    Before:
    ```mlir
    %0 = ingot.matmul %x, %w : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
    %1 = ingot.all_reduce sum %0 over [tensor] : tensor<64x16xf32>
    ```
    After:
    ```mlir
    %0 = ingot.slice %x starts = [0, 0] limits = [32, 32] strides = [1, 1] : ...
    %1 = ingot.matmul %0, %w : (tensor<32x32xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %2 = ingot.all_reduce sum %1 over [tensor] : tensor<32x16xf32>
    // %5: the sum of the other 32 rows
    %6 = ingot.concat %2, %5 dim = 0 : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
    ```
  }];
  let statistics = [Statistic<"numPieces", "pieces", "pieces of exchanges">];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def LowerExchanges : Pass<"ingot-lower-exchanges", "::mlir::ModuleOp"> {
  let summary = "exchanges over axes become those that a rank has library calls for";
  let description = [{
    Of exchanges over other axes than `data`, those remain for which the parts of ranks are one after the other in
    memory: along the first dimension. Each op says how it becomes such a one (`Exchange::buildTransport`). A rank takes
    its part of a tensor that all have by its coordinates, a state of role `coordinates` that the runtime sets; its part
    of an index is another index.

    Before:
    ```mlir
    %whole = ingot.all_gather %part dim 1 over [tensor] : tensor<2x4xf32> -> tensor<2x8xf32>
    %own = ingot.part %whole dim 0 over [tensor] : tensor<2x8xf32> -> tensor<1x8xf32>
    ```
    After:
    ```mlir
    %0 = ingot.all_gather %part dim 0 over [tensor] : tensor<2x4xf32> -> tensor<4x4xf32>
    %1 = ingot.reshape %0 : tensor<4x4xf32> -> tensor<2x2x4xf32>
    %2 = ingot.transpose %1 permutation = [1, 0, 2] : tensor<2x2x4xf32> -> tensor<2x2x4xf32>
    %3 = ingot.reshape %2 : tensor<2x2x4xf32> -> tensor<2x8xf32>
    // %rows: the rows of the rank's part, by its coordinates
    %own = ingot.gather %3[%rows] dim = 0 : (tensor<2x8xf32>, tensor<1xi64>) -> tensor<1x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numExchanges", "exchanges", "exchanges that remain">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

def SynchronizeBatchNorm : Pass<"ingot-synchronize-batch-norm", "::mlir::ModuleOp"> {
  let summary = "computes the statistics of batch normalization over all ranks";
  let description = [{
    Marks each `batch_norm` of `@train_step`. Its decomposition and its gradient all-reduce their sums over ranks: for
    the mean and the variance in the forward pass, and once more in the backward pass. The step blocks on each
    all-reduce. N ranks then compute what a single rank computes with the whole batch.

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
    Statistic<"numSynchronized", "synchronized", "normalizations with statistics over all ranks">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_PARALLEL_PASSES_TD

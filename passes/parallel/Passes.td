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
    optimizer that is added there. All ranks run the same step, hence start the same
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
    Option<"gradComm", "grad-comm", "std::string", "\"\"", "bf16 or fp16: what f32 gradients are sent as">,
  ];
  let statistics = [
    Statistic<"numBuckets", "buckets", "buckets of gradients">,
  ];
  let dependentDialects = ["::ingot::IngotDialect"];
}

#endif // INGOT_PASSES_PARALLEL_PASSES_TD

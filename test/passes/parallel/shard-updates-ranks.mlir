// Tests on simulated ranks that updates in shards do what one rank does with the whole batch. The 64 elements of a bucket
// are shards of the first two ranks: the others have nothing.
// RUN: %python %S/Inputs/ranks.py %t.npz
// RUN: sed s/SAMPLES/8/g %s | ingot-opt --ingot-attach-loss=loss=cross-entropy --ingot-differentiate "--ingot-apply-optimizer=clip clip-norm=0.05" > %t.one.mlir
// RUN: ingot-eval %t.one.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: sed s/SAMPLES/2/g %s | ingot-opt "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=clip clip-norm=0.05" "--ingot-form-buckets=zero=1 bucket-mb=1" --ingot-shard-updates=gradients > %t.four.mlir
// RUN: ingot-eval %t.four.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.four.npz --state-out %t.four.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 2 %t.one.npz %t.four.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --names w,b,w/exp_avg,w/exp_avg_sq,b/exp_avg %t.one.state.npz %t.four.state.npz

// The same with parameters that the next step collects: between steps a rank has its shard of them.
// RUN: ingot-opt %t.four.mlir --ingot-defer-gathers > %t.deferred.mlir
// RUN: FileCheck %s --check-prefix=DEFERRED --input-file=%t.deferred.mlir
// RUN: ingot-eval %t.deferred.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.deferred.npz --state-out %t.deferred.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 2 %t.one.npz %t.deferred.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --names w,b,w/exp_avg,w/exp_avg_sq,b/exp_avg %t.one.state.npz %t.deferred.state.npz

// DEFERRED-COUNT-1: ingot.state_gather_wait
// DEFERRED-COUNT-1: ingot.state_gather_start
ingot.state parameter @w : tensor<4x3xf32> = dense<[[0.1, -0.2, 0.3], [0.5, 0.4, -0.1], [-0.3, 0.2, 0.1], [0.0, 0.6, -0.7]]> : tensor<4x3xf32>
ingot.state parameter @b : tensor<3xf32> = dense<[0.1, 0.2, 0.3]> : tensor<3xf32>
func.func @forward(%x: tensor<SAMPLESx4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w},
    %b: tensor<3xf32> {ingot.state = @b}) -> (tensor<SAMPLESx3xf32> {ingot.name = "logits"}) {
  %product = ingot.matmul %x, %w : (tensor<SAMPLESx4xf32>, tensor<4x3xf32>) -> tensor<SAMPLESx3xf32>
  %wide = ingot.broadcast %b dims = [1] : tensor<3xf32> -> tensor<SAMPLESx3xf32>
  %logits = ingot.add %product, %wide : tensor<SAMPLESx3xf32>
  return %logits : tensor<SAMPLESx3xf32>
}

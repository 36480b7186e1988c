// Tests in f64 on simulated ranks that steps are those of one rank with the whole batch where two groups of two ranks have
// the shards: gradients are summed over all ranks, and norms over the shards of a group.
// RUN: %python %S/Inputs/ranks.py %t.npz
// RUN: sed s/SAMPLES/8/g %s > %t.eight.mlir
// RUN: sed s/SAMPLES/2/g %s > %t.two.mlir

// RUN: ingot-opt %t.eight.mlir --ingot-attach-loss=loss=cross-entropy --ingot-differentiate "--ingot-apply-optimizer=optimizer=adamw clip clip-norm=0.05" -o %t.one.mlir
// RUN: ingot-eval %t.one.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.two.mlir "--ingot-attach-mesh=mesh=inner=2" "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=optimizer=adamw clip clip-norm=0.05" "--ingot-form-buckets=zero=3 bucket-mb=0.0002" "--ingot-shard-updates=gradients parameters" --ingot-place-gathers -o %t.shards.mlir
// RUN: ingot-eval %t.shards.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.0.npz --state-out %t.0.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.0.state.npz
// RUN: FileCheck %s --input-file %t.shards.mlir
// RUN: ingot-opt %t.two.mlir "--ingot-attach-mesh=mesh=inner=2" "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=optimizer=adamw clip clip-norm=0.05" "--ingot-form-buckets=zero=2 bucket-mb=0.0002" --ingot-shard-updates=gradients --ingot-defer-gathers -o %t.shards.mlir
// RUN: ingot-eval %t.shards.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.0.npz --state-out %t.0.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.0.state.npz

// RUN: ingot-opt %t.eight.mlir --ingot-attach-loss=loss=cross-entropy --ingot-differentiate "--ingot-apply-optimizer=optimizer=lamb clip clip-norm=0.05" -o %t.one.mlir
// RUN: ingot-eval %t.one.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.two.mlir "--ingot-attach-mesh=mesh=inner=2" "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=optimizer=lamb clip clip-norm=0.05" "--ingot-form-buckets=zero=1 bucket-mb=0.0002" --ingot-shard-updates -o %t.shards.mlir
// RUN: ingot-eval %t.shards.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.0.npz --state-out %t.0.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.0.state.npz

// CHECK-LABEL: func.func @train_step
// CHECK: ingot.reduce_scatter_start
// CHECK: ingot.shard_square_sum
// CHECK: ingot.all_reduce_start {{.+}} over [inner] :
ingot.state parameter @w : tensor<4x3xf64> = dense<[[0.1, -0.2, 0.3], [0.5, 0.4, -0.1], [-0.3, 0.2, 0.1], [0.0, 0.6, -0.7]]> : tensor<4x3xf64>
ingot.state parameter @b : tensor<3xf64> = dense<[0.1, 0.2, 0.3]> : tensor<3xf64>
ingot.state parameter @s : tensor<f64> = dense<1.5> : tensor<f64>
func.func @forward(%x: tensor<SAMPLESx4xf64> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf64> {ingot.state = @w},
    %b: tensor<3xf64> {ingot.state = @b}, %s: tensor<f64> {ingot.state = @s}) -> (tensor<SAMPLESx3xf64> {ingot.name = "logits"}) {
  %product = ingot.matmul %x, %w : (tensor<SAMPLESx4xf64>, tensor<4x3xf64>) -> tensor<SAMPLESx3xf64>
  %scale = ingot.broadcast %s dims = [] : tensor<f64> -> tensor<SAMPLESx3xf64>
  %scaled = ingot.mul %product, %scale : tensor<SAMPLESx3xf64>
  %wide = ingot.broadcast %b dims = [1] : tensor<3xf64> -> tensor<SAMPLESx3xf64>
  %logits = ingot.add %scaled, %wide : tensor<SAMPLESx3xf64>
  return %logits : tensor<SAMPLESx3xf64>
}

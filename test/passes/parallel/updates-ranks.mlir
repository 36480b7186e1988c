// Tests in f64 on simulated ranks that updates are those of one rank with the whole batch, where a term that is lost cannot
// hide behind rounding: of optimizers that know norms and those that do not, of whole and of sharded gradients, with
// clipping and without. Biases have fewer elements than a shard, and one parameter is a scalar.
// RUN: %python %S/Inputs/ranks.py %t.npz
// RUN: sed s/SAMPLES/8/g %s > %t.eight.mlir
// RUN: sed s/SAMPLES/2/g %s > %t.two.mlir
// RUN: sed s/SAMPLES/4/g %s > %t.four.mlir

// RUN: ingot-opt %t.eight.mlir --ingot-attach-loss=loss=cross-entropy --ingot-differentiate "--ingot-apply-optimizer=optimizer=lamb clip clip-norm=0.05" -o %t.lamb.mlir
// RUN: ingot-eval %t.lamb.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.two.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=optimizer=lamb clip clip-norm=0.05" -o %t.sums.mlir
// RUN: ingot-eval %t.sums.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.0.npz --state-out %t.0.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 2 %t.one.npz %t.0.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --count 10 %t.one.state.npz %t.0.state.npz
// RUN: ingot-opt %t.sums.mlir --ingot-form-buckets -o %t.dp.mlir
// RUN: ingot-eval %t.dp.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.1.npz --state-out %t.1.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 2 %t.one.npz %t.1.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --count 10 %t.one.state.npz %t.1.state.npz
// RUN: ingot-opt %t.sums.mlir "--ingot-form-buckets=zero=1 bucket-mb=0.0002" --ingot-shard-updates --ingot-simplify -o %t.zero.mlir
// RUN: ingot-eval %t.zero.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.2.npz --state-out %t.2.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 2 %t.one.npz %t.2.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.2.state.npz
// RUN: ingot-opt %t.sums.mlir "--ingot-form-buckets=zero=1 bucket-mb=1" --ingot-shard-updates=gradients --ingot-defer-gathers -o %t.deferred.mlir
// RUN: ingot-eval %t.deferred.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.3.npz --state-out %t.3.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 2 %t.one.npz %t.3.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.3.state.npz

// The mean is divided by an f32 number of samples, on one rank too.
// RUN: ingot-opt %t.eight.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=momentum -o %t.momentum.mlir
// RUN: ingot-eval %t.momentum.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.four.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients --ingot-apply-optimizer=optimizer=momentum "--ingot-form-buckets=zero=1 bucket-mb=0.0002" --ingot-shard-updates -o %t.pair.mlir
// RUN: ingot-eval %t.pair.mlir --function train_step --ranks 2 --inputs %t.npz --steps 3 --outputs %t.4.npz --state-out %t.4.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 1 %t.one.npz %t.4.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/momentum,b/momentum,s/momentum %t.one.state.npz %t.4.state.npz

// Each norm that lamb divides by is exchanged, and the parameters' own are not.
// RUN: FileCheck %s --check-prefix=ZERO --input-file %t.deferred.mlir
// ZERO: ingot.reduce_scatter_wait
// ZERO-COUNT-3: ingot.shard_square_sum
// ZERO: ingot.all_reduce_start %{{.+}} : (tensor<f64>) -> tensor<1xf64>
// ZERO: ingot.all_reduce_start %{{.+}}, %{{.+}}, %{{.+}} : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<17xf64>
// ZERO-NOT: ingot.all_reduce_start
// ZERO: return
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

// Tests in f64 on simulated ranks that steps are those of one rank with the whole batch where ranks have shards of the
// parameters, too: of SGD, which shows each gradient as it is, of adamw with clipping, and of lamb, which reads whole
// parameters for their norms. Elements of other ranks are NaN until they are gathered.
// RUN: %python %S/Inputs/ranks.py %t.npz
// RUN: sed s/SAMPLES/8/g %s > %t.eight.mlir
// RUN: sed s/SAMPLES/2/g %s > %t.two.mlir
// RUN: sed s/SAMPLES/4/g %s > %t.four.mlir

// RUN: ingot-opt %t.eight.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd -o %t.sgd.mlir
// RUN: ingot-eval %t.sgd.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.two.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd "--ingot-form-buckets=zero=3 bucket-mb=0.0002" "--ingot-shard-updates=gradients parameters" --ingot-simplify -o %t.shards.mlir
// RUN: FileCheck %s --input-file %t.shards.mlir
// RUN: ingot-eval %t.shards.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.0.npz --state-out %t.0.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 1 %t.one.npz %t.0.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s %t.one.state.npz %t.0.state.npz
// RUN: ingot-opt %t.shards.mlir --ingot-place-gathers=buckets=1 -o %t.placed.mlir
// RUN: ingot-eval %t.placed.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.1.npz --state-out %t.1.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s %t.one.state.npz %t.1.state.npz

// RUN: ingot-opt %t.eight.mlir --ingot-attach-loss=loss=cross-entropy --ingot-differentiate "--ingot-apply-optimizer=optimizer=adamw clip clip-norm=0.05" -o %t.adamw.mlir
// RUN: ingot-eval %t.adamw.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.two.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=optimizer=adamw clip clip-norm=0.05" "--ingot-form-buckets=zero=3 bucket-mb=1" "--ingot-shard-updates=gradients parameters" --ingot-place-gathers -o %t.four.mlir.out
// RUN: ingot-eval %t.four.mlir.out --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.2.npz --state-out %t.2.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.2.state.npz

// RUN: ingot-opt %t.eight.mlir --ingot-attach-loss=loss=cross-entropy --ingot-differentiate "--ingot-apply-optimizer=optimizer=lamb clip clip-norm=0.05" -o %t.lamb.mlir
// RUN: ingot-eval %t.lamb.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.four.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients "--ingot-apply-optimizer=optimizer=lamb clip clip-norm=0.05" "--ingot-form-buckets=zero=3 bucket-mb=0.0002" "--ingot-shard-updates=gradients parameters" --ingot-place-gathers=buckets=1 -o %t.pair.mlir
// RUN: ingot-eval %t.pair.mlir --function train_step --ranks 2 --inputs %t.npz --steps 3 --outputs %t.3.npz --state-out %t.3.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s,w/exp_avg,w/exp_avg_sq,b/exp_avg,s/exp_avg %t.one.state.npz %t.3.state.npz

// Ranks have shards of the sums over micro-batches, too: each micro-batch is summed over ranks.
// RUN: %python -c "import numpy as n; a = dict(n.load('%t.npz')); take = lambda name, i: n.savez(name, **{k: v[i] for k, v in a.items()}); take('%t.m1.npz', slice(8, 12)); take('%t.m2.npz', slice(20, 24)); take('%t.both.npz', [*range(8, 12), *range(20, 24)])"
// RUN: ingot-eval %t.sgd.mlir --function train_step --inputs %t.both.npz --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.two.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-accumulate-gradients=count=2 --ingot-reduce-gradients=each-micro-batch --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd "--ingot-form-buckets=zero=3 bucket-mb=1" "--ingot-shard-updates=gradients parameters" --ingot-split-micro-steps --ingot-place-gathers -o %t.micro.mlir
// RUN: FileCheck %s --check-prefix=MICRO --input-file %t.micro.mlir
// RUN: ingot-eval %t.micro.mlir --function accumulate_step --ranks 2 --inputs %t.m1.npz --outputs %t.4.npz --state-out %t.4.state.npz
// RUN: ingot-eval %t.micro.mlir --function train_step --ranks 2 --inputs %t.m2.npz --states %t.4.state.npz --outputs %t.5.npz --state-out %t.5.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names w,b,s %t.one.state.npz %t.5.state.npz

// MICRO: ingot.state accumulator @"w/sum" : tensor<4x3xf64> = {{.*}} {shard = #ingot.shard<
// MICRO-LABEL: func.func @accumulate_step
// MICRO: ingot.reduce_scatter_wait

// The update reads and writes shards, and nothing gathers what is new. An evaluation gathers, too.
// CHECK-DAG: ingot.state parameter @w : tensor<4x3xf64> = {{.*}} {shard = #ingot.shard<first = {{[0-9]+}}, of = {{[0-9]+}}>}
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.all_gather_wait
// CHECK: ingot.reduce_scatter_wait
// CHECK-NOT: ingot.all_gather
// CHECK-LABEL: func.func @eval_step
// CHECK: ingot.all_gather_wait
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

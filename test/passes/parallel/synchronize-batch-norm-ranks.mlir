// Tests on simulated ranks that normalization over ranks, and its gradient, are those of the whole batch, as one op and in parts.
// RUN: %python %S/Inputs/ranks.py %t.npz
// RUN: sed s/SAMPLES/8/g %s | ingot-opt --ingot-attach-loss=loss=cross-entropy --ingot-differentiate --ingot-apply-optimizer=optimizer=sgd > %t.one.mlir
// RUN: ingot-eval %t.one.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: sed s/SAMPLES/2/g %s | ingot-opt "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-synchronize-batch-norm --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd --ingot-form-buckets > %t.op.mlir
// RUN: FileCheck %s --check-prefix=OP --input-file %t.op.mlir
// RUN: ingot-eval %t.op.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.op.npz --state-out %t.op.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 1 %t.one.npz %t.op.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 6 %t.one.state.npz %t.op.state.npz
// RUN: ingot-opt %t.op.mlir --ingot-decompose > %t.parts.mlir
// RUN: FileCheck %s --check-prefix=PARTS --input-file %t.parts.mlir
// RUN: ingot-eval %t.parts.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.parts.npz --state-out %t.parts.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 6 %t.one.state.npz %t.parts.state.npz

// OP-LABEL: func.func @train_step
// OP: ingot.batch_norm {{.*}}over_ranks
// OP: ingot.all_reduce_start {{.*}} {blocking} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
// PARTS-LABEL: func.func @train_step
// PARTS: ingot.all_reduce_start {{.*}} {blocking} : (tensor<3xf32>, tensor<3xf32>) -> tensor<19xf32>
// PARTS: ingot.all_reduce_start {{.*}} {blocking} : (tensor<3xf32>) -> tensor<3xf32>
ingot.state parameter @w : tensor<4x3xf32> = dense<[[0.1, -0.2, 0.3], [0.5, 0.4, -0.1], [-0.3, 0.2, 0.1], [0.0, 0.6, -0.7]]> : tensor<4x3xf32>
ingot.state parameter @scale : tensor<3xf32> = dense<[1.0, 0.5, 1.5]> : tensor<3xf32>
ingot.state parameter @bias : tensor<3xf32> = dense<[0.1, 0.2, 0.3]> : tensor<3xf32>
ingot.state running @mean : tensor<3xf32> = dense<0.0> : tensor<3xf32>
ingot.state running @variance : tensor<3xf32> = dense<1.0> : tensor<3xf32>
func.func @forward(%x: tensor<SAMPLESx4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w},
    %scale: tensor<3xf32> {ingot.state = @scale}, %bias: tensor<3xf32> {ingot.state = @bias}, %mean: tensor<3xf32> {ingot.state = @mean},
    %variance: tensor<3xf32> {ingot.state = @variance})
    -> (tensor<SAMPLESx3xf32> {ingot.name = "logits"}, tensor<3xf32> {ingot.state = @mean}, tensor<3xf32> {ingot.state = @variance}) {
  %product = ingot.matmul %x, %w : (tensor<SAMPLESx4xf32>, tensor<4x3xf32>) -> tensor<SAMPLESx3xf32>
  %h:5 = ingot.batch_norm %product, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, unbiased}
    : (tensor<SAMPLESx3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<SAMPLESx3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %h#0, %h#1, %h#2 : tensor<SAMPLESx3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Tests on simulated ranks that they do what one does with the whole batch, with
// an uneven share of labels that count; each array has three steps of 8 samples.
// RUN: %python %S/Inputs/ranks.py %t.npz
// RUN: sed s/SAMPLES/8/g %s | ingot-opt --ingot-autodiff=loss=cross-entropy > %t.one.mlir
// RUN: ingot-eval %t.one.mlir --function train_step --inputs %t.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: sed s/SAMPLES/2/g %s | ingot-opt "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-reduce-gradients --ingot-average-gradients --ingot-apply-optimizer --ingot-form-buckets=bucket-mb=0.00001 > %t.four.mlir
// RUN: ingot-eval %t.four.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.four.npz --state-out %t.four.state.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 1 %t.one.npz %t.four.npz
// RUN: %arrays compare --rtol 1e-6 --atol 1e-6 --count 7 %t.one.state.npz %t.four.state.npz

ingot.state parameter @w : tensor<4x3xf32> = dense<[[0.1, -0.2, 0.3], [0.5, 0.4, -0.1], [-0.3, 0.2, 0.1], [0.0, 0.6, -0.7]]> : tensor<4x3xf32>
ingot.state parameter @b : tensor<3xf32> = dense<[0.1, 0.2, 0.3]> : tensor<3xf32>
func.func @forward(%x: tensor<SAMPLESx4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w},
    %b: tensor<3xf32> {ingot.state = @b}) -> (tensor<SAMPLESx3xf32> {ingot.name = "logits"}) {
  %product = ingot.matmul %x, %w : (tensor<SAMPLESx4xf32>, tensor<4x3xf32>) -> tensor<SAMPLESx3xf32>
  %wide = ingot.broadcast %b dims = [1] : tensor<3xf32> -> tensor<SAMPLESx3xf32>
  %logits = ingot.add %product, %wide : tensor<SAMPLESx3xf32>
  return %logits : tensor<SAMPLESx3xf32>
}

// RUN: not ingot-opt %s --split-input-file --ingot-differentiate 2>&1 | FileCheck %s

// CHECK: error: {{.*}}there is nothing to train: the loss depends on no trainable parameter
// CHECK: hint: the model has no trainable parameter: check --trainable and --freeze
ingot.state frozen @w : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%w: tensor<f32> {ingot.state = @w}) -> (tensor<f32> {ingot.name = "loss"}) {
  return %w : tensor<f32>
}

// -----

// CHECK: error: {{.*}}there is nothing to train: the loss depends on no trainable parameter
// CHECK: hint: choose another loss, or other parameters with --trainable and --freeze
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}

// RUN: not ingot-opt %s --ingot-scale-loss --split-input-file 2>&1 | FileCheck %s

// CHECK: error: the loss cannot be scaled: the training step of the model does not say what its gradients start from, by an input of kind 'cotangent'
// CHECK: hint: choose fp32 or bf16 without --loss-scaling
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.gradient = @w}) {
  %0 = ingot.constant dense<1.0> : tensor<f32>
  return %w, %0 : tensor<f32>, tensor<f32>
}

// -----

// CHECK: error: the loss cannot be scaled: the training step of the model updates its parameters itself
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.state = @w}) {
  %0 = ingot.neg %w : tensor<f32>
  return %w, %0 : tensor<f32>, tensor<f32>
}

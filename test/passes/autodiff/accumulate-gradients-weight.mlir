// RUN: ingot-opt %s --ingot-accumulate-gradients=count=2 | FileCheck %s

// Tests that the weight of the loss may be computed after the loss.
// CHECK-LABEL: func.func @train_step
//       CHECK: %[[LOSS:.*]] = ingot.reduce sum
//       CHECK: %[[WEIGHT:.*]] = ingot.cast
//       CHECK: ingot.add %{{.*}}, %[[LOSS]] : tensor<f32>
//       CHECK: ingot.add %{{.*}}, %[[WEIGHT]] : tensor<f32>
ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"},
    %known: tensor<i1> {ingot.kind = "data", ingot.name = "known"}, %w: tensor<4xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"},
        tensor<4xf32> {ingot.gradient = @w}) {
  %0 = ingot.mul %x, %w : tensor<4xf32>
  %loss = ingot.reduce sum %0 dims = [0] : (tensor<4xf32>) -> tensor<f32>
  %weight = ingot.cast %known : tensor<i1> -> tensor<f32>
  return %loss, %weight, %x : tensor<f32>, tensor<f32>, tensor<4xf32>
}

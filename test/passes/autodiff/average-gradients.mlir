// RUN: ingot-opt %s --ingot-average-gradients --split-input-file | FileCheck %s

// Tests that gradients and loss are divided by the weight, which is no result
// any more.
// CHECK-LABEL: func.func @train_step
//  CHECK-SAME: -> (tensor<f32> {ingot.name = "loss"}, tensor<3xf32> {ingot.gradient = @w})
//       CHECK: %[[LOSS:.*]] = ingot.reduce sum
//       CHECK: %[[WEIGHT:.*]] = ingot.exp
//       CHECK: %[[FACTOR:.*]] = ingot.div %{{.*}}, %[[WEIGHT]]
//       CHECK: %[[MEAN:.*]] = ingot.mul %[[LOSS]], %[[FACTOR]]
//       CHECK: %[[ALL:.*]] = ingot.broadcast %[[FACTOR]]
//       CHECK: %[[GRADIENT:.*]] = ingot.mul %{{.*}}, %[[ALL]]
//       CHECK: return %[[MEAN]], %[[GRADIENT]]
ingot.state parameter @w : tensor<3xf32> = dense<1.0> : tensor<3xf32>
func.func @train_step(%w: tensor<3xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"}, tensor<3xf32> {ingot.gradient = @w}) {
  %loss = ingot.reduce sum %w dims = [0] : (tensor<3xf32>) -> tensor<f32>
  %weight = ingot.exp %loss : tensor<f32>
  %g = ingot.neg %w : tensor<3xf32>
  return %loss, %weight, %g : tensor<f32>, tensor<f32>, tensor<3xf32>
}

// -----

// Tests that a step without a weight stays as it is.
// CHECK-LABEL: func.func @train_step
//   CHECK-NOT: ingot.mul
ingot.state parameter @w : tensor<3xf32> = dense<1.0> : tensor<3xf32>
func.func @train_step(%w: tensor<3xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<3xf32> {ingot.gradient = @w}) {
  %loss = ingot.reduce sum %w dims = [0] : (tensor<3xf32>) -> tensor<f32>
  %g = ingot.neg %w : tensor<3xf32>
  return %loss, %g : tensor<f32>, tensor<3xf32>
}

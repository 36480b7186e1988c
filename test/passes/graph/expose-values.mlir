// RUN: ingot-opt %s --ingot-expose-values | FileCheck %s

// Values in program order, after the loss: forward ones, then backward ones.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: -> (tensor<f32> {ingot.name = "loss"},
// CHECK-SAME: tensor<4xf32> {ingot.name = "000000|forward|double|add"},
// CHECK-SAME: tensor<f32> {ingot.name = "000001|forward|total|reduce"},
// CHECK-SAME: tensor<4xf32> {ingot.name = "000002|backward||neg"},
// CHECK-SAME: tensor<4xf32> {ingot.gradient = @w})
// CHECK: return %[[LOSS:.*]], %[[SUM:.*]], %[[LOSS]], %[[NEG:.*]], %[[NEG]] :
ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @w}) {
  %0 = ingot.add %w, %w : tensor<4xf32> loc("double")
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<4xf32>) -> tensor<f32> loc("total")
  %2 = ingot.neg %w : tensor<4xf32> loc(unknown)
  return %1, %2 : tensor<f32>, tensor<4xf32>
}

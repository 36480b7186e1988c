// RUN: ingot-opt %s --ingot-guard-updates=always | FileCheck %s
// RUN: ingot-opt %s --ingot-guard-updates | FileCheck %s --check-prefix=PLAIN

// Without a loss scale the update is skipped, and nothing adapts.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {ingot.state = @w}
// CHECK-SAME: ingot.name = "grad_norm"
// CHECK-NOT: loss_scale
// CHECK-SAME: ingot.name = "skipped"
// CHECK: %[[NEW:.*]] = ingot.neg
// CHECK: %[[FINITE:.*]] = ingot.compare lt
// CHECK: %[[ALL:.*]] = ingot.broadcast %[[FINITE]]
// CHECK: ingot.select %[[ALL]], %[[NEW]], %[[W]]
// PLAIN-NOT: skipped
module attributes {ingot.hyperparameters = []} {
  ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  func.func @train_step(%norm: tensor<f32> {ingot.kind = "data", ingot.name = "norm"},
                        %w: tensor<4xf32> {ingot.state = @w})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "grad_norm"},
          tensor<4xf32> {ingot.state = @w}) {
    %0 = ingot.neg %w : tensor<4xf32>
    return %norm, %norm, %0 : tensor<f32>, tensor<f32>, tensor<4xf32>
  }
}

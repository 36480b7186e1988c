// RUN: ingot-opt %s --ingot-scale-loss --ingot-differentiate --ingot-unscale-gradients | FileCheck %s

// CHECK: ingot.state loss_scale @loss_scale : tensor<f32> = dense<6.553600e+04>
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {ingot.kind = "data"
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {ingot.state = @loss_scale}
// The gradient starts from the scale and is divided by it at the end.
// CHECK: %[[UP:.*]] = ingot.broadcast %[[SCALE]]
// CHECK: %[[SCALED:.*]] = ingot.mul %[[UP]], %[[X]]
// CHECK: %[[INVERSE:.*]] = ingot.div %{{.*}}, %[[SCALE]]
// CHECK: %[[DOWN:.*]] = ingot.broadcast %[[INVERSE]]
// CHECK: %[[GRADIENT:.*]] = ingot.mul %[[SCALED]], %[[DOWN]]
// CHECK: return %{{.*}}, %[[GRADIENT]]
ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<4xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.mul %w, %x : tensor<4xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// RUN: ingot-opt %s --ingot-unscale-gradients --split-input-file | FileCheck %s

// Tests that each gradient, and nothing else, is multiplied by the reciprocal
// of the loss scale, which is computed once and cast to the gradient's type.
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   %[[G:[a-z0-9]+]]: tensor<4x2xf32>, %[[H:[a-z0-9]+]]: tensor<3xf64>, %[[M:[a-z0-9]+]]: tensor<3xf32>, %[[SCALE:[a-z0-9]+]]: tensor<f32> {ingot.state = @loss_scale}
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<4x2xf32> {ingot.gradient = @w}, tensor<3xf32> {ingot.state = @mean}, tensor<3xf64> {ingot.gradient = @b})
//       CHECK:   %[[LOSS:.*]] = ingot.reduce
//       CHECK:   %[[ONE:.*]] = ingot.constant dense<1.000000e+00> : tensor<f32>
//       CHECK:   %[[INVERSE:.*]] = ingot.div %[[ONE]], %[[SCALE]]
//   CHECK-NOT:   ingot.div
//       CHECK:   %[[FACTOR:.*]] = ingot.broadcast %[[INVERSE]] {{.*}} -> tensor<4x2xf32>
//       CHECK:   %[[GW:.*]] = ingot.mul %[[G]], %[[FACTOR]] : tensor<4x2xf32>
//       CHECK:   %[[WIDE:.*]] = ingot.cast %[[INVERSE]] : tensor<f32> -> tensor<f64>
//       CHECK:   %[[FACTOR:.*]] = ingot.broadcast %[[WIDE]] {{.*}} -> tensor<3xf64>
//       CHECK:   %[[GB:.*]] = ingot.mul %[[H]], %[[FACTOR]] : tensor<3xf64>
//       CHECK:   return %[[LOSS]], %[[GW]], %[[M]], %[[GB]] :
module {
  ingot.state parameter @w : tensor<4x2xf32> = dense<1.0> : tensor<4x2xf32>
  ingot.state parameter @b : tensor<3xf64> = dense<1.0> : tensor<3xf64>
  ingot.state running @mean : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  ingot.state loss_scale @loss_scale : tensor<f32> = dense<65536.0> : tensor<f32>
  func.func @train_step(%g: tensor<4x2xf32>, %h: tensor<3xf64>, %m: tensor<3xf32>, %scale: tensor<f32> {ingot.state = @loss_scale})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4x2xf32> {ingot.gradient = @w}, tensor<3xf32> {ingot.state = @mean},
          tensor<3xf64> {ingot.gradient = @b}) {
    %loss = ingot.reduce sum %g dims = [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
    return %loss, %g, %m, %h : tensor<f32>, tensor<4x2xf32>, tensor<3xf32>, tensor<3xf64>
  }
}

// -----

// Tests that gradients of a loss that has no scale stay as they are.
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   %[[G:[a-z0-9]+]]: tensor<4xf32>)
//  CHECK-NEXT:   return %[[G]] :
module {
  ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  func.func @train_step(%g: tensor<4xf32>) -> (tensor<4xf32> {ingot.gradient = @w}) {
    return %g : tensor<4xf32>
  }
}

// -----

// Tests that other functions than the step stay as they are.
// CHECK-LABEL: func.func @forward(
//  CHECK-SAME:   %[[G:[a-z0-9]+]]: tensor<4xf32>, %{{[a-z0-9]+}}: tensor<f32> {ingot.state = @loss_scale}
//  CHECK-NEXT:   return %[[G]] :
module {
  ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  ingot.state loss_scale @loss_scale : tensor<f32> = dense<65536.0> : tensor<f32>
  func.func @forward(%g: tensor<4xf32>, %scale: tensor<f32> {ingot.state = @loss_scale}) -> (tensor<4xf32> {ingot.gradient = @w}) {
    return %g : tensor<4xf32>
  }
}

// Updates of a parameter stay above the least value that it may have.
// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=sgd | FileCheck %s

ingot.state parameter @scale : tensor<2xf32> = dense<1.0> : tensor<2xf32> {ingot.least = 1.0e-3 : f64}

// CHECK-LABEL: func.func @train_step(
// CHECK: %[[LEAST:.*]] = ingot.constant dense<1.000000e-03> : tensor<2xf32>
// CHECK: %[[NEXT:.*]] = ingot.max %{{.*}}, %[[LEAST]] : tensor<2xf32>
// CHECK: return %{{.*}}, %[[NEXT]]
func.func @train_step(%scale: tensor<2xf32> {ingot.state = @scale})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<2xf32> {ingot.gradient = @scale}) {
  %loss = ingot.reduce sum %scale dims = [0] : (tensor<2xf32>) -> tensor<f32>
  return %loss, %scale : tensor<f32>, tensor<2xf32>
}

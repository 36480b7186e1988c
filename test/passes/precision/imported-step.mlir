// RUN: ingot-opt %s --ingot-scale-loss --ingot-differentiate -o %t
// RUN: FileCheck %s --input-file %t
// RUN: ingot-opt %t --ingot-assign-precision=precision=fp16 --ingot-unscale-gradients -o %t.scaled
// RUN: ingot-eval %t.scaled --function train_step | FileCheck %s --check-prefix SCALED
// RUN: ingot-opt %s --ingot-differentiate --ingot-assign-precision=precision=fp16 -o %t.plain
// RUN: ingot-eval %t.plain --function train_step | FileCheck %s --check-prefix PLAIN

// A step that came with its backward pass starts from the scale.
// CHECK: ingot.state loss_scale @loss_scale
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: cotangent
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {ingot.state = @loss_scale}
// CHECK: ingot.broadcast %[[SCALE]]

// Without the scale, this gradient vanishes in fp16.
// SCALED: w.grad: tensor<1x1xf32> {{\[\[}}1.490{{[0-9]*}}e-08]]
// PLAIN: w.grad: tensor<1x1xf32> {{\[\[}}0]]
ingot.state parameter @w : tensor<1x1xf32> = dense<1.0> : tensor<1x1xf32>
func.func @train_step(%seed: tensor<f32> {ingot.kind = "cotangent", ingot.name = "seed"},
                      %w: tensor<1x1xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<1x1xf32> {ingot.gradient = @w}) {
  %x = ingot.constant dense<0.5> : tensor<1x1xf32>
  %small = ingot.constant dense<2.98023224e-08> : tensor<1x1xf32>
  %0 = ingot.matmul %x, %w : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  %1 = ingot.mul %0, %small : tensor<1x1xf32>
  %2 = ingot.reduce sum %1 dims = [0, 1] : (tensor<1x1xf32>) -> tensor<f32>
  %3 = ingot.broadcast %seed dims = [] : tensor<f32> -> tensor<1x1xf32>
  %4 = ingot.mul %3, %small : tensor<1x1xf32>
  %5 = ingot.matmul %x transposed, %4 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return %2, %5 : tensor<f32>, tensor<1x1xf32>
}

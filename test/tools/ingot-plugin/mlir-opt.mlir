// The stock mlir-opt knows the dialects and the passes through the plugin.
// REQUIRES: ingot-plugin

// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(func.func(ingot-simplify),ingot-differentiate)" %s | FileCheck %s

// CHECK-LABEL: func.func @train_step
// CHECK: ingot.gradient = @w
ingot.state parameter @w : tensor<3xf32> = dense<1.0> : tensor<3xf32>
func.func @train_step(%x: tensor<3xf32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<3xf32> {ingot.state = @w}) -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.mul %w, %x : tensor<3xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

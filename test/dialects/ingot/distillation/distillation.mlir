// RUN: ingot-opt %s | ingot-opt | FileCheck %s

// CHECK-LABEL: func @divergence
func.func @divergence(%x: tensor<2x3x4xf32>, %y: tensor<2x3x4xf32>) {
  // CHECK: ingot.softmax_divergence %{{.*}} from %{{.*}} dim = 1 temperature = 4.000000e+00 : tensor<2x3x4xf32> -> tensor<2x4xf32>
  %0:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 4.0 : tensor<2x3x4xf32> -> tensor<2x4xf32>
  return
}

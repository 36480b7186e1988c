// RUN: ingot-opt %s --ingot-split-reductions=max-terms=8 | FileCheck %s

// No step adds more than eight terms one by one.
// CHECK-LABEL: func @sums
//       CHECK: ingot.reshape %arg0 : tensor<3x64xf32> -> tensor<3x8x8xf32>
//       CHECK: ingot.reduce sum %{{.*}} dims = [2] : (tensor<3x8x8xf32>) -> tensor<3x8xf32>
//       CHECK: ingot.reduce sum %{{.*}} dims = [1] : (tensor<3x8xf32>) -> tensor<3xf32>
//       CHECK: ingot.reduce sum %{{.*}} dims = [0] : (tensor<3xf32>) -> tensor<f32>
func.func @sums(%x: tensor<3x64xf32>) -> tensor<f32> {
  %0 = ingot.reduce sum %x dims = [0, 1] : (tensor<3x64xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// 13 has no divisor, a maximum no rounding, and few terms need no steps.
// CHECK-LABEL: func @others
//   CHECK-NOT: ingot.reshape
func.func @others(%x: tensor<13xf32>, %y: tensor<64xf32>, %z: tensor<8x4xf32>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>) {
  %0 = ingot.reduce sum %x dims = [0] : (tensor<13xf32>) -> tensor<f32>
  %1 = ingot.reduce max %y dims = [0] : (tensor<64xf32>) -> tensor<f32>
  %2 = ingot.reduce sum %z dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<4xf32>
}

// CHECK-LABEL: func @halves
//       CHECK: ingot.cast %arg0 : tensor<64xbf16> -> tensor<64xf32>
//       CHECK: ingot.cast %{{.*}} : tensor<f32> -> tensor<bf16>
func.func @halves(%x: tensor<64xbf16>) -> tensor<bf16> {
  %0 = ingot.reduce sum %x dims = [0] : (tensor<64xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s

// CHECK-LABEL: func.func @reductions
func.func @reductions(%a: tensor<2x3x4xf32>, %i: tensor<5xi32>) {
  // CHECK: ingot.reduce sum %{{.*}} dims = [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %0 = ingot.reduce sum %a dims = [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  // CHECK: ingot.reduce prod %{{.*}} dims = [0] : (tensor<5xi32>) -> tensor<i32>
  %1 = ingot.reduce prod %i dims = [0] : (tensor<5xi32>) -> tensor<i32>
  // CHECK: ingot.reduce max %{{.*}} dims = [] : (tensor<5xi32>) -> tensor<5xi32>
  %2 = ingot.reduce max %i dims = [] : (tensor<5xi32>) -> tensor<5xi32>
  // CHECK: ingot.reduce min
  %3 = ingot.reduce min %i dims = [0] : (tensor<5xi32>) -> tensor<i32>
  // CHECK: ingot.argmax %{{.*}} dim = 1 : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  %4 = ingot.argmax %a dim = 1 : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  // CHECK: ingot.squared_deviations %{{.*}} dims = [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %5 = ingot.squared_deviations %a dims = [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  return
}

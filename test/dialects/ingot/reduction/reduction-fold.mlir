// RUN: ingot-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @no_dims
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
// CHECK-NEXT: return %[[X]]
func.func @no_dims(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ingot.reduce sum %x dims = [] : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<2xi32>, tensor<3xi32>, tensor<i32>, tensor<f32>) {
  %c = ingot.constant dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi32>
  // CHECK-DAG: dense<[6, 3]> : tensor<2xi32>
  %0 = ingot.reduce sum %c dims = [1] : (tensor<2x3xi32>) -> tensor<2xi32>
  // CHECK-DAG: dense<[4, 5, 3]> : tensor<3xi32>
  %1 = ingot.reduce max %c dims = [0] : (tensor<2x3xi32>) -> tensor<3xi32>
  // CHECK-DAG: dense<-720> : tensor<i32>
  %2 = ingot.reduce prod %c dims = [0, 1] : (tensor<2x3xi32>) -> tensor<i32>
  %n = ingot.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  // CHECK-DAG: dense<0x7FC00000> : tensor<f32>
  %3 = ingot.reduce min %n dims = [0] : (tensor<3xf32>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<2xi32>, tensor<3xi32>, tensor<i32>, tensor<f32>
}

// Half precision accumulates in f32: 2048 + 1 + 1 is 2050, not 2048.
// CHECK-LABEL: func.func @half
func.func @half() -> tensor<f16> {
  %c = ingot.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  // CHECK: ingot.constant dense<2.050000e+03> : tensor<f16>
  %0 = ingot.reduce sum %c dims = [0] : (tensor<3xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}

// CHECK-LABEL: func.func @splats
func.func @splats() -> (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<1000x1000xf32>
  %two = ingot.constant dense<2.0> : tensor<1000x1000xf32>
  // CHECK-DAG: dense<0.000000e+00> : tensor<1000xf32>
  %0 = ingot.reduce sum %zero dims = [0] : (tensor<1000x1000xf32>) -> tensor<1000xf32>
  // CHECK-DAG: dense<2.000000e+00> : tensor<1000xf32>
  %1 = ingot.reduce max %two dims = [0] : (tensor<1000x1000xf32>) -> tensor<1000xf32>
  // A long sum is left to run in the order that the target chooses.
  // CHECK-DAG: ingot.reduce sum
  %2 = ingot.reduce sum %two dims = [0] : (tensor<1000x1000xf32>) -> tensor<1000xf32>
  return %0, %1, %2 : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf32>
}

// RUN: ingot-opt %s --ingot-simplify | FileCheck %s
// RUN: ingot-eval --expect %s | FileCheck %s --check-prefix=PASSED
// RUN: ingot-opt %s --ingot-simplify | ingot-eval --expect - | FileCheck %s --check-prefix=PASSED

// Tensors without elements become constants, and so does what is computed from them.

// PASSED: 6 of 6 passed

// CHECK-LABEL: func.func @test_reshape
// CHECK-NOT:     ingot.reshape
// CHECK:         ingot.constant dense<0.000000e+00> : tensor<f32>
func.func @test_reshape() -> (tensor<f32>, tensor<f32>) {
  %x = ingot.constant dense<1.0> : tensor<4x4xf32>
  %0 = ingot.slice %x starts = [0, 0] limits = [0, 4] strides = [1, 1] : (tensor<4x4xf32>) -> tensor<0x4xf32>
  %1 = ingot.reshape %0 : tensor<0x4xf32> -> tensor<2x0x8xf32>
  %2 = ingot.reduce sum %1 dims = [0, 1, 2] : (tensor<2x0x8xf32>) -> tensor<f32>
  %3 = ingot.constant dense<0.0> : tensor<f32>
  return %2, %3 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @test_extremes
// CHECK-NOT:     ingot.reduce
func.func @test_extremes() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<2xi8>, tensor<2xi64>, tensor<2xi64>) {
  %f = ingot.constant dense<> : tensor<2x0xf32>
  %i = ingot.constant dense<> : tensor<2x0xi8>
  %l = ingot.constant dense<> : tensor<2x0xi64>
  %0 = ingot.reduce max %f dims = [1] : (tensor<2x0xf32>) -> tensor<2xf32>
  %1 = ingot.constant dense<0xFF800000> : tensor<2xf32>
  %2 = ingot.reduce min %i dims = [1] : (tensor<2x0xi8>) -> tensor<2xi8>
  %3 = ingot.constant dense<127> : tensor<2xi8>
  %4 = ingot.reduce prod %l dims = [1] : (tensor<2x0xi64>) -> tensor<2xi64>
  %5 = ingot.constant dense<1> : tensor<2xi64>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<2xi8>, tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: func.func @test_matmul
// CHECK-NOT:     ingot.matmul
func.func @test_matmul() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = ingot.constant dense<> : tensor<2x0xf32>
  %b = ingot.constant dense<> : tensor<0x3xf32>
  %0 = ingot.matmul %a, %b : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  %1 = ingot.constant dense<0.0> : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @test_concat
// CHECK-NOT:     ingot.concat
func.func @test_concat() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = ingot.constant dense<> : tensor<2x0xf32>
  %b = ingot.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = ingot.concat %a, %b, %a dim = 1 : (tensor<2x0xf32>, tensor<2x3xf32>, tensor<2x0xf32>) -> tensor<2x3xf32>
  return %0, %b : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @test_pad
// CHECK-NOT:     ingot.pad
func.func @test_pad() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = ingot.constant dense<> : tensor<2x0xf32>
  %0 = ingot.pad %a low = [0, 1] high = [0, 2] interior = [0, 0] value = 7.0 : (tensor<2x0xf32>) -> tensor<2x3xf32>
  %1 = ingot.constant dense<7.0> : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @test_scatter
// CHECK-NOT:     ingot.scatter_add
func.func @test_scatter() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %i = ingot.constant dense<> : tensor<0xi64>
  %u = ingot.constant dense<> : tensor<0x2xf32>
  %0 = ingot.scatter_add %u[%i] dim = 0 : (tensor<0xi64>, tensor<0x2xf32>) -> tensor<3x2xf32>
  %1 = ingot.constant dense<0.0> : tensor<3x2xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}

// No key: the values of queries that are fully masked.
// CHECK-LABEL: func.func @attention
// CHECK-DAG:     ingot.constant dense<0.000000e+00> : tensor<2x3x1x4xf32>
// CHECK-DAG:     ingot.constant dense<0x7F800000> : tensor<2x1x3xf32>
// CHECK-NOT:     ingot.attention
func.func @attention(%q: tensor<2x3x1x4xf32>) -> (tensor<2x3x1x4xf32>, tensor<2x1x3xf32>) {
  %k = ingot.constant dense<> : tensor<2x0x1x4xf32>
  %result, %lse = ingot.attention %q, %k, %k {scale = 0.5 : f64}
    : (tensor<2x3x1x4xf32>, tensor<2x0x1x4xf32>, tensor<2x0x1x4xf32>) -> (tensor<2x3x1x4xf32>, tensor<2x1x3xf32>)
  return %result, %lse : tensor<2x3x1x4xf32>, tensor<2x1x3xf32>
}

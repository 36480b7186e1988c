// Differences are named, and make the exit status 1.
// RUN: not ingot-eval --expect %s | FileCheck %s

// CHECK-NOT: test_same
func.func @test_same() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  func.return %0, %0 : tensor<2xf32>, tensor<2xf32>
}

// CHECK: FAILED test_float: result 0 differs at element 1: 1, expected 2
func.func @test_float() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %1 = ingot.constant dense<[0.0, 2.0]> : tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK: FAILED test_signed_zero: result 0 differs at element 0: 0, expected -0
func.func @test_signed_zero() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<0.0> : tensor<f32>
  %1 = ingot.constant dense<-0.0> : tensor<f32>
  func.return %0, %1 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_integer: result 2 differs at element 0: 3, expected 4
func.func @test_integer() -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = ingot.constant dense<3> : tensor<i64>
  %1 = ingot.constant dense<4> : tensor<i64>
  func.return %0, %0, %0, %1 : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>
}

// CHECK-NOT: test_within
func.func @test_within() -> (tensor<f32>, tensor<f32>) attributes {ingot.tolerance = 0.1} {
  %0 = ingot.constant dense<100.0> : tensor<f32>
  %1 = ingot.constant dense<109.0> : tensor<f32>
  func.return %0, %1 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_beyond: result 0 differs at element 0: 100, expected 112
func.func @test_beyond() -> (tensor<f32>, tensor<f32>) attributes {ingot.tolerance = 0.1} {
  %0 = ingot.constant dense<100.0> : tensor<f32>
  %1 = ingot.constant dense<112.0> : tensor<f32>
  func.return %0, %1 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_infinite: result 0 differs at element 0: 1, expected inf
func.func @test_infinite() -> (tensor<f32>, tensor<f32>) attributes {ingot.tolerance = 0.1} {
  %0 = ingot.constant dense<1.0> : tensor<f32>
  %1 = ingot.constant dense<0x7F800000> : tensor<f32>
  func.return %0, %1 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_type: result 0 has type tensor<f32>, expected tensor<f64>
func.func @test_type() -> (tensor<f32>, tensor<f64>) {
  %0 = ingot.constant dense<1.0> : tensor<f32>
  %1 = ingot.constant dense<1.0> : tensor<f64>
  func.return %0, %1 : tensor<f32>, tensor<f64>
}

// CHECK: FAILED test_odd: returns an odd number of tensors
func.func @test_odd() -> tensor<f32> {
  %0 = ingot.constant dense<1.0> : tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK: 2 of 9 passed

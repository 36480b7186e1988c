// What cannot be interpreted is an error, never a crash.
// RUN: not ingot-eval --expect %s | FileCheck %s

// CHECK: FAILED test_endless: {{.*}}calls are nested too deeply
func.func @endless() -> (tensor<f32>, tensor<f32>) {
  %0:2 = func.call @endless() : () -> (tensor<f32>, tensor<f32>)
  func.return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
func.func @test_endless() -> (tensor<f32>, tensor<f32>) {
  %0:2 = func.call @endless() : () -> (tensor<f32>, tensor<f32>)
  func.return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_external: {{.*}}function 'elsewhere' has no body
func.func private @elsewhere() -> tensor<f32>
func.func @test_external() -> (tensor<f32>, tensor<f32>) {
  %0 = func.call @elsewhere() : () -> tensor<f32>
  func.return %0, %0 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_argument: function 'test_argument' takes 1 arguments, got 0
func.func @test_argument(%0: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  func.return %0, %0 : tensor<f32>, tensor<f32>
}

// CHECK: FAILED test_huge: 'ingot.constant' (line [[#@LINE+2]]): type tensor<2147483648xf32> is too large for the interpreter
func.func @test_huge() -> (tensor<2147483648xf32>, tensor<2147483648xf32>) {
  %0 = ingot.constant dense<1.0> : tensor<2147483648xf32>
  func.return %0, %0 : tensor<2147483648xf32>, tensor<2147483648xf32>
}

// CHECK: FAILED test_label: 'ingot.cross_entropy' {{.*}}: label 3 is not in [0, 3)
func.func @test_label() -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = ingot.constant dense<1.0> : tensor<1x3xf32>
  %1 = ingot.constant dense<3> : tensor<1xi64>
  %2:2 = ingot.cross_entropy %0, %1 dim = 1 :
      (tensor<1x3xf32>, tensor<1xi64>) -> (tensor<1xf32>, tensor<1xf32>)
  func.return %2#0, %2#0 : tensor<1xf32>, tensor<1xf32>
}

// CHECK: FAILED test_pool_index: {{.*}}index 4 lies outside the input's plane
func.func @test_pool_index() -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>) {
  %0 = ingot.constant dense<1.0> : tensor<1x1x1xf32>
  %1 = ingot.constant dense<4> : tensor<1x1x1xi64>
  %2 = ingot.max_pool_grad %0, %1 {kernel = array<i64: 2>, strides = array<i64: 1>,
      dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} :
      (tensor<1x1x1xf32>, tensor<1x1x1xi64>) -> tensor<1x1x2xf32>
  func.return %2, %2 : tensor<1x1x2xf32>, tensor<1x1x2xf32>
}

// CHECK: 0 of 6 passed

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_matrix() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.transpose %0 [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %expected = ingot.constant dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_rotation() -> (tensor<2x2x3xi64>, tensor<2x2x3xi64>) {
  %0 = ingot.constant dense<[[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10,
      11]]]> : tensor<2x3x2xi64>
  %actual = ingot.transpose %0 [2, 0, 1] : (tensor<2x3x2xi64>) ->
      tensor<2x2x3xi64>
  %expected = ingot.constant dense<[[[0, 2, 4], [6, 8, 10]], [[1, 3, 5], [7, 9,
      11]]]> : tensor<2x2x3xi64>
  func.return %actual, %expected : tensor<2x2x3xi64>, tensor<2x2x3xi64>
}

func.func @test_identity() -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %actual = ingot.transpose %0 [0, 1] : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %expected = ingot.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  func.return %actual, %expected : tensor<1x2xf32>, tensor<1x2xf32>
}

func.func @test_scalar() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<3.0> : tensor<f32>
  %actual = ingot.transpose %0 [] : (tensor<f32>) -> tensor<f32>
  %expected = ingot.constant dense<3.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_empty() -> (tensor<2x0xf32>, tensor<2x0xf32>) {
  %0 = ingot.constant dense<> : tensor<0x2xf32>
  %actual = ingot.transpose %0 [1, 0] : (tensor<0x2xf32>) -> tensor<2x0xf32>
  %expected = ingot.constant dense<> : tensor<2x0xf32>
  func.return %actual, %expected : tensor<2x0xf32>, tensor<2x0xf32>
}

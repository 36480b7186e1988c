// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_row_major() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reshape %0 : tensor<2x3xf32> -> tensor<3x2xf32>
  %expected = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_to_scalar() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[[7.0]]> : tensor<1x1xf32>
  %actual = ingot.reshape %0 : tensor<1x1xf32> -> tensor<f32>
  %expected = ingot.constant dense<7.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_from_scalar() -> (tensor<1x1xi64>, tensor<1x1xi64>) {
  %0 = ingot.constant dense<7> : tensor<i64>
  %actual = ingot.reshape %0 : tensor<i64> -> tensor<1x1xi64>
  %expected = ingot.constant dense<[[7]]> : tensor<1x1xi64>
  func.return %actual, %expected : tensor<1x1xi64>, tensor<1x1xi64>
}

func.func @test_flatten() -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = ingot.constant dense<[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0,
      7.0]]]> : tensor<2x2x2xf32>
  %actual = ingot.reshape %0 : tensor<2x2x2xf32> -> tensor<8xf32>
  %expected = ingot.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> :
      tensor<8xf32>
  func.return %actual, %expected : tensor<8xf32>, tensor<8xf32>
}

func.func @test_empty() -> (tensor<2x0xf32>, tensor<2x0xf32>) {
  %0 = ingot.constant dense<> : tensor<0x3xf32>
  %actual = ingot.reshape %0 : tensor<0x3xf32> -> tensor<2x0xf32>
  %expected = ingot.constant dense<> : tensor<2x0xf32>
  func.return %actual, %expected : tensor<2x0xf32>, tensor<2x0xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Indices outside the dimension are clamped into it.

func.func @test_columns() -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> :
      tensor<2x3xf32>
  %1 = ingot.constant dense<[[2], [0]]> : tensor<2x1xi64>
  %actual = ingot.take_along %0 [%1] dim = 1 : (tensor<2x3xf32>,
      tensor<2x1xi64>) -> tensor<2x1xf32>
  %expected = ingot.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  func.return %actual, %expected : tensor<2x1xf32>, tensor<2x1xf32>
}

func.func @test_rows() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> :
      tensor<3x2xf32>
  %1 = ingot.constant dense<[[2, 0], [1, 1]]> : tensor<2x2xi32>
  %actual = ingot.take_along %0 [%1] dim = 0 : (tensor<3x2xf32>,
      tensor<2x2xi32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[4.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_clamped() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = ingot.constant dense<[-5, 7, 1, 1]> : tensor<4xi64>
  %actual = ingot.take_along %0 [%1] dim = 0 : (tensor<3xf32>, tensor<4xi64>)
      -> tensor<4xf32>
  %expected = ingot.constant dense<[1.0, 3.0, 2.0, 2.0]> : tensor<4xf32>
  func.return %actual, %expected : tensor<4xf32>, tensor<4xf32>
}

func.func @test_integers() -> (tensor<2x2xi64>, tensor<2x2xi64>) {
  %0 = ingot.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  %1 = ingot.constant dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>
  %actual = ingot.take_along %0 [%1] dim = 1 : (tensor<2x2xi64>,
      tensor<2x2xi64>) -> tensor<2x2xi64>
  %expected = ingot.constant dense<[[1, 0], [2, 2]]> : tensor<2x2xi64>
  func.return %actual, %expected : tensor<2x2xi64>, tensor<2x2xi64>
}

func.func @test_middle() -> (tensor<2x1x2xf32>, tensor<2x1x2xf32>) {
  %0 = ingot.constant dense<[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0,
      7.0]]]> : tensor<2x2x2xf32>
  %1 = ingot.constant dense<[[[1, 0]], [[0, 1]]]> : tensor<2x1x2xi64>
  %actual = ingot.take_along %0 [%1] dim = 1 : (tensor<2x2x2xf32>,
      tensor<2x1x2xi64>) -> tensor<2x1x2xf32>
  %expected = ingot.constant dense<[[[2.0, 1.0]], [[4.0, 7.0]]]> :
      tensor<2x1x2xf32>
  func.return %actual, %expected : tensor<2x1x2xf32>, tensor<2x1x2xf32>
}

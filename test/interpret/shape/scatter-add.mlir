// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Equal indices add up; indices outside the dimension are clamped into it.

func.func @test_rows() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<[2, 0, 2]> : tensor<3xi64>
  %1 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> :
      tensor<3x2xf32>
  %actual = ingot.scatter_add %1 [%0] dim = 0 : (tensor<3xi64>,
      tensor<3x2xf32>) -> tensor<3x2xf32>
  %expected = ingot.constant dense<[[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_columns() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<1> : tensor<2xi64>
  %1 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %actual = ingot.scatter_add %1 [%0] dim = 1 : (tensor<2xi64>,
      tensor<2x2xf32>) -> tensor<2x3xf32>
  %expected = ingot.constant dense<[[0.0, 3.0, 0.0], [0.0, 7.0, 0.0]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_clamped() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[-3, 0, 5, 1]> : tensor<4xi64>
  %1 = ingot.constant dense<[1.0, 2.0, 4.0, 8.0]> : tensor<4xf32>
  %actual = ingot.scatter_add %1 [%0] dim = 0 : (tensor<4xi64>, tensor<4xf32>)
      -> tensor<2xf32>
  %expected = ingot.constant dense<[3.0, 12.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_index_matrix() -> (tensor<2x2xf64>, tensor<2x2xf64>) {
  %0 = ingot.constant dense<[[0, 1], [1, 1]]> : tensor<2x2xi32>
  %1 = ingot.constant dense<[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0,
      7.0]]]> : tensor<2x2x2xf64>
  %actual = ingot.scatter_add %1 [%0] dim = 0 : (tensor<2x2xi32>,
      tensor<2x2x2xf64>) -> tensor<2x2xf64>
  %expected = ingot.constant dense<[[0.0, 1.0], [12.0, 15.0]]> : tensor<2x2xf64>
  func.return %actual, %expected : tensor<2x2xf64>, tensor<2x2xf64>
}

func.func @test_scalar_index() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<1> : tensor<i64>
  %1 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.scatter_add %1 [%0] dim = 0 : (tensor<i64>, tensor<2xf32>) ->
      tensor<3x2xf32>
  %expected = ingot.constant dense<[[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_nothing() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = ingot.constant dense<> : tensor<0xi64>
  %1 = ingot.constant dense<> : tensor<0x2xf32>
  %actual = ingot.scatter_add %1 [%0] dim = 0 : (tensor<0xi64>,
      tensor<0x2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[0.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_into() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<[2, 0, 2]> : tensor<3xi64>
  %1 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> :
      tensor<3x2xf32>
  %2 = ingot.constant dense<[[0.5, 0.0], [7.0, 8.0], [0.0, -1.0]]> :
      tensor<3x2xf32>
  %actual = ingot.scatter_add %1 [%0] into %2 dim = 0 : (tensor<3xi64>,
      tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %expected = ingot.constant dense<[[3.5, 4.0], [7.0, 8.0], [6.0, 7.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Indices outside the dimension are clamped into it.

func.func @test_rows() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> :
      tensor<3x2xf32>
  %1 = ingot.constant dense<[2, 0, 2]> : tensor<3xi64>
  %actual = ingot.gather %0 [%1] dim = 0 : (tensor<3x2xf32>, tensor<3xi64>) ->
      tensor<3x2xf32>
  %expected = ingot.constant dense<[[4.0, 5.0], [0.0, 1.0], [4.0, 5.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_columns() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> :
      tensor<2x3xf32>
  %1 = ingot.constant dense<1> : tensor<2xi64>
  %actual = ingot.gather %0 [%1] dim = 1 : (tensor<2x3xf32>, tensor<2xi64>) ->
      tensor<2x2xf32>
  %expected = ingot.constant dense<[[1.0, 1.0], [4.0, 4.0]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_clamped() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
  %1 = ingot.constant dense<[-1, -100, 3, 9223372036854775807]> : tensor<4xi64>
  %actual = ingot.gather %0 [%1] dim = 0 : (tensor<3xf32>, tensor<4xi64>) ->
      tensor<4xf32>
  %expected = ingot.constant dense<[10.0, 10.0, 30.0, 30.0]> : tensor<4xf32>
  func.return %actual, %expected : tensor<4xf32>, tensor<4xf32>
}

func.func @test_index_matrix() -> (tensor<2x2x2xi64>, tensor<2x2x2xi64>) {
  %0 = ingot.constant dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>
  %1 = ingot.constant dense<[[0, 3], [2, 1]]> : tensor<2x2xi32>
  %actual = ingot.gather %0 [%1] dim = 0 : (tensor<4x2xi64>, tensor<2x2xi32>)
      -> tensor<2x2x2xi64>
  %expected = ingot.constant dense<[[[0, 1], [6, 7]], [[4, 5], [2, 3]]]> :
      tensor<2x2x2xi64>
  func.return %actual, %expected : tensor<2x2x2xi64>, tensor<2x2x2xi64>
}

func.func @test_scalar_index() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> :
      tensor<3x2xf32>
  %1 = ingot.constant dense<1> : tensor<i64>
  %actual = ingot.gather %0 [%1] dim = 0 : (tensor<3x2xf32>, tensor<i64>) ->
      tensor<2xf32>
  %expected = ingot.constant dense<[2.0, 3.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_middle() -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>) {
  %0 = ingot.constant dense<[[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0],
      [8.0, 9.0], [10.0, 11.0]]]> : tensor<2x3x2xf32>
  %1 = ingot.constant dense<[2, 0]> : tensor<2xi64>
  %actual = ingot.gather %0 [%1] dim = 1 : (tensor<2x3x2xf32>, tensor<2xi64>)
      -> tensor<2x2x2xf32>
  %expected = ingot.constant dense<[[[4.0, 5.0], [0.0, 1.0]], [[10.0, 11.0],
      [6.0, 7.0]]]> : tensor<2x2x2xf32>
  func.return %actual, %expected : tensor<2x2x2xf32>, tensor<2x2x2xf32>
}

func.func @test_no_indices() -> (tensor<0x2xf32>, tensor<0x2xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
  %1 = ingot.constant dense<> : tensor<0xi64>
  %actual = ingot.gather %0 [%1] dim = 0 : (tensor<2x2xf32>, tensor<0xi64>) ->
      tensor<0x2xf32>
  %expected = ingot.constant dense<> : tensor<0x2xf32>
  func.return %actual, %expected : tensor<0x2xf32>, tensor<0x2xf32>
}

func.func @test_boolean() -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %1 = ingot.constant dense<[1, 0]> : tensor<2xi64>
  %actual = ingot.gather %0 [%1] dim = 0 : (tensor<2xi1>, tensor<2xi64>) ->
      tensor<2xi1>
  %expected = ingot.constant dense<[false, true]> : tensor<2xi1>
  func.return %actual, %expected : tensor<2xi1>, tensor<2xi1>
}

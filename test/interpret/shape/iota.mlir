// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_rows() -> (tensor<2x3xi64>, tensor<2x3xi64>) {
  %actual = ingot.iota {dim = 0 : i64} : tensor<2x3xi64>
  %expected = ingot.constant dense<[[0, 0, 0], [1, 1, 1]]> : tensor<2x3xi64>
  func.return %actual, %expected : tensor<2x3xi64>, tensor<2x3xi64>
}

func.func @test_columns() -> (tensor<2x3xi32>, tensor<2x3xi32>) {
  %actual = ingot.iota {dim = 1 : i64} : tensor<2x3xi32>
  %expected = ingot.constant dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  func.return %actual, %expected : tensor<2x3xi32>, tensor<2x3xi32>
}

func.func @test_floats() -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %actual = ingot.iota {dim = 1 : i64} : tensor<2x4xf32>
  %expected = ingot.constant dense<[[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0,
      3.0]]> : tensor<2x4xf32>
  func.return %actual, %expected : tensor<2x4xf32>, tensor<2x4xf32>
}

func.func @test_empty() -> (tensor<0x2xf32>, tensor<0x2xf32>) {
  %actual = ingot.iota {dim = 0 : i64} : tensor<0x2xf32>
  %expected = ingot.constant dense<> : tensor<0x2xf32>
  func.return %actual, %expected : tensor<0x2xf32>, tensor<0x2xf32>
}

func.func @test_ui8() -> (tensor<3xui8>, tensor<3xui8>) {
  %actual = ingot.iota {dim = 0 : i64} : tensor<3xui8>
  %expected = ingot.constant dense<[0, 1, 2]> : tensor<3xui8>
  func.return %actual, %expected : tensor<3xui8>, tensor<3xui8>
}

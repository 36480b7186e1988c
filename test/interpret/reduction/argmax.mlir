// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The first of equals; a NaN counts as largest.

func.func @test_columns() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[[1.0, 5.0, 3.0], [9.0, 2.0, 4.0]]> :
      tensor<2x3xf32>
  %actual = ingot.argmax %0 dim = 1 : (tensor<2x3xf32>) -> tensor<2xi64>
  %expected = ingot.constant dense<[1, 0]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_rows() -> (tensor<3xi64>, tensor<3xi64>) {
  %0 = ingot.constant dense<[[1.0, 5.0, 3.0], [9.0, 2.0, 4.0]]> :
      tensor<2x3xf32>
  %actual = ingot.argmax %0 dim = 0 : (tensor<2x3xf32>) -> tensor<3xi64>
  %expected = ingot.constant dense<[1, 0, 1]> : tensor<3xi64>
  func.return %actual, %expected : tensor<3xi64>, tensor<3xi64>
}

func.func @test_ties() -> (tensor<i64>, tensor<i64>) {
  %0 = ingot.constant dense<[2.0, 7.0, 7.0, 1.0]> : tensor<4xf32>
  %actual = ingot.argmax %0 dim = 0 : (tensor<4xf32>) -> tensor<i64>
  %expected = ingot.constant dense<1> : tensor<i64>
  func.return %actual, %expected : tensor<i64>, tensor<i64>
}

func.func @test_nan() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[[1.0, 0x7FC00000, 3.0], [0x7FC00000, 0x7FC00000,
      5.0]]> : tensor<2x3xf32>
  %actual = ingot.argmax %0 dim = 1 : (tensor<2x3xf32>) -> tensor<2xi64>
  %expected = ingot.constant dense<[1, 0]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_all_lowest() -> (tensor<i64>, tensor<i64>) {
  %0 = ingot.constant dense<[0xFF800000, 0xFF800000]> : tensor<2xf32>
  %actual = ingot.argmax %0 dim = 0 : (tensor<2xf32>) -> tensor<i64>
  %expected = ingot.constant dense<0> : tensor<i64>
  func.return %actual, %expected : tensor<i64>, tensor<i64>
}

func.func @test_integers() -> (tensor<i64>, tensor<i64>) {
  %0 = ingot.constant dense<[3, -1, 8]> : tensor<3xi64>
  %actual = ingot.argmax %0 dim = 0 : (tensor<3xi64>) -> tensor<i64>
  %expected = ingot.constant dense<2> : tensor<i64>
  func.return %actual, %expected : tensor<i64>, tensor<i64>
}

func.func @test_ui8() -> (tensor<i64>, tensor<i64>) {
  %0 = ingot.constant dense<[100, 200]> : tensor<2xui8>
  %actual = ingot.argmax %0 dim = 0 : (tensor<2xui8>) -> tensor<i64>
  %expected = ingot.constant dense<1> : tensor<i64>
  func.return %actual, %expected : tensor<i64>, tensor<i64>
}

func.func @test_middle() -> (tensor<2x2xi64>, tensor<2x2xi64>) {
  %0 = ingot.constant dense<[[[1.0, 8.0], [5.0, 2.0]], [[0.0, 0.0], [-1.0,
      3.0]]]> : tensor<2x2x2xf32>
  %actual = ingot.argmax %0 dim = 1 : (tensor<2x2x2xf32>) -> tensor<2x2xi64>
  %expected = ingot.constant dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>
  func.return %actual, %expected : tensor<2x2xi64>, tensor<2x2xi64>
}

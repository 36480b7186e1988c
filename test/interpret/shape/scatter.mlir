// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Of equal indices the last one counts; indices outside of the dimension are
// clamped into it.

func.func @test_set_rows() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %init = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %i = ingot.constant dense<[2, 0, 9]> : tensor<3xi64>
  %u = ingot.constant dense<[[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]> : tensor<3x2xf32>
  %actual = ingot.scatter set %u[%i] into %init dim = 0 : tensor<3x2xf32>, tensor<3xi64>, tensor<3x2xf32>
  %expected = ingot.constant dense<[[9.0, 10.0], [3.0, 4.0], [11.0, 12.0]]> : tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_set_along() -> (tensor<2x3xi1>, tensor<2x3xi1>) {
  %init = ingot.constant dense<false> : tensor<2x3xi1>
  %i = ingot.constant dense<[[1, -4], [2, 1]]> : tensor<2x2xi32>
  %u = ingot.constant dense<true> : tensor<2x2xi1>
  %actual = ingot.scatter set %u[%i] into %init dim = 1 : tensor<2x2xi1>, tensor<2x2xi32>, tensor<2x3xi1>
  %expected = ingot.constant dense<[[true, true, false], [false, true, true]]> : tensor<2x3xi1>
  func.return %actual, %expected : tensor<2x3xi1>, tensor<2x3xi1>
}

func.func @test_add() -> (tensor<3xi64>, tensor<3xi64>) {
  %init = ingot.constant dense<[1, 2, 3]> : tensor<3xi64>
  %i = ingot.constant dense<[1, 1, 0]> : tensor<3xi64>
  %u = ingot.constant dense<[10, 20, 30]> : tensor<3xi64>
  %actual = ingot.scatter add %u[%i] into %init dim = 0 : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
  %expected = ingot.constant dense<[31, 32, 3]> : tensor<3xi64>
  func.return %actual, %expected : tensor<3xi64>, tensor<3xi64>
}

func.func @test_mul() -> (tensor<2x2xf64>, tensor<2x2xf64>) {
  %init = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
  %i = ingot.constant dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>
  %u = ingot.constant dense<[[2.0, 3.0], [5.0, 7.0]]> : tensor<2x2xf64>
  %actual = ingot.scatter mul %u[%i] into %init dim = 0 : tensor<2x2xf64>, tensor<2x2xi64>, tensor<2x2xf64>
  %expected = ingot.constant dense<[[10.0, 14.0], [3.0, 12.0]]> : tensor<2x2xf64>
  func.return %actual, %expected : tensor<2x2xf64>, tensor<2x2xf64>
}

func.func @test_max() -> (tensor<3xui64>, tensor<3xui64>) {
  %init = ingot.constant dense<[5, 5, 18446744073709551615]> : tensor<3xui64>
  %i = ingot.constant dense<[0, 1, 2]> : tensor<3xi64>
  %u = ingot.constant dense<[9223372036854775808, 1, 7]> : tensor<3xui64>
  %actual = ingot.scatter max %u[%i] into %init dim = 0 : tensor<3xui64>, tensor<3xi64>, tensor<3xui64>
  %expected = ingot.constant dense<[9223372036854775808, 5, 18446744073709551615]> : tensor<3xui64>
  func.return %actual, %expected : tensor<3xui64>, tensor<3xui64>
}

func.func @test_min() -> (tensor<3xf32>, tensor<3xf32>) {
  %init = ingot.constant dense<[5.0, 5.0, 5.0]> : tensor<3xf32>
  %i = ingot.constant dense<[0, 1, 2]> : tensor<3xi64>
  %u = ingot.constant dense<[4.0, 6.0, 0x7FC00000]> : tensor<3xf32>
  %actual = ingot.scatter min %u[%i] into %init dim = 0 : tensor<3xf32>, tensor<3xi64>, tensor<3xf32>
  %expected = ingot.constant dense<[4.0, 5.0, 0x7FC00000]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_nothing() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %init = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %i = ingot.constant dense<> : tensor<0xi64>
  %u = ingot.constant dense<> : tensor<0x2xf32>
  %actual = ingot.scatter max %u[%i] into %init dim = 0 : tensor<0x2xf32>, tensor<0xi64>, tensor<2x2xf32>
  func.return %actual, %init : tensor<2x2xf32>, tensor<2x2xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_one() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %actual = ingot.reverse %0 dims = [0] : tensor<3xf32>
  %expected = ingot.constant dense<[2.0, 1.0, 0.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_inner() -> (tensor<2x3xi64>, tensor<2x3xi64>) {
  %0 = ingot.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>
  %actual = ingot.reverse %0 dims = [1] : tensor<2x3xi64>
  %expected = ingot.constant dense<[[2, 1, 0], [5, 4, 3]]> : tensor<2x3xi64>
  func.return %actual, %expected : tensor<2x3xi64>, tensor<2x3xi64>
}

func.func @test_both() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reverse %0 dims = [0, 1] : tensor<2x3xf32>
  %expected = ingot.constant dense<[[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_none() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %actual = ingot.reverse %0 dims = [] : tensor<2xf32>
  %expected = ingot.constant dense<[0.0, 1.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_empty() -> (tensor<0x2xf32>, tensor<0x2xf32>) {
  %0 = ingot.constant dense<> : tensor<0x2xf32>
  %actual = ingot.reverse %0 dims = [0] : tensor<0x2xf32>
  %expected = ingot.constant dense<> : tensor<0x2xf32>
  func.return %actual, %expected : tensor<0x2xf32>, tensor<0x2xf32>
}

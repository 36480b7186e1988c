// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_scalar() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<2.5> : tensor<f32>
  %actual = ingot.broadcast %0 dims = [] : tensor<f32> -> tensor<2x3xf32>
  %expected = ingot.constant dense<[[2.5, 2.5, 2.5], [2.5, 2.5, 2.5]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_new_outer_dimension() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %actual = ingot.broadcast %0 dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  %expected = ingot.constant dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_new_inner_dimension() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.broadcast %0 dims = [0] : tensor<2xf32> -> tensor<2x3xf32>
  %expected = ingot.constant dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_size_one() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %actual = ingot.broadcast %0 dims = [0, 1] : tensor<2x1xf32> ->
      tensor<2x3xf32>
  %expected = ingot.constant dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_size_one_and_new() -> (tensor<3x2x2xf32>, tensor<3x2x2xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %actual = ingot.broadcast %0 dims = [0, 2] : tensor<1x2xf32> ->
      tensor<3x2x2xf32>
  %expected = ingot.constant dense<[[[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0],
      [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]]]> : tensor<3x2x2xf32>
  func.return %actual, %expected : tensor<3x2x2xf32>, tensor<3x2x2xf32>
}

func.func @test_same() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[1, 2]> : tensor<2xi64>
  %actual = ingot.broadcast %0 dims = [0] : tensor<2xi64> -> tensor<2xi64>
  %expected = ingot.constant dense<[1, 2]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_boolean() -> (tensor<2x2xi1>, tensor<2x2xi1>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %actual = ingot.broadcast %0 dims = [1] : tensor<2xi1> -> tensor<2x2xi1>
  %expected = ingot.constant dense<[[true, false], [true, false]]> :
      tensor<2x2xi1>
  func.return %actual, %expected : tensor<2x2xi1>, tensor<2x2xi1>
}

func.func @test_to_empty() -> (tensor<0xf32>, tensor<0xf32>) {
  %0 = ingot.constant dense<[1.0]> : tensor<1xf32>
  %actual = ingot.broadcast %0 dims = [0] : tensor<1xf32> -> tensor<0xf32>
  %expected = ingot.constant dense<> : tensor<0xf32>
  func.return %actual, %expected : tensor<0xf32>, tensor<0xf32>
}

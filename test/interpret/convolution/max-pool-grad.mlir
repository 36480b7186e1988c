// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_plain() -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %0 = ingot.constant dense<[[[[-3.0, -1.0], [-4.0, 2.0]]]]> :
      tensor<1x1x2x2xf32>
  %1 = ingot.constant dense<[[[[5, 6], [12, 11]]]]> : tensor<1x1x2x2xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 2, 2>, strides =
      array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0,
      0>, pad_high = array<i64: 0, 0>} : (tensor<1x1x2x2xf32>,
      tensor<1x1x2x2xi64>) -> tensor<1x1x4x4xf32>
  %expected = ingot.constant dense<[[[[0.0, 0.0, 0.0, 0.0], [0.0, -3.0, -1.0,
      0.0], [0.0, 0.0, 0.0, 2.0], [-4.0, 0.0, 0.0, 0.0]]]]> :
      tensor<1x1x4x4xf32>
  func.return %actual, %expected : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

func.func @test_overlapping() -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %0 = ingot.constant dense<[[[[-4.0, -4.0], [-2.0, -1.0]], [[-2.0, 0.0], [2.0,
      -2.0]]]]> : tensor<1x2x2x2xf32>
  %1 = ingot.constant dense<[[[[0, 7], [9, 7]], [[2, 2], [5, 5]]]]> :
      tensor<1x2x2x2xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 2, 3>, strides =
      array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0,
      0>, pad_high = array<i64: 0, 0>} : (tensor<1x2x2x2xf32>,
      tensor<1x2x2x2xi64>) -> tensor<1x2x3x4xf32>
  %expected = ingot.constant dense<[[[[-4.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0,
      -5.0], [0.0, -2.0, 0.0, 0.0]], [[0.0, 0.0, -2.0, 0.0], [0.0, 0.0, 0.0,
      0.0], [0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x2x3x4xf32>
  func.return %actual, %expected : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

func.func @test_padded_asymmetrically() -> (tensor<1x1x3x2xf32>,
      tensor<1x1x3x2xf32>) {
  %0 = ingot.constant dense<[[[[3.0, -2.0], [4.0, 1.0]]]]> : tensor<1x1x2x2xf32>
  %1 = ingot.constant dense<[[[[1, 1], [3, 3]]]]> : tensor<1x1x2x2xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 2, 2>, strides =
      array<i64: 2, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1,
      0>, pad_high = array<i64: 0, 1>} : (tensor<1x1x2x2xf32>,
      tensor<1x1x2x2xi64>) -> tensor<1x1x3x2xf32>
  %expected = ingot.constant dense<[[[[0.0, 1.0], [0.0, 5.0], [0.0, 0.0]]]]> :
      tensor<1x1x3x2xf32>
  func.return %actual, %expected : tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>
}

func.func @test_dilated() -> (tensor<1x1x5x3xf32>, tensor<1x1x5x3xf32>) {
  %0 = ingot.constant dense<[[[[1.0], [3.0]]]]> : tensor<1x1x2x1xf32>
  %1 = ingot.constant dense<[[[[9], [3]]]]> : tensor<1x1x2x1xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 2, 2>, strides =
      array<i64: 1, 1>, dilations = array<i64: 3, 2>, pad_low = array<i64: 0,
      0>, pad_high = array<i64: 0, 0>} : (tensor<1x1x2x1xf32>,
      tensor<1x1x2x1xi64>) -> tensor<1x1x5x3xf32>
  %expected = ingot.constant dense<[[[[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0,
      0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]]> : tensor<1x1x5x3xf32>
  func.return %actual, %expected : tensor<1x1x5x3xf32>, tensor<1x1x5x3xf32>
}

func.func @test_one_dimension() -> (tensor<2x1x5xf32>, tensor<2x1x5xf32>) {
  %0 = ingot.constant dense<[[[3.0, -2.0, 3.0]], [[0.0, 2.0, 1.0]]]> :
      tensor<2x1x3xf32>
  %1 = ingot.constant dense<[[[0, 2, 3]], [[1, 1, 4]]]> : tensor<2x1x3xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 3>, strides =
      array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 1>,
      pad_high = array<i64: 1>} : (tensor<2x1x3xf32>, tensor<2x1x3xi64>) ->
      tensor<2x1x5xf32>
  %expected = ingot.constant dense<[[[3.0, 0.0, -2.0, 3.0, 0.0]], [[0.0, 2.0,
      0.0, 0.0, 1.0]]]> : tensor<2x1x5xf32>
  func.return %actual, %expected : tensor<2x1x5xf32>, tensor<2x1x5xf32>
}

func.func @test_three_dimensions() -> (tensor<1x1x2x2x3xf32>,
      tensor<1x1x2x2x3xf32>) {
  %0 = ingot.constant dense<[[[[[-1.0, -3.0], [0.0, 4.0]]]]]> :
      tensor<1x1x1x2x2xf32>
  %1 = ingot.constant dense<[[[[[7, 2], [4, 4]]]]]> : tensor<1x1x1x2x2xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 2, 1, 2>, strides =
      array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low =
      array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} :
      (tensor<1x1x1x2x2xf32>, tensor<1x1x1x2x2xi64>) -> tensor<1x1x2x2x3xf32>
  %expected = ingot.constant dense<[[[[[0.0, 0.0, -3.0], [0.0, 4.0, 0.0]],
      [[0.0, -1.0, 0.0], [0.0, 0.0, 0.0]]]]]> : tensor<1x1x2x2x3xf32>
  func.return %actual, %expected : tensor<1x1x2x2x3xf32>, tensor<1x1x2x2x3xf32>
}

func.func @test_gaps() -> (tensor<1x1x5xf32>, tensor<1x1x5xf32>) {
  %0 = ingot.constant dense<[[[4.0, 3.0, -3.0]]]> : tensor<1x1x3xf32>
  %1 = ingot.constant dense<[[[0, 2, 4]]]> : tensor<1x1x3xi64>
  %actual = ingot.max_pool_grad %0, %1 {kernel = array<i64: 1>, strides =
      array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
      pad_high = array<i64: 0>} : (tensor<1x1x3xf32>, tensor<1x1x3xi64>) ->
      tensor<1x1x5xf32>
  %expected = ingot.constant dense<[[[4.0, 0.0, 3.0, 0.0, -3.0]]]> :
      tensor<1x1x5xf32>
  func.return %actual, %expected : tensor<1x1x5xf32>, tensor<1x1x5xf32>
}

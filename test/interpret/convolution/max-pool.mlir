// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The first of equals; a NaN counts as largest; padding never wins.

func.func @test_plain() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>,
      tensor<1x1x2x2xi64>, tensor<1x1x2x2xi64>) {
  %0 = ingot.constant dense<[[[[-11.0, -7.0, -13.0, -14.0], [-8.0, -6.0, -6.0,
      -13.0], [-13.0, -11.0, -8.0, -6.0], [-7.0, -11.0, -6.0, -12.0]]]]> :
      tensor<1x1x4x4xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2, 2>, strides =
      array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0,
      0>, pad_high = array<i64: 0, 0>} : (tensor<1x1x4x4xf32>) ->
      (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>)
  %expected0 = ingot.constant dense<[[[[-6.0, -6.0], [-7.0, -6.0]]]]> :
      tensor<1x1x2x2xf32>
  %expected1 = ingot.constant dense<[[[[5, 6], [12, 11]]]]> :
      tensor<1x1x2x2xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 :
      tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>,
      tensor<1x1x2x2xi64>
}

func.func @test_overlapping() -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>,
      tensor<1x2x2x2xi64>, tensor<1x2x2x2xi64>) {
  %0 = ingot.constant dense<[[[[-6.0, -14.0, -13.0, -13.0], [-13.0, -10.0,
      -9.0, -6.0], [-10.0, -6.0, -8.0, -7.0]], [[-13.0, -10.0, -6.0, -8.0],
      [-13.0, -7.0, -8.0, -13.0], [-14.0, -12.0, -10.0, -13.0]]]]> :
      tensor<1x2x3x4xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2, 3>, strides =
      array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0,
      0>, pad_high = array<i64: 0, 0>} : (tensor<1x2x3x4xf32>) ->
      (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  %expected0 = ingot.constant dense<[[[[-6.0, -6.0], [-6.0, -6.0]], [[-6.0,
      -6.0], [-7.0, -7.0]]]]> : tensor<1x2x2x2xf32>
  %expected1 = ingot.constant dense<[[[[0, 7], [9, 7]], [[2, 2], [5, 5]]]]> :
      tensor<1x2x2x2xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 :
      tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>,
      tensor<1x2x2x2xi64>
}

func.func @test_padded_asymmetrically() -> (tensor<1x1x2x2xf32>,
      tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>, tensor<1x1x2x2xi64>) {
  %0 = ingot.constant dense<[[[[-10.0, -8.0], [-14.0, -6.0], [-6.0, -12.0]]]]>
      : tensor<1x1x3x2xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2, 2>, strides =
      array<i64: 2, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1,
      0>, pad_high = array<i64: 0, 1>} : (tensor<1x1x3x2xf32>) ->
      (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>)
  %expected0 = ingot.constant dense<[[[[-8.0, -8.0], [-6.0, -6.0]]]]> :
      tensor<1x1x2x2xf32>
  %expected1 = ingot.constant dense<[[[[1, 1], [3, 3]]]]> : tensor<1x1x2x2xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 :
      tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>,
      tensor<1x1x2x2xi64>
}

func.func @test_dilated() -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>,
      tensor<1x1x2x1xi64>, tensor<1x1x2x1xi64>) {
  %0 = ingot.constant dense<[[[[-12.0, -14.0, -11.0], [-8.0, -12.0, -10.0],
      [-13.0, -11.0, -14.0], [-6.0, -10.0, -7.0], [-13.0, -13.0, -13.0]]]]> :
      tensor<1x1x5x3xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2, 2>, strides =
      array<i64: 1, 1>, dilations = array<i64: 3, 2>, pad_low = array<i64: 0,
      0>, pad_high = array<i64: 0, 0>} : (tensor<1x1x5x3xf32>) ->
      (tensor<1x1x2x1xf32>, tensor<1x1x2x1xi64>)
  %expected0 = ingot.constant dense<[[[[-6.0], [-8.0]]]]> : tensor<1x1x2x1xf32>
  %expected1 = ingot.constant dense<[[[[9], [3]]]]> : tensor<1x1x2x1xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 :
      tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xi64>,
      tensor<1x1x2x1xi64>
}

func.func @test_one_dimension() -> (tensor<2x1x3xf32>, tensor<2x1x3xf32>,
      tensor<2x1x3xi64>, tensor<2x1x3xi64>) {
  %0 = ingot.constant dense<[[[-9.0, -10.0, -6.0, -13.0, -13.0]], [[-8.0, -7.0,
      -12.0, -12.0, -10.0]]]> : tensor<2x1x5xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 3>, strides = array<i64:
      2>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high =
      array<i64: 1>} : (tensor<2x1x5xf32>) -> (tensor<2x1x3xf32>,
      tensor<2x1x3xi64>)
  %expected0 = ingot.constant dense<[[[-9.0, -6.0, -13.0]], [[-7.0, -7.0,
      -10.0]]]> : tensor<2x1x3xf32>
  %expected1 = ingot.constant dense<[[[0, 2, 3]], [[1, 1, 4]]]> :
      tensor<2x1x3xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x1x3xf32>,
      tensor<2x1x3xf32>, tensor<2x1x3xi64>, tensor<2x1x3xi64>
}

func.func @test_three_dimensions() -> (tensor<1x1x1x2x2xf32>,
      tensor<1x1x1x2x2xf32>, tensor<1x1x1x2x2xi64>, tensor<1x1x1x2x2xi64>) {
  %0 = ingot.constant dense<[[[[[-10.0, -10.0, -6.0], [-11.0, -6.0, -7.0]],
      [[-13.0, -7.0, -11.0], [-13.0, -12.0, -13.0]]]]]> : tensor<1x1x2x2x3xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2, 1, 2>, strides =
      array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low =
      array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} :
      (tensor<1x1x2x2x3xf32>) -> (tensor<1x1x1x2x2xf32>, tensor<1x1x1x2x2xi64>)
  %expected0 = ingot.constant dense<[[[[[-7.0, -6.0], [-6.0, -6.0]]]]]> :
      tensor<1x1x1x2x2xf32>
  %expected1 = ingot.constant dense<[[[[[7, 2], [4, 4]]]]]> :
      tensor<1x1x1x2x2xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 :
      tensor<1x1x1x2x2xf32>, tensor<1x1x1x2x2xf32>, tensor<1x1x1x2x2xi64>,
      tensor<1x1x1x2x2xi64>
}

func.func @test_gaps() -> (tensor<1x1x3xf32>, tensor<1x1x3xf32>,
      tensor<1x1x3xi64>, tensor<1x1x3xi64>) {
  %0 = ingot.constant dense<[[[-6.0, -6.0, -12.0, -12.0, -8.0]]]> :
      tensor<1x1x5xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 1>, strides = array<i64:
      2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high =
      array<i64: 0>} : (tensor<1x1x5xf32>) -> (tensor<1x1x3xf32>,
      tensor<1x1x3xi64>)
  %expected0 = ingot.constant dense<[[[-6.0, -12.0, -8.0]]]> : tensor<1x1x3xf32>
  %expected1 = ingot.constant dense<[[[0, 2, 4]]]> : tensor<1x1x3xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x1x3xf32>,
      tensor<1x1x3xf32>, tensor<1x1x3xi64>, tensor<1x1x3xi64>
}

func.func @test_ties() -> (tensor<1x1x3xf32>, tensor<1x1x3xf32>,
      tensor<1x1x3xi64>, tensor<1x1x3xi64>) {
  %0 = ingot.constant dense<[[[3.0, 3.0, 1.0, 3.0]]]> : tensor<1x1x4xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2>, strides = array<i64:
      1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high =
      array<i64: 0>} : (tensor<1x1x4xf32>) -> (tensor<1x1x3xf32>,
      tensor<1x1x3xi64>)
  %expected0 = ingot.constant dense<[[[3.0, 3.0, 3.0]]]> : tensor<1x1x3xf32>
  %expected1 = ingot.constant dense<[[[0, 1, 3]]]> : tensor<1x1x3xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x1x3xf32>,
      tensor<1x1x3xf32>, tensor<1x1x3xi64>, tensor<1x1x3xi64>
}

func.func @test_nan() -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>,
      tensor<1x1x4xi64>, tensor<1x1x4xi64>) {
  %0 = ingot.constant dense<[[[1.0, 0x7FC00000, 5.0, 0x7FC00000, 0x7FC00000]]]>
      : tensor<1x1x5xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2>, strides = array<i64:
      1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high =
      array<i64: 0>} : (tensor<1x1x5xf32>) -> (tensor<1x1x4xf32>,
      tensor<1x1x4xi64>)
  %expected0 = ingot.constant dense<[[[0x7FC00000, 0x7FC00000, 0x7FC00000,
      0x7FC00000]]]> : tensor<1x1x4xf32>
  %expected1 = ingot.constant dense<[[[1, 1, 3, 3]]]> : tensor<1x1x4xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x1x4xf32>,
      tensor<1x1x4xf32>, tensor<1x1x4xi64>, tensor<1x1x4xi64>
}

// Padding is no element, not even beside the lowest.
func.func @test_lowest() -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>,
      tensor<1x1x2xi64>, tensor<1x1x2xi64>) {
  %0 = ingot.constant dense<[[[0xFF800000, 0xFF800000]]]> : tensor<1x1x2xf32>
  %actual:2 = ingot.max_pool %0 {kernel = array<i64: 2>, strides = array<i64:
      1>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high =
      array<i64: 0>} : (tensor<1x1x2xf32>) -> (tensor<1x1x2xf32>,
      tensor<1x1x2xi64>)
  %expected0 = ingot.constant dense<[[[0xFF800000, 0xFF800000]]]> :
      tensor<1x1x2xf32>
  %expected1 = ingot.constant dense<0> : tensor<1x1x2xi64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x1x2xf32>,
      tensor<1x1x2xf32>, tensor<1x1x2xi64>, tensor<1x1x2xi64>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_plain() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-11.0, -7.0, -13.0, -14.0], [-8.0, -6.0, -6.0,
      -13.0], [-13.0, -11.0, -8.0, -6.0], [-7.0, -11.0, -6.0, -12.0]]]]> :
      tensor<1x1x4x4xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64:
      2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high
      = array<i64: 0, 0>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[-32.0, -46.0], [-42.0, -32.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_overlapping() -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-6.0, -14.0, -13.0, -13.0], [-13.0, -10.0,
      -9.0, -6.0], [-10.0, -6.0, -8.0, -7.0]], [[-13.0, -10.0, -6.0, -8.0],
      [-13.0, -7.0, -8.0, -13.0], [-14.0, -12.0, -10.0, -13.0]]]]> :
      tensor<1x2x3x4xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 2, 3>, strides = array<i64:
      1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high
      = array<i64: 0, 0>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x2x2xf32>
  %expected = ingot.constant dense<[[[[-65.0, -65.0], [-56.0, -46.0]], [[-57.0,
      -52.0], [-64.0, -63.0]]]]> : tensor<1x2x2x2xf32>
  func.return %actual, %expected : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

func.func @test_padded_asymmetrically() -> (tensor<1x1x2x2xf32>,
      tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-10.0, -8.0], [-14.0, -6.0], [-6.0, -12.0]]]]>
      : tensor<1x1x3x2xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64:
      2, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high
      = array<i64: 0, 1>} : (tensor<1x1x3x2xf32>) -> tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[-18.0, -8.0], [-38.0, -18.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_dilated() -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) {
  %0 = ingot.constant dense<[[[[-12.0, -14.0, -11.0], [-8.0, -12.0, -10.0],
      [-13.0, -11.0, -14.0], [-6.0, -10.0, -7.0], [-13.0, -13.0, -13.0]]]]> :
      tensor<1x1x5x3xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64:
      1, 1>, dilations = array<i64: 3, 2>, pad_low = array<i64: 0, 0>, pad_high
      = array<i64: 0, 0>} : (tensor<1x1x5x3xf32>) -> tensor<1x1x2x1xf32>
  %expected = ingot.constant dense<[[[[-36.0], [-44.0]]]]> : tensor<1x1x2x1xf32>
  func.return %actual, %expected : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>
}

func.func @test_one_dimension() -> (tensor<2x1x3xf32>, tensor<2x1x3xf32>) {
  %0 = ingot.constant dense<[[[-9.0, -10.0, -6.0, -13.0, -13.0]], [[-8.0, -7.0,
      -12.0, -12.0, -10.0]]]> : tensor<2x1x5xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 3>, strides = array<i64: 2>,
      dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64:
      1>} : (tensor<2x1x5xf32>) -> tensor<2x1x3xf32>
  %expected = ingot.constant dense<[[[-19.0, -29.0, -26.0]], [[-15.0, -31.0,
      -22.0]]]> : tensor<2x1x3xf32>
  func.return %actual, %expected : tensor<2x1x3xf32>, tensor<2x1x3xf32>
}

func.func @test_three_dimensions() -> (tensor<1x1x1x2x2xf32>,
      tensor<1x1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[[-10.0, -10.0, -6.0], [-11.0, -6.0, -7.0]],
      [[-13.0, -7.0, -11.0], [-13.0, -12.0, -13.0]]]]]> : tensor<1x1x2x2x3xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 2, 1, 2>, strides =
      array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low =
      array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} :
      (tensor<1x1x2x2x3xf32>) -> tensor<1x1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[[-40.0, -34.0], [-42.0, -38.0]]]]]> :
      tensor<1x1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x1x2x2xf32>, tensor<1x1x1x2x2xf32>
}

func.func @test_gaps() -> (tensor<1x1x3xf32>, tensor<1x1x3xf32>) {
  %0 = ingot.constant dense<[[[-6.0, -6.0, -12.0, -12.0, -8.0]]]> :
      tensor<1x1x5xf32>
  %actual = ingot.sum_pool %0 {kernel = array<i64: 1>, strides = array<i64: 2>,
      dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64:
      0>} : (tensor<1x1x5xf32>) -> tensor<1x1x3xf32>
  %expected = ingot.constant dense<[[[-6.0, -12.0, -8.0]]]> : tensor<1x1x3xf32>
  func.return %actual, %expected : tensor<1x1x3xf32>, tensor<1x1x3xf32>
}

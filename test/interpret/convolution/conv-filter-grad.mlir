// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_plain() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[4.0, 4.0], [1.0, -2.0]]]]> : tensor<1x1x2x2xf32>
  %1 = ingot.constant dense<[[[[-4.0, -2.0, 0.0], [3.0, -4.0, 1.0], [0.0, -3.0,
      3.0]]]]> : tensor<1x1x3x3xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high =
      array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x2x2xf32>,
      tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[-13.0, -14.0], [2.0, -21.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_channels() -> (tensor<3x2x1x1xf32>, tensor<3x2x1x1xf32>) {
  %0 = ingot.constant dense<[[[[-4.0, 4.0], [3.0, 1.0]], [[0.0, 2.0], [0.0,
      0.0]], [[-2.0, 0.0], [2.0, -4.0]]], [[[-4.0, 2.0], [-1.0, 3.0]], [[-4.0,
      4.0], [-3.0, -1.0]], [[4.0, -4.0], [1.0, 2.0]]]]> : tensor<2x3x2x2xf32>
  %1 = ingot.constant dense<[[[[-3.0, 1.0], [-3.0, 2.0]], [[4.0, -2.0], [0.0,
      -4.0]]], [[[-3.0, -1.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, -4.0]]]]> :
      tensor<2x2x2x2xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high =
      array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x2x2xf32>,
      tensor<2x2x2x2xf32>) -> tensor<3x2x1x1xf32>
  %expected = ingot.constant dense<[[[[28.0]], [[-43.0]]], [[[-3.0]],
      [[-3.0]]], [[[-5.0]], [[1.0]]]]> : tensor<3x2x1x1xf32>
  func.return %actual, %expected : tensor<3x2x1x1xf32>, tensor<3x2x1x1xf32>
}

func.func @test_strided() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-4.0, 1.0], [2.0, 2.0]]]]> : tensor<1x1x2x2xf32>
  %1 = ingot.constant dense<[[[[-1.0, -4.0, 0.0, -1.0], [3.0, 2.0, -1.0, -4.0],
      [1.0, -2.0, 2.0, 3.0], [-1.0, 4.0, 0.0, 0.0], [2.0, 3.0, 4.0, 4.0]]]]> :
      tensor<1x1x5x4xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 2, 2>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high =
      array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x2x2xf32>,
      tensor<1x1x5x4xf32>) -> tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[10.0, 17.0], [-15.0, -4.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_padded_asymmetrically() -> (tensor<1x1x2x3xf32>,
      tensor<1x1x2x3xf32>) {
  %0 = ingot.constant dense<[[[[3.0, 4.0, 0.0], [-4.0, 2.0, -2.0]]]]> :
      tensor<1x1x2x3xf32>
  %1 = ingot.constant dense<[[[[3.0, 1.0, -3.0], [3.0, -1.0, 3.0]]]]> :
      tensor<1x1x2x3xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high =
      array<i64: 0, 2>, groups = 1 : i64} : (tensor<1x1x2x3xf32>,
      tensor<1x1x2x3xf32>) -> tensor<1x1x2x3xf32>
  %expected = ingot.constant dense<[[[[-4.0, -10.0, 12.0], [-7.0, 1.0,
      -21.0]]]]> : tensor<1x1x2x3xf32>
  func.return %actual, %expected : tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>
}

func.func @test_dilated() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[0.0, 4.0], [0.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %1 = ingot.constant dense<[[[[-2.0, -3.0, -3.0, 4.0, -1.0], [-4.0, -3.0,
      -1.0, -1.0, -2.0], [4.0, 3.0, 1.0, 4.0, -1.0], [-3.0, -2.0, -4.0, 4.0,
      -3.0]]]]> : tensor<1x1x4x5xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1>,
      dilations = array<i64: 2, 3>, pad_low = array<i64: 0, 0>, pad_high =
      array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x2x2xf32>,
      tensor<1x1x4x5xf32>) -> tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[-24.0, -12.0], [4.0, -16.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_grouped() -> (tensor<4x2x2x1xf32>, tensor<4x2x2x1xf32>) {
  %0 = ingot.constant dense<[[[[4.0, -2.0]], [[-2.0, 1.0]], [[-1.0, 2.0]],
      [[-3.0, -3.0]]]]> : tensor<1x4x1x2xf32>
  %1 = ingot.constant dense<[[[[4.0, 2.0], [2.0, 1.0]], [[1.0, 3.0], [-1.0,
      4.0]], [[3.0, -1.0], [-1.0, 2.0]], [[4.0, -4.0], [-4.0, -2.0]]]]> :
      tensor<1x4x2x2xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high =
      array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x4x1x2xf32>,
      tensor<1x4x2x2xf32>) -> tensor<4x2x2x1xf32>
  %expected = ingot.constant dense<[[[[12.0], [6.0]], [[-2.0], [-12.0]]],
      [[[-6.0], [-3.0]], [[1.0], [6.0]]], [[[-5.0], [5.0]], [[-12.0], [0.0]]],
      [[[-6.0], [-3.0]], [[0.0], [18.0]]]]> : tensor<4x2x2x1xf32>
  func.return %actual, %expected : tensor<4x2x2x1xf32>, tensor<4x2x2x1xf32>
}

func.func @test_depthwise() -> (tensor<2x1x2x2xf32>, tensor<2x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[4.0, 2.0], [0.0, -2.0], [1.0, -1.0]], [[1.0,
      -4.0], [-3.0, 2.0], [-4.0, 2.0]]]]> : tensor<1x2x3x2xf32>
  %1 = ingot.constant dense<[[[[-4.0, 0.0], [-3.0, -2.0], [4.0, 3.0]], [[3.0,
      1.0], [-3.0, 2.0], [1.0, 4.0]]]]> : tensor<1x2x3x2xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high =
      array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x2x3x2xf32>,
      tensor<1x2x3x2xf32>) -> tensor<2x1x2x2xf32>
  %expected = ingot.constant dense<[[[[11.0, -1.0], [-6.0, -11.0]]], [[[0.0,
      9.0], [-16.0, 16.0]]]]> : tensor<2x1x2x2xf32>
  func.return %actual, %expected : tensor<2x1x2x2xf32>, tensor<2x1x2x2xf32>
}

func.func @test_one_dimension() -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>) {
  %0 = ingot.constant dense<[[[-4.0, -1.0, -4.0], [-2.0, -2.0, 2.0]]]> :
      tensor<1x2x3xf32>
  %1 = ingot.constant dense<[[[-1.0, -4.0, 2.0, 2.0, 3.0], [4.0, 2.0, 3.0,
      -3.0, 4.0]]]> : tensor<1x2x5xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 2>, dilations =
      array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, groups
      = 1 : i64} : (tensor<1x2x3xf32>, tensor<1x2x5xf32>) -> tensor<2x2x3xf32>
  %expected = ingot.constant dense<[[[-4.0, -10.0, 14.0], [10.0, -35.0, -5.0]],
      [[12.0, 4.0, 4.0], [-10.0, -6.0, 2.0]]]> : tensor<2x2x3xf32>
  func.return %actual, %expected : tensor<2x2x3xf32>, tensor<2x2x3xf32>
}

func.func @test_three_dimensions() -> (tensor<1x1x2x2x1xf32>,
      tensor<1x1x2x2x1xf32>) {
  %0 = ingot.constant dense<[[[[[-2.0, 1.0], [4.0, 3.0], [0.0, 1.0]]]]]> :
      tensor<1x1x1x3x2xf32>
  %1 = ingot.constant dense<[[[[[-2.0, 4.0], [-3.0, 4.0], [1.0, -2.0]], [[-4.0,
      -2.0], [1.0, -4.0], [-3.0, -3.0]]]]]> : tensor<1x1x2x3x2xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 1, 1, 1>,
      dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 0>, pad_high
      = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<1x1x1x3x2xf32>,
      tensor<1x1x2x3x2xf32>) -> tensor<1x1x2x2x1xf32>
  %expected = ingot.constant dense<[[[[[8.0], [6.0]], [[-26.0], [-5.0]]]]]> :
      tensor<1x1x2x2x1xf32>
  func.return %actual, %expected : tensor<1x1x2x2x1xf32>, tensor<1x1x2x2x1xf32>
}

func.func @test_unread_input() -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) {
  %0 = ingot.constant dense<[[[[1.0], [-1.0]]]]> : tensor<1x1x2x1xf32>
  %1 = ingot.constant dense<[[[[3.0], [-1.0], [1.0], [-3.0], [1.0], [-2.0]]]]>
      : tensor<1x1x6x1xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 3, 1>,
      dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high =
      array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x2x1xf32>,
      tensor<1x1x6x1xf32>) -> tensor<1x1x2x1xf32>
  %expected = ingot.constant dense<[[[[6.0], [-2.0]]]]> : tensor<1x1x2x1xf32>
  func.return %actual, %expected : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>
}

func.func @test_everything() -> (tensor<2x2x2x3xf32>, tensor<2x2x2x3xf32>) {
  %0 = ingot.constant dense<[[[[3.0, -4.0, 2.0, 1.0, -1.0], [-2.0, 1.0, -3.0,
      -3.0, 3.0]], [[2.0, 1.0, 2.0, -2.0, 2.0], [-3.0, 0.0, -3.0, -1.0,
      -1.0]]], [[[-1.0, 0.0, -4.0, -1.0, 3.0], [-1.0, 0.0, -4.0, -1.0, 4.0]],
      [[0.0, -4.0, 2.0, 2.0, -1.0], [-4.0, 3.0, -2.0, 4.0, -1.0]]]]> :
      tensor<2x2x2x5xf32>
  %1 = ingot.constant dense<[[[[-4.0, -2.0, 3.0, 0.0], [4.0, 4.0, 3.0, -4.0],
      [-4.0, 1.0, -1.0, 3.0], [-2.0, -3.0, -3.0, -2.0], [1.0, -3.0, 3.0,
      -2.0]], [[-2.0, 1.0, 3.0, -1.0], [3.0, -2.0, -3.0, 3.0], [2.0, 2.0, 3.0,
      0.0], [-3.0, 1.0, 1.0, -1.0], [1.0, -2.0, 1.0, 3.0]], [[-4.0, 0.0, 1.0,
      -4.0], [1.0, 4.0, 3.0, 2.0], [3.0, -1.0, -2.0, -4.0], [2.0, -2.0, 3.0,
      0.0], [4.0, -3.0, -3.0, -1.0]], [[-4.0, 0.0, 1.0, 1.0], [-3.0, -3.0, 1.0,
      1.0], [4.0, 4.0, -1.0, -3.0], [-2.0, 3.0, 0.0, 4.0], [1.0, 1.0, -4.0,
      1.0]]], [[[-1.0, 3.0, -3.0, -3.0], [1.0, 2.0, 3.0, 0.0], [-1.0, -2.0,
      -1.0, 1.0], [0.0, -2.0, -3.0, 2.0], [-2.0, -3.0, -2.0, 3.0]], [[0.0, 1.0,
      -4.0, -1.0], [2.0, 2.0, 1.0, 3.0], [-2.0, -3.0, -4.0, -3.0], [2.0, 4.0,
      -3.0, 0.0], [-3.0, 3.0, -3.0, 1.0]], [[-4.0, 2.0, 4.0, 2.0], [-2.0, 3.0,
      -2.0, 2.0], [3.0, 0.0, 1.0, 3.0], [-3.0, -4.0, -1.0, -3.0], [3.0, 3.0,
      -1.0, -2.0]], [[2.0, 0.0, -4.0, 1.0], [2.0, -4.0, 2.0, 0.0], [3.0, 3.0,
      2.0, -1.0], [-1.0, 2.0, -4.0, -2.0], [0.0, 4.0, 2.0, 3.0]]]]> :
      tensor<2x4x5x4xf32>
  %actual = ingot.conv_filter_grad %0, %1 {strides = array<i64: 2, 1>,
      dilations = array<i64: 2, 1>, pad_low = array<i64: 1, 2>, pad_high =
      array<i64: 0, 1>, groups = 2 : i64} : (tensor<2x2x2x5xf32>,
      tensor<2x4x5x4xf32>) -> tensor<2x2x2x3xf32>
  %expected = ingot.constant dense<[[[[-9.0, -40.0, -14.0], [8.0, 17.0, 11.0]],
      [[-18.0, 30.0, -17.0], [-15.0, -47.0, 22.0]]], [[[8.0, -39.0, 15.0],
      [-12.0, 16.0, -29.0]], [[-11.0, 29.0, -19.0], [13.0, -55.0, 23.0]]]]> :
      tensor<2x2x2x3xf32>
  func.return %actual, %expected : tensor<2x2x2x3xf32>, tensor<2x2x2x3xf32>
}

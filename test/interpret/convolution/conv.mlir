// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_plain() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-4.0, -2.0, 0.0], [3.0, -4.0, 1.0], [0.0, -3.0,
      3.0]]]]> : tensor<1x1x3x3xf32>
  %1 = ingot.constant dense<[[[[3.0, 0.0], [4.0, 1.0]]]]> : tensor<1x1x2x2xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0,
      0>, groups = 1 : i64} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) ->
      tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[-4.0, -21.0], [6.0, -21.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_channels() -> (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-3.0, 1.0], [-3.0, 2.0]], [[4.0, -2.0], [0.0,
      -4.0]]], [[[-3.0, -1.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, -4.0]]]]> :
      tensor<2x2x2x2xf32>
  %1 = ingot.constant dense<[[[[-1.0]], [[4.0]]], [[[-1.0]], [[-3.0]]],
      [[[-2.0]], [[2.0]]]]> : tensor<3x2x1x1xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0,
      0>, groups = 1 : i64} : (tensor<2x2x2x2xf32>, tensor<3x2x1x1xf32>) ->
      tensor<2x3x2x2xf32>
  %expected = ingot.constant dense<[[[[19.0, -9.0], [3.0, -18.0]], [[-9.0,
      5.0], [3.0, 10.0]], [[14.0, -6.0], [6.0, -12.0]]], [[[7.0, 5.0], [1.0,
      -20.0]], [[0.0, -2.0], [-6.0, 8.0]], [[8.0, 4.0], [-4.0, -16.0]]]]> :
      tensor<2x3x2x2xf32>
  func.return %actual, %expected : tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>
}

func.func @test_strided() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-1.0, -4.0, 0.0, -1.0], [3.0, 2.0, -1.0, -4.0],
      [1.0, -2.0, 2.0, 3.0], [-1.0, 4.0, 0.0, 0.0], [2.0, 3.0, 4.0, 4.0]]]]> :
      tensor<1x1x5x4xf32>
  %1 = ingot.constant dense<[[[[-3.0, -1.0], [4.0, -2.0]]]]> :
      tensor<1x1x2x2xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 2, 2>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0,
      0>, groups = 1 : i64} : (tensor<1x1x5x4xf32>, tensor<1x1x2x2xf32>) ->
      tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[15.0, 5.0], [-13.0, -9.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_padded_asymmetrically() -> (tensor<1x1x2x3xf32>,
      tensor<1x1x2x3xf32>) {
  %0 = ingot.constant dense<[[[[3.0, 1.0, -3.0], [3.0, -1.0, 3.0]]]]> :
      tensor<1x1x2x3xf32>
  %1 = ingot.constant dense<[[[[3.0, 4.0, -4.0], [3.0, 1.0, 0.0]]]]> :
      tensor<1x1x2x3xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 0,
      2>, groups = 1 : i64} : (tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>) ->
      tensor<1x1x2x3xf32>
  %expected = ingot.constant dense<[[[[10.0, 0.0, -9.0], [33.0, -9.0, 0.0]]]]>
      : tensor<1x1x2x3xf32>
  func.return %actual, %expected : tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>
}

func.func @test_dilated() -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = ingot.constant dense<[[[[-2.0, -3.0, -3.0, 4.0, -1.0], [-4.0, -3.0,
      -1.0, -1.0, -2.0], [4.0, 3.0, 1.0, 4.0, -1.0], [-3.0, -2.0, -4.0, 4.0,
      -3.0]]]]> : tensor<1x1x4x5xf32>
  %1 = ingot.constant dense<[[[[0.0, -3.0], [4.0, -3.0]]]]> :
      tensor<1x1x2x2xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1>, dilations =
      array<i64: 2, 3>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0,
      0>, groups = 1 : i64} : (tensor<1x1x4x5xf32>, tensor<1x1x2x2xf32>) ->
      tensor<1x1x2x2xf32>
  %expected = ingot.constant dense<[[[[-8.0, 18.0], [-21.0, 7.0]]]]> :
      tensor<1x1x2x2xf32>
  func.return %actual, %expected : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

func.func @test_grouped() -> (tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>) {
  %0 = ingot.constant dense<[[[[4.0, 2.0], [2.0, 1.0]], [[1.0, 3.0], [-1.0,
      4.0]], [[3.0, -1.0], [-1.0, 2.0]], [[4.0, -4.0], [-4.0, -2.0]]]]> :
      tensor<1x4x2x2xf32>
  %1 = ingot.constant dense<[[[[-1.0], [-3.0]], [[0.0], [0.0]]], [[[4.0],
      [2.0]], [[-2.0], [3.0]]], [[[3.0], [2.0]], [[2.0], [-2.0]]], [[[2.0],
      [-3.0]], [[1.0], [4.0]]]]> : tensor<4x2x2x1xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0,
      0>, groups = 2 : i64} : (tensor<1x4x2x2xf32>, tensor<4x2x2x1xf32>) ->
      tensor<1x4x1x2xf32>
  %expected = ingot.constant dense<[[[[-10.0, -5.0]], [[15.0, 16.0]], [[23.0,
      -3.0]], [[-3.0, -20.0]]]]> : tensor<1x4x1x2xf32>
  func.return %actual, %expected : tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>
}

func.func @test_depthwise() -> (tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>) {
  %0 = ingot.constant dense<[[[[-4.0, 0.0], [-3.0, -2.0], [4.0, 3.0]], [[3.0,
      1.0], [-3.0, 2.0], [1.0, 4.0]]]]> : tensor<1x2x3x2xf32>
  %1 = ingot.constant dense<[[[[0.0, -3.0], [1.0, 0.0]]], [[[1.0, -1.0], [-2.0,
      -3.0]]]]> : tensor<2x1x2x2xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0,
      0>, groups = 2 : i64} : (tensor<1x2x3x2xf32>, tensor<2x1x2x2xf32>) ->
      tensor<1x2x3x2xf32>
  %expected = ingot.constant dense<[[[[0.0, -4.0], [12.0, -3.0], [9.0, 10.0]],
      [[-9.0, -9.0], [6.0, 2.0], [0.0, -19.0]]]]> : tensor<1x2x3x2xf32>
  func.return %actual, %expected : tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>
}

func.func @test_one_dimension() -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>) {
  %0 = ingot.constant dense<[[[-1.0, -4.0, 2.0, 2.0, 3.0], [4.0, 2.0, 3.0,
      -3.0, 4.0]]]> : tensor<1x2x5xf32>
  %1 = ingot.constant dense<[[[4.0, 2.0, 3.0], [2.0, 3.0, 4.0]], [[0.0, 3.0,
      4.0], [-2.0, -4.0, -3.0]]]> : tensor<2x2x3xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 2>, dilations = array<i64:
      1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, groups = 1 : i64}
      : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x3xf32>
  %expected = ingot.constant dense<[[[6.0, -5.0, 20.0], [-41.0, 7.0, -1.0]]]> :
      tensor<1x2x3xf32>
  func.return %actual, %expected : tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

func.func @test_three_dimensions() -> (tensor<1x1x1x3x2xf32>,
      tensor<1x1x1x3x2xf32>) {
  %0 = ingot.constant dense<[[[[[-2.0, 4.0], [-3.0, 4.0], [1.0, -2.0]], [[-4.0,
      -2.0], [1.0, -4.0], [-3.0, -3.0]]]]]> : tensor<1x1x2x3x2xf32>
  %1 = ingot.constant dense<[[[[[2.0], [-4.0]], [[-4.0], [0.0]]]]]> :
      tensor<1x1x2x2x1xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1, 1, 1>, dilations =
      array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 0>, pad_high = array<i64:
      0, 0, 0>, groups = 1 : i64} : (tensor<1x1x2x3x2xf32>,
      tensor<1x1x2x2x1xf32>) -> tensor<1x1x1x3x2xf32>
  %expected = ingot.constant dense<[[[[[8.0, -16.0], [24.0, 0.0], [-14.0,
      32.0]]]]]> : tensor<1x1x1x3x2xf32>
  func.return %actual, %expected : tensor<1x1x1x3x2xf32>, tensor<1x1x1x3x2xf32>
}

func.func @test_unread_input() -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) {
  %0 = ingot.constant dense<[[[[3.0], [-1.0], [1.0], [-3.0], [1.0], [-2.0]]]]>
      : tensor<1x1x6x1xf32>
  %1 = ingot.constant dense<[[[[-3.0], [2.0]]]]> : tensor<1x1x2x1xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 3, 1>, dilations =
      array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0,
      0>, groups = 1 : i64} : (tensor<1x1x6x1xf32>, tensor<1x1x2x1xf32>) ->
      tensor<1x1x2x1xf32>
  %expected = ingot.constant dense<[[[[-11.0], [11.0]]]]> : tensor<1x1x2x1xf32>
  func.return %actual, %expected : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>
}

func.func @test_everything() -> (tensor<2x2x2x5xf32>, tensor<2x2x2x5xf32>) {
  %0 = ingot.constant dense<[[[[-4.0, -2.0, 3.0, 0.0], [4.0, 4.0, 3.0, -4.0],
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
  %1 = ingot.constant dense<[[[[-3.0, -2.0, -2.0], [2.0, 0.0, -3.0]], [[2.0,
      1.0, 4.0], [1.0, -3.0, 3.0]]], [[[-3.0, -4.0, 3.0], [0.0, 1.0, -3.0]],
      [[2.0, -1.0, 4.0], [1.0, 4.0, 3.0]]]]> : tensor<2x2x2x3xf32>
  %actual = ingot.conv %0, %1 {strides = array<i64: 2, 1>, dilations =
      array<i64: 2, 1>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 0,
      1>, groups = 2 : i64} : (tensor<2x4x5x4xf32>, tensor<2x2x2x3xf32>) ->
      tensor<2x2x2x5xf32>
  %expected = ingot.constant dense<[[[[-3.0, -27.0, -1.0, 36.0, -6.0], [1.0,
      0.0, -32.0, -10.0, -6.0]], [[-12.0, -32.0, -17.0, 1.0, 7.0], [-21.0, 8.0,
      -10.0, -3.0, 0.0]]], [[[3.0, -6.0, -8.0, 12.0, -2.0], [12.0, 16.0, -13.0,
      8.0, -13.0]], [[12.0, -15.0, 1.0, -4.0, 4.0], [8.0, 10.0, -2.0, -17.0,
      -13.0]]]]> : tensor<2x2x2x5xf32>
  func.return %actual, %expected : tensor<2x2x2x5xf32>, tensor<2x2x2x5xf32>
}

func.func @test_f16_accumulates_in_f32() -> (tensor<1x1x1xf16>,
      tensor<1x1x1xf16>) {
  %0 = ingot.constant dense<[[[2048.0, 1.0, 1.0, 1.0, 1.0]]]> :
      tensor<1x1x5xf16>
  %1 = ingot.constant dense<[[[1.0, 1.0, 1.0, 1.0, 1.0]]]> : tensor<1x1x5xf16>
  %actual = ingot.conv %0, %1 {strides = array<i64: 1>, dilations = array<i64:
      1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64}
      : (tensor<1x1x5xf16>, tensor<1x1x5xf16>) -> tensor<1x1x1xf16>
  %expected = ingot.constant dense<[[[2052.0]]]> : tensor<1x1x1xf16>
  func.return %actual, %expected : tensor<1x1x1xf16>, tensor<1x1x1xf16>
}

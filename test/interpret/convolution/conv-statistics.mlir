// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-attach-target --ingot-decompose %s | ingot-eval --expect -

// The sums of each channel of a convolution's result, and of its squares.
func.func @test_sums() -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %x = ingot.constant dense<[[[[1.0, 2.0], [3.0, -4.0]]]]> : tensor<1x1x2x2xf32>
  %w = ingot.constant dense<[[[[2.0]]], [[[-1.0]]]]> : tensor<2x1x1x1xf32>
  %y, %sums, %squares = ingot.conv_statistics %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %ey = ingot.constant dense<[[[[2.0, 4.0], [6.0, -8.0]], [[-1.0, -2.0], [-3.0, 4.0]]]]> : tensor<1x2x2x2xf32>
  %es = ingot.constant dense<[4.0, -2.0]> : tensor<2xf32>
  %eq = ingot.constant dense<[120.0, 30.0]> : tensor<2xf32>
  return %y, %ey, %sums, %es, %squares, %eq : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// The input is max(input * scale + shift, 0), and padding is 0 behind that.
// With channels last, in half precision, whose results are summed rounded.
func.func @test_scaled() -> (tensor<1x3x1x1xf16>, tensor<1x3x1x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %x = ingot.constant dense<[[[[1.0, 2.0]], [[-3.0, 5.0]]]]> : tensor<1x2x1x2xf16>
  %w = ingot.constant dense<[[[[1.0, 1.0]], [[10.0, 100.0]]]]> : tensor<1x2x1x2xf16>
  %scale = ingot.constant dense<[2.0, -1.0]> : tensor<2xf16>
  %shift = ingot.constant dense<[1.0, 4.0]> : tensor<2xf16>
  // Normalized: (3, 2), (0, 0).
  %y, %sums, %squares = ingot.conv_statistics %x, %w scale %scale shift %shift {channels_last, filter_channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<1x2x1x2xf16>, tensor<1x2x1x2xf16>, tensor<2xf16>, tensor<2xf16>) -> (tensor<1x3x1x1xf16>, tensor<1xf32>, tensor<1xf32>)
  %ey = ingot.constant dense<[[[[230.0]], [[5.0]], [[0.0]]]]> : tensor<1x3x1x1xf16>
  %es = ingot.constant dense<[235.0]> : tensor<1xf32>
  %eq = ingot.constant dense<[52925.0]> : tensor<1xf32>
  return %y, %ey, %sums, %es, %squares, %eq : tensor<1x3x1x1xf16>, tensor<1x3x1x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

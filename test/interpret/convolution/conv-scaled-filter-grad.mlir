// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-attach-target --ingot-decompose %s | ingot-eval --expect -

// The gradient by the filter of a convolution of max(input * scale + shift, 0).
func.func @test_scaled() -> (tensor<1x2x1x2xf16>, tensor<1x2x1x2xf16>) {
  %g = ingot.constant dense<[[[[2.0]], [[3.0]], [[-1.0]]]]> : tensor<1x3x1x1xf16>
  %x = ingot.constant dense<[[[[1.0, 2.0]], [[-3.0, 3.0]]]]> : tensor<1x2x1x2xf16>
  %scale = ingot.constant dense<[2.0, -1.0]> : tensor<2xf16>
  %shift = ingot.constant dense<[1.0, 4.0]> : tensor<2xf16>
  // Normalized: (3, 2), (0, 1). Padding is 0.
  %actual = ingot.conv_scaled_filter_grad %g, %x scale %scale shift %shift {channels_last, filter_channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<1x3x1x1xf16>, tensor<1x2x1x2xf16>, tensor<2xf16>, tensor<2xf16>) -> tensor<1x2x1x2xf16>
  %expected = ingot.constant dense<[[[[9.0, 5.0]], [[6.0, 7.0]]]]> : tensor<1x2x1x2xf16>
  return %actual, %expected : tensor<1x2x1x2xf16>, tensor<1x2x1x2xf16>
}

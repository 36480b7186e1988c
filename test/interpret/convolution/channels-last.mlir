// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Convolutions and their gradients with channels last, of data and filters, are
// what they are with channels first. Sums of small integers are exact in any
// precision and order.

// Channels of no multiple of eight, windows over the edge.
func.func @test_bf16() -> (tensor<2x8x4x6xbf16>, tensor<2x8x4x6xbf16>, tensor<2x3x7x6xbf16>, tensor<2x3x7x6xbf16>, tensor<8x3x3x2xbf16>, tensor<8x3x3x2xbf16>) {
  %x0 = ingot.iota {dim = 0 : i64} : tensor<252xi64>
  %x1 = ingot.constant dense<5> : tensor<252xi64>
  %x2 = ingot.rem %x0, %x1 : tensor<252xi64>
  %x3 = ingot.constant dense<2> : tensor<252xi64>
  %x4 = ingot.sub %x2, %x3 : tensor<252xi64>
  %x5 = ingot.cast %x4 : tensor<252xi64> -> tensor<252xbf16>
  %x = ingot.reshape %x5 : tensor<252xbf16> -> tensor<2x3x7x6xbf16>
  %w0 = ingot.iota {dim = 0 : i64} : tensor<144xi64>
  %w1 = ingot.constant dense<3> : tensor<144xi64>
  %w2 = ingot.rem %w0, %w1 : tensor<144xi64>
  %w3 = ingot.constant dense<1> : tensor<144xi64>
  %w4 = ingot.sub %w2, %w3 : tensor<144xi64>
  %w5 = ingot.cast %w4 : tensor<144xi64> -> tensor<144xbf16>
  %w = ingot.reshape %w5 : tensor<144xbf16> -> tensor<8x3x3x2xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<384xi64>
  %g1 = ingot.constant dense<3> : tensor<384xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<384xi64>
  %g3 = ingot.constant dense<1> : tensor<384xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<384xi64>
  %g5 = ingot.cast %g4 : tensor<384xi64> -> tensor<384xbf16>
  %g = ingot.reshape %g5 : tensor<384xbf16> -> tensor<2x8x4x6xbf16>
  %xl = ingot.transpose %x [0, 2, 3, 1] : (tensor<2x3x7x6xbf16>) -> tensor<2x7x6x3xbf16>
  %wl = ingot.transpose %w [0, 2, 3, 1] : (tensor<8x3x3x2xbf16>) -> tensor<8x3x2x3xbf16>
  %gl = ingot.transpose %g [0, 2, 3, 1] : (tensor<2x8x4x6xbf16>) -> tensor<2x4x6x8xbf16>
  %conv = ingot.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x3x7x6xbf16>, tensor<8x3x3x2xbf16>) -> tensor<2x8x4x6xbf16>
  %convl = ingot.conv %xl, %wl {channels_last, filter_channels_last, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x7x6x3xbf16>, tensor<8x3x2x3xbf16>) -> tensor<2x4x6x8xbf16>
  %convb = ingot.transpose %convl [0, 3, 1, 2] : (tensor<2x4x6x8xbf16>) -> tensor<2x8x4x6xbf16>
  %conv_input_grad = ingot.conv_input_grad %g, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x8x4x6xbf16>, tensor<8x3x3x2xbf16>) -> tensor<2x3x7x6xbf16>
  %conv_input_gradl = ingot.conv_input_grad %gl, %wl {channels_last, filter_channels_last, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x4x6x8xbf16>, tensor<8x3x2x3xbf16>) -> tensor<2x7x6x3xbf16>
  %conv_input_gradb = ingot.transpose %conv_input_gradl [0, 3, 1, 2] : (tensor<2x7x6x3xbf16>) -> tensor<2x3x7x6xbf16>
  %conv_filter_grad = ingot.conv_filter_grad %g, %x {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x8x4x6xbf16>, tensor<2x3x7x6xbf16>) -> tensor<8x3x3x2xbf16>
  %conv_filter_gradl = ingot.conv_filter_grad %gl, %xl {channels_last, filter_channels_last, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<2x4x6x8xbf16>, tensor<2x7x6x3xbf16>) -> tensor<8x3x2x3xbf16>
  %conv_filter_gradb = ingot.transpose %conv_filter_gradl [0, 3, 1, 2] : (tensor<8x3x2x3xbf16>) -> tensor<8x3x3x2xbf16>
  return %convb, %conv, %conv_input_gradb, %conv_input_grad, %conv_filter_gradb, %conv_filter_grad : tensor<2x8x4x6xbf16>, tensor<2x8x4x6xbf16>, tensor<2x3x7x6xbf16>, tensor<2x3x7x6xbf16>, tensor<8x3x3x2xbf16>, tensor<8x3x3x2xbf16>
}

// Sixteen channels in two groups.
func.func @test_f16_groups() -> (tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>, tensor<16x8x3x3xf16>, tensor<16x8x3x3xf16>) {
  %x0 = ingot.iota {dim = 0 : i64} : tensor<512xi64>
  %x1 = ingot.constant dense<5> : tensor<512xi64>
  %x2 = ingot.rem %x0, %x1 : tensor<512xi64>
  %x3 = ingot.constant dense<2> : tensor<512xi64>
  %x4 = ingot.sub %x2, %x3 : tensor<512xi64>
  %x5 = ingot.cast %x4 : tensor<512xi64> -> tensor<512xf16>
  %x = ingot.reshape %x5 : tensor<512xf16> -> tensor<2x16x4x4xf16>
  %w0 = ingot.iota {dim = 0 : i64} : tensor<1152xi64>
  %w1 = ingot.constant dense<3> : tensor<1152xi64>
  %w2 = ingot.rem %w0, %w1 : tensor<1152xi64>
  %w3 = ingot.constant dense<1> : tensor<1152xi64>
  %w4 = ingot.sub %w2, %w3 : tensor<1152xi64>
  %w5 = ingot.cast %w4 : tensor<1152xi64> -> tensor<1152xf16>
  %w = ingot.reshape %w5 : tensor<1152xf16> -> tensor<16x8x3x3xf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<512xi64>
  %g1 = ingot.constant dense<3> : tensor<512xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<512xi64>
  %g3 = ingot.constant dense<1> : tensor<512xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<512xi64>
  %g5 = ingot.cast %g4 : tensor<512xi64> -> tensor<512xf16>
  %g = ingot.reshape %g5 : tensor<512xf16> -> tensor<2x16x4x4xf16>
  %xl = ingot.transpose %x [0, 2, 3, 1] : (tensor<2x16x4x4xf16>) -> tensor<2x4x4x16xf16>
  %wl = ingot.transpose %w [0, 2, 3, 1] : (tensor<16x8x3x3xf16>) -> tensor<16x3x3x8xf16>
  %gl = ingot.transpose %g [0, 2, 3, 1] : (tensor<2x16x4x4xf16>) -> tensor<2x4x4x16xf16>
  %conv = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x16x4x4xf16>, tensor<16x8x3x3xf16>) -> tensor<2x16x4x4xf16>
  %convl = ingot.conv %xl, %wl {channels_last, filter_channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x4x16xf16>, tensor<16x3x3x8xf16>) -> tensor<2x4x4x16xf16>
  %convb = ingot.transpose %convl [0, 3, 1, 2] : (tensor<2x4x4x16xf16>) -> tensor<2x16x4x4xf16>
  %conv_input_grad = ingot.conv_input_grad %g, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x16x4x4xf16>, tensor<16x8x3x3xf16>) -> tensor<2x16x4x4xf16>
  %conv_input_gradl = ingot.conv_input_grad %gl, %wl {channels_last, filter_channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x4x16xf16>, tensor<16x3x3x8xf16>) -> tensor<2x4x4x16xf16>
  %conv_input_gradb = ingot.transpose %conv_input_gradl [0, 3, 1, 2] : (tensor<2x4x4x16xf16>) -> tensor<2x16x4x4xf16>
  %conv_filter_grad = ingot.conv_filter_grad %g, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>) -> tensor<16x8x3x3xf16>
  %conv_filter_gradl = ingot.conv_filter_grad %gl, %xl {channels_last, filter_channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x4x16xf16>, tensor<2x4x4x16xf16>) -> tensor<16x3x3x8xf16>
  %conv_filter_gradb = ingot.transpose %conv_filter_gradl [0, 3, 1, 2] : (tensor<16x3x3x8xf16>) -> tensor<16x8x3x3xf16>
  return %convb, %conv, %conv_input_gradb, %conv_input_grad, %conv_filter_gradb, %conv_filter_grad : tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>, tensor<2x16x4x4xf16>, tensor<16x8x3x3xf16>, tensor<16x8x3x3xf16>
}

// One dimension.
func.func @test_f32_line() -> (tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x4x9xf32>, tensor<2x4x9xf32>, tensor<6x2x3xf32>, tensor<6x2x3xf32>) {
  %x0 = ingot.iota {dim = 0 : i64} : tensor<72xi64>
  %x1 = ingot.constant dense<5> : tensor<72xi64>
  %x2 = ingot.rem %x0, %x1 : tensor<72xi64>
  %x3 = ingot.constant dense<2> : tensor<72xi64>
  %x4 = ingot.sub %x2, %x3 : tensor<72xi64>
  %x5 = ingot.cast %x4 : tensor<72xi64> -> tensor<72xf32>
  %x = ingot.reshape %x5 : tensor<72xf32> -> tensor<2x4x9xf32>
  %w0 = ingot.iota {dim = 0 : i64} : tensor<36xi64>
  %w1 = ingot.constant dense<3> : tensor<36xi64>
  %w2 = ingot.rem %w0, %w1 : tensor<36xi64>
  %w3 = ingot.constant dense<1> : tensor<36xi64>
  %w4 = ingot.sub %w2, %w3 : tensor<36xi64>
  %w5 = ingot.cast %w4 : tensor<36xi64> -> tensor<36xf32>
  %w = ingot.reshape %w5 : tensor<36xf32> -> tensor<6x2x3xf32>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<48xi64>
  %g1 = ingot.constant dense<3> : tensor<48xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<48xi64>
  %g3 = ingot.constant dense<1> : tensor<48xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<48xi64>
  %g5 = ingot.cast %g4 : tensor<48xi64> -> tensor<48xf32>
  %g = ingot.reshape %g5 : tensor<48xf32> -> tensor<2x6x4xf32>
  %xl = ingot.transpose %x [0, 2, 1] : (tensor<2x4x9xf32>) -> tensor<2x9x4xf32>
  %wl = ingot.transpose %w [0, 2, 1] : (tensor<6x2x3xf32>) -> tensor<6x3x2xf32>
  %gl = ingot.transpose %g [0, 2, 1] : (tensor<2x6x4xf32>) -> tensor<2x4x6xf32>
  %conv = ingot.conv %x, %w {strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 2>, groups = 2 : i64} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x4xf32>
  %convl = ingot.conv %xl, %wl {channels_last, filter_channels_last, strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 2>, groups = 2 : i64} : (tensor<2x9x4xf32>, tensor<6x3x2xf32>) -> tensor<2x4x6xf32>
  %convb = ingot.transpose %convl [0, 2, 1] : (tensor<2x4x6xf32>) -> tensor<2x6x4xf32>
  %conv_input_grad = ingot.conv_input_grad %g, %w {strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 2>, groups = 2 : i64} : (tensor<2x6x4xf32>, tensor<6x2x3xf32>) -> tensor<2x4x9xf32>
  %conv_input_gradl = ingot.conv_input_grad %gl, %wl {channels_last, filter_channels_last, strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 2>, groups = 2 : i64} : (tensor<2x4x6xf32>, tensor<6x3x2xf32>) -> tensor<2x9x4xf32>
  %conv_input_gradb = ingot.transpose %conv_input_gradl [0, 2, 1] : (tensor<2x9x4xf32>) -> tensor<2x4x9xf32>
  %conv_filter_grad = ingot.conv_filter_grad %g, %x {strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 2>, groups = 2 : i64} : (tensor<2x6x4xf32>, tensor<2x4x9xf32>) -> tensor<6x2x3xf32>
  %conv_filter_gradl = ingot.conv_filter_grad %gl, %xl {channels_last, filter_channels_last, strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 2>, groups = 2 : i64} : (tensor<2x4x6xf32>, tensor<2x9x4xf32>) -> tensor<6x3x2xf32>
  %conv_filter_gradb = ingot.transpose %conv_filter_gradl [0, 2, 1] : (tensor<6x3x2xf32>) -> tensor<6x2x3xf32>
  return %convb, %conv, %conv_input_gradb, %conv_input_grad, %conv_filter_gradb, %conv_filter_grad : tensor<2x6x4xf32>, tensor<2x6x4xf32>, tensor<2x4x9xf32>, tensor<2x4x9xf32>, tensor<6x2x3xf32>, tensor<6x2x3xf32>
}

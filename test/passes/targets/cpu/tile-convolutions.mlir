// RUN: ingot-opt %s --ingot-attach-target="arch=sapphirerapids" --ingot-place-steps --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v4" --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=VECTORS

// Tests which convolutions run on tile units: in bf16 with channels last, in all
// directions.
// VECTORS-NOT: math = tiles

// CHECK-LABEL: exec.step @directions
//       CHECK: exec.call @ingot_conv({{.*}}math = tiles
//       CHECK: exec.call @ingot_conv_input_grad({{.*}}math = tiles
//       CHECK: exec.call @ingot_conv_filter_grad({{.*}}math = tiles
func.func @directions(%x: tensor<8x16x16x64xbf16> {ingot.name = "x", ingot.kind = "data"},
                      %w: tensor<32x64x3x3xbf16> {ingot.name = "w", ingot.kind = "data"},
                      %g: tensor<8x16x16x32xbf16> {ingot.name = "g", ingot.kind = "data"})
    -> (tensor<8x16x16x32xbf16> {ingot.name = "y"}, tensor<8x16x16x64xbf16> {ingot.name = "d"},
        tensor<32x64x3x3xbf16> {ingot.name = "e"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x64xbf16>, tensor<32x64x3x3xbf16>) -> tensor<8x16x16x32xbf16>
  %1 = ingot.conv_input_grad %g, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x32xbf16>, tensor<32x64x3x3xbf16>) -> tensor<8x16x16x64xbf16>
  %2 = ingot.conv_filter_grad %g, %x {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x32xbf16>, tensor<8x16x16x64xbf16>) -> tensor<32x64x3x3xbf16>
  return %0, %1, %2 : tensor<8x16x16x32xbf16>, tensor<8x16x16x64xbf16>, tensor<32x64x3x3xbf16>
}

// -----

// A matmul of pixels is one of fp16, too, as sums of two numbers in bf16.
// CHECK-LABEL: exec.step @pixels_in_fp16
//       CHECK: exec.call @ingot_conv({{.*}}math = tiles
func.func @pixels_in_fp16(%x: tensor<8x16x16x64xf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<32x64x1x1xf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x16x16x32xf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<8x16x16x64xf16>, tensor<32x64x1x1xf16>) -> tensor<8x16x16x32xf16>
  return %0 : tensor<8x16x16x32xf16>
}

// -----

// Pixels are gathered where there are strides.
// CHECK-LABEL: exec.step @strided_pixels
//       CHECK: exec.call @ingot_conv({{.*}}math = tiles
func.func @strided_pixels(%x: tensor<8x16x16x64xf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<32x64x1x1xf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x8x8x32xf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<8x16x16x64xf16>, tensor<32x64x1x1xf16>) -> tensor<8x8x8x32xf16>
  return %0 : tensor<8x8x8x32xf16>
}

// -----

// Other convolutions are not.
// CHECK-LABEL: exec.step @windows_in_fp16
//   CHECK-NOT: math = tiles
func.func @windows_in_fp16(%x: tensor<8x16x16x64xf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<32x64x3x3xf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x16x16x32xf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x64xf16>, tensor<32x64x3x3xf16>) -> tensor<8x16x16x32xf16>
  return %0 : tensor<8x16x16x32xf16>
}

// -----

// Pixels are not next to each other.
// CHECK-LABEL: exec.step @channels_first
//   CHECK-NOT: math = tiles
func.func @channels_first(%x: tensor<8x64x16x16xbf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<32x64x3x3xbf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x32x16x16xbf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x64x16x16xbf16>, tensor<32x64x3x3xbf16>) -> tensor<8x32x16x16xbf16>
  return %0 : tensor<8x32x16x16xbf16>
}

// -----

// A register would have one channel.
// CHECK-LABEL: exec.step @depthwise
//   CHECK-NOT: math = tiles
func.func @depthwise(%x: tensor<8x16x16x64xbf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<64x1x3x3xbf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x16x16x64xbf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 64 : i64} : (tensor<8x16x16x64xbf16>, tensor<64x1x3x3xbf16>) -> tensor<8x16x16x64xbf16>
  return %0 : tensor<8x16x16x64xbf16>
}

// -----

// Channels of a group are no pairs.
// CHECK-LABEL: exec.step @odd_groups
//   CHECK-NOT: math = tiles
func.func @odd_groups(%x: tensor<8x16x16x66xbf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<32x33x3x3xbf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x16x16x32xbf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 2 : i64} : (tensor<8x16x16x66xbf16>, tensor<32x33x3x3xbf16>) -> tensor<8x16x16x32xbf16>
  return %0 : tensor<8x16x16x32xbf16>
}

// -----

// An odd number of channels has a zero behind it.
// CHECK-LABEL: exec.step @pictures
//       CHECK: exec.call @ingot_conv({{.*}}math = tiles
func.func @pictures(%x: tensor<8x16x16x3xbf16> {ingot.name = "x", ingot.kind = "data"},
           %w: tensor<32x3x3x3xbf16> {ingot.name = "w", ingot.kind = "data"}) -> (tensor<8x16x16x32xbf16> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x3xbf16>, tensor<32x3x3x3xbf16>) -> tensor<8x16x16x32xbf16>
  return %0 : tensor<8x16x16x32xbf16>
}

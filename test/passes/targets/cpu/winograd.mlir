// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3" --ingot-place-steps | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3 exact-math=true" --ingot-place-steps | FileCheck %s --check-prefix=EXACT

// Tests which convolutions Winograd's algorithm computes, in all directions:
// 3 x 3 without strides, unless --exact-math is given.
// EXACT-NOT: math = winograd

// CHECK-LABEL: exec.step @filters
//       CHECK: exec.call @ingot_conv({{.*}}math = winograd
//       CHECK: exec.call @ingot_conv_input_grad({{.*}}math = winograd
//       CHECK: exec.call @ingot_conv_filter_grad({{.*}}math = winograd
func.func @filters(%x: tensor<8x16x16x64xf32> {ingot.name = "x", ingot.kind = "data"},
                   %w: tensor<32x64x3x3xf32> {ingot.name = "w", ingot.kind = "data"},
                   %g: tensor<8x16x16x32xf32> {ingot.name = "g", ingot.kind = "data"})
    -> (tensor<8x16x16x32xf32> {ingot.name = "y"}, tensor<8x16x16x64xf32> {ingot.name = "d"},
        tensor<32x64x3x3xf32> {ingot.name = "e"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x64xf32>, tensor<32x64x3x3xf32>) -> tensor<8x16x16x32xf32>
  %1 = ingot.conv_input_grad %g, %w {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x32xf32>, tensor<32x64x3x3xf32>) -> tensor<8x16x16x64xf32>
  %2 = ingot.conv_filter_grad %g, %x {channels_last, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x32xf32>, tensor<8x16x16x64xf32>) -> tensor<32x64x3x3xf32>
  return %0, %1, %2 : tensor<8x16x16x32xf32>, tensor<8x16x16x64xf32>, tensor<32x64x3x3xf32>
}

// CHECK-LABEL: exec.step @strided_filters
//   CHECK-NOT: math = winograd
func.func @strided_filters(%x: tensor<8x16x16x64xf32> {ingot.name = "x", ingot.kind = "data"},
                           %w: tensor<32x64x3x3xf32> {ingot.name = "w", ingot.kind = "data"})
    -> (tensor<8x8x8x32xf32> {ingot.name = "y"}) {
  %0 = ingot.conv %x, %w {channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x16x64xf32>, tensor<32x64x3x3xf32>) -> tensor<8x8x8x32xf32>
  return %0 : tensor<8x8x8x32xf32>
}

// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3" --ingot-place-steps | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3 exact-math=true" --ingot-place-steps | FileCheck %s --check-prefix=EXACT

// Tests which convolutions Strassen's algorithm computes.
// EXACT-NOT: math = strassen

// The pixels of a convolution with strides are gathered for the filter's
// gradient, which is a matmul then; gathering them for the forward pass would
// take the time that is saved.
// CHECK-LABEL: exec.step @strided_filters
//       CHECK: exec.call @ingot_conv({{.*}}filter_channels_last = 1>
//       CHECK: exec.call @ingot_conv_filter_grad({{.*}}math = strassen
func.func @strided_filters(%x: tensor<16x28x28x512xf32> {ingot.name = "x", ingot.kind = "data"},
                           %w: tensor<1024x1x1x512xf32> {ingot.name = "w", ingot.kind = "data"},
                           %g: tensor<16x14x14x1024xf32> {ingot.name = "g", ingot.kind = "data"})
    -> (tensor<16x14x14x1024xf32> {ingot.name = "y"}, tensor<1024x1x1x512xf32> {ingot.name = "d"}) {
  %0 = ingot.conv %x, %w {channels_last, filter_channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<16x28x28x512xf32>, tensor<1024x1x1x512xf32>) -> tensor<16x14x14x1024xf32>
  %1 = ingot.conv_filter_grad %g, %x {channels_last, filter_channels_last, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<16x14x14x1024xf32>, tensor<16x28x28x512xf32>) -> tensor<1024x1x1x512xf32>
  return %0, %1 : tensor<16x14x14x1024xf32>, tensor<1024x1x1x512xf32>
}

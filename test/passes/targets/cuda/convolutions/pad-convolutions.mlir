// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-pad-convolutions | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-pad-convolutions --remarks-filter=pad-convolutions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Tests that an input is padded by an op where cuDNN's gradient by the filter
// is wrong: in groups, with other padding before than after.
// CHECK-LABEL: func @uneven
//       CHECK: %[[X:.*]] = ingot.pad %arg1 low = [0, 0, 0, 1] high = [0, 0, 2, 0] interior = [0, 0, 0, 0] value = 0.000000e+00 {{.*}} -> tensor<1x4x5x5xf32>
//       CHECK: ingot.conv_filter_grad %arg0, %[[X]] {{.*}}pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 1>
// REMARK: [Missed] Padding{{.*}}wrong in groups with other padding before than after
func.func @uneven(%dy: tensor<1x4x4x6xf32>, %x: tensor<1x4x3x4xf32>) -> tensor<4x2x2x2xf32> {
  %0 = ingot.conv_filter_grad %dy, %x {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 2, 1>, pad_low = array<i64: 0, 2>, strides = array<i64: 1, 1>} : (tensor<1x4x4x6xf32>, tensor<1x4x3x4xf32>) -> tensor<4x2x2x2xf32>
  return %0 : tensor<4x2x2x2xf32>
}

// CHECK-LABEL: func @channels_last
//       CHECK: ingot.pad %arg1 low = [0, 0, 0, 0] high = [0, 1, 0, 0]
// REMARK: [Missed] Padding
func.func @channels_last(%dy: tensor<1x3x3x4xf16>, %x: tensor<1x3x4x4xf16>) -> tensor<4x1x2x2xf16> {
  %0 = ingot.conv_filter_grad %dy, %x {channels_last, dilations = array<i64: 1, 1>, groups = 4 : i64, pad_high = array<i64: 1, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x3x4xf16>, tensor<1x3x4x4xf16>) -> tensor<4x1x2x2xf16>
  return %0 : tensor<4x1x2x2xf16>
}

// With even padding, or in one group, it stays.
// CHECK-LABEL: func @even
//   CHECK-NOT: ingot.pad
// REMARK-NOT: remark:
func.func @even(%dy: tensor<1x4x4x4xf32>, %x: tensor<1x4x3x3xf32>, %one: tensor<1x4x3x3xf32>) -> (tensor<4x2x2x2xf32>, tensor<4x4x2x2xf32>) {
  %0 = ingot.conv_filter_grad %dy, %x {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<1x4x3x3xf32>) -> tensor<4x2x2x2xf32>
  %1 = ingot.conv_filter_grad %one, %x {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<4x4x2x2xf32>
  return %0, %1 : tensor<4x2x2x2xf32>, tensor<4x4x2x2xf32>
}

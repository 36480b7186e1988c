// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-widen-convolutions | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-widen-convolutions --remarks-filter=widen-convolutions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Tests that a gradient of which cuDNN has a wrong one in 16 bits is computed
// in f32: in groups, of volumes, with other padding before than after.
// CHECK-LABEL: func @uneven
//       CHECK: %[[DY:.*]] = ingot.cast %arg0 : {{.*}} -> tensor<1x4x3x3x3xf32>
//       CHECK: %[[X:.*]] = ingot.cast %arg1 : {{.*}} -> tensor<1x4x3x3x3xf32>
//       CHECK: %[[R:.*]] = ingot.conv_filter_grad %[[DY]], %[[X]] {{.*}} -> tensor<4x2x2x2x2xf32>
//       CHECK: ingot.cast %[[R]] : tensor<4x2x2x2x2xf32> -> tensor<4x2x2x2x2xbf16>
// REMARK: [Missed] Precision{{.*}}wrong for volumes in groups
func.func @uneven(%dy: tensor<1x4x3x3x3xbf16>, %x: tensor<1x4x3x3x3xbf16>) -> tensor<4x2x2x2x2xbf16> {
  %0 = ingot.conv_filter_grad %dy, %x {dilations = array<i64: 1, 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x4x3x3x3xbf16>, tensor<1x4x3x3x3xbf16>) -> tensor<4x2x2x2x2xbf16>
  return %0 : tensor<4x2x2x2x2xbf16>
}

// With even padding, or in one group, it stays.
// CHECK-LABEL: func @even
//   CHECK-NOT: ingot.cast
// REMARK-NOT: remark:
func.func @even(%dy: tensor<1x4x4x4x4xbf16>, %x: tensor<1x4x3x3x3xbf16>, %one: tensor<1x4x3x3x3xbf16>) -> (tensor<4x2x2x2x2xbf16>, tensor<4x4x2x2x2xbf16>) {
  %0 = ingot.conv_filter_grad %dy, %x {dilations = array<i64: 1, 1, 1>, groups = 2 : i64, pad_high = array<i64: 1, 1, 1>, pad_low = array<i64: 1, 1, 1>, strides = array<i64: 1, 1, 1>} : (tensor<1x4x4x4x4xbf16>, tensor<1x4x3x3x3xbf16>) -> tensor<4x2x2x2x2xbf16>
  %1 = ingot.conv_filter_grad %one, %x {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x4x3x3x3xbf16>, tensor<1x4x3x3x3xbf16>) -> tensor<4x4x2x2x2xbf16>
  return %0, %1 : tensor<4x2x2x2x2xbf16>, tensor<4x4x2x2x2xbf16>
}

// RUN: ingot-opt %s --ingot-choose-layouts --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-choose-layouts --split-input-file --remarks-filter=choose-layouts --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-choose-layouts --split-input-file | FileCheck %s --check-prefix=DEVICE
// RUN: ingot-opt %s --ingot-attach-target="target=cuda tf32" --ingot-choose-layouts --split-input-file | FileCheck %s --check-prefix=TF32
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-choose-layouts --split-input-file --remarks-filter=choose-layouts --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=DEVICE-REMARK

// From convolution to convolution no element moves: broadcasts of channels,
// constants and reductions over positions take the order for nothing.
// REMARK: remark: {{.*}}layout=channels_last
// A device's library is as fast with channels first in f32.
// DEVICE-REMARK: remark: {{.*}}no other layout is known to be faster
// DEVICE-LABEL: func.func @chain
// DEVICE-NOT: transpose
// DEVICE: return
// Rounded f32 is on tensor cores, as half precision.
// TF32-LABEL: func.func @chain
// TF32-DAG: %[[X:.+]] = ingot.transpose %arg0 [0, 2, 3, 1]
// TF32-DAG: %[[W:.+]] = ingot.transpose %arg1 [0, 2, 3, 1] : (tensor<16x3x3x3xf32>) -> tensor<16x3x3x3xf32>
// TF32: ingot.conv %[[X]], %[[W]] {channels_last, {{.*}}filter_channels_last
// CHECK-LABEL: func.func @chain
// CHECK: %[[X:.+]] = ingot.transpose %arg0 [0, 2, 3, 1]
// CHECK: %[[A:.+]] = ingot.conv %[[X]], %arg1 {channels_last
// CHECK: %[[B:.+]] = ingot.broadcast %arg2 dims = [3]
// CHECK: %[[C:.+]] = ingot.add %[[A]], %[[B]] : tensor<8x10x10x16xf32>
// CHECK: %[[Z:.+]] = ingot.constant dense<0.000000e+00> : tensor<8x10x10x16xf32>
// CHECK: %[[D:.+]] = ingot.max %[[C]], %[[Z]]
// CHECK: %[[E:.+]] = ingot.conv %[[D]], %arg3 {channels_last
// CHECK: %[[F:.+]] = ingot.add %[[E]], %[[D]]
// CHECK-NOT: transpose
// CHECK: ingot.reduce sum %[[F]] dims = [1, 2] : (tensor<8x10x10x16xf32>) -> tensor<8x16xf32>
func.func @chain(%x: tensor<8x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<16xf32>, %w2: tensor<16x16x3x3xf32>) -> tensor<8x16xf32> {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x3x10x10xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x10x10xf32>
  %bb = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<8x16x10x10xf32>
  %1 = ingot.add %0, %bb : tensor<8x16x10x10xf32>
  %z = ingot.constant dense<0.0> : tensor<8x16x10x10xf32>
  %2 = ingot.max %1, %z : tensor<8x16x10x10xf32>
  %3 = ingot.conv %2, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x10x10xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x10x10xf32>
  %4 = ingot.add %3, %2 : tensor<8x16x10x10xf32>
  %5 = ingot.reduce sum %4 dims = [2, 3] : (tensor<8x16x10x10xf32>) -> tensor<8x16xf32>
  return %5 : tensor<8x16xf32>
}

// -----

// The gradients; the filter's gradient is in the order of the filter. What
// leaves the function, and what cannot be in the order, is transposed back.
// CHECK-LABEL: func.func @gradients
// CHECK-DAG: %[[G:.+]] = ingot.transpose %arg0 [0, 2, 3, 1]
// CHECK-DAG: %[[X:.+]] = ingot.transpose %arg1 [0, 2, 3, 1]
// CHECK: ingot.conv_filter_grad %[[G]], %[[X]] {channels_last{{.*}} -> tensor<16x3x3x3xf32>
// CHECK: %[[D:.+]] = ingot.conv_input_grad %[[G]], %arg2 {channels_last{{.*}} -> tensor<8x10x10x3xf32>
// CHECK: %[[B:.+]] = ingot.transpose %[[D]] [0, 3, 1, 2]
// CHECK: ingot.reduce sum %[[B]] dims = [2]
// CHECK: ingot.reshape %[[B]]
func.func @gradients(%g: tensor<8x16x10x10xf32>, %x: tensor<8x3x10x10xf32>, %w: tensor<16x3x3x3xf32>) -> (tensor<16x3x3x3xf32>, tensor<8x3x10xf32>, tensor<8x300xf32>) {
  %0 = ingot.conv_filter_grad %g, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x10x10xf32>, tensor<8x3x10x10xf32>) -> tensor<16x3x3x3xf32>
  %1 = ingot.conv_input_grad %g, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x16x10x10xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x10x10xf32>
  %2 = ingot.reduce sum %1 dims = [2] : (tensor<8x3x10x10xf32>) -> tensor<8x3x10xf32>
  %3 = ingot.reshape %1 : tensor<8x3x10x10xf32> -> tensor<8x300xf32>
  return %0, %2, %3 : tensor<16x3x3x3xf32>, tensor<8x3x10xf32>, tensor<8x300xf32>
}

// -----

// Pooling and shape ops follow, and a small convolution between larger ones.
// CHECK-LABEL: func.func @followers
// CHECK: ingot.conv {{.*}} -> tensor<2x6x4x16xf32>
// CHECK: ingot.max_pool {{.*}} {channels_last{{.*}} -> (tensor<2x3x2x16xf32>, tensor<2x3x2x16xi64>)
// CHECK: ingot.slice {{.*}} starts = [0, 1, 0, 2] limits = [2, 3, 2, 10] strides = [1, 1, 1, 2]
// CHECK: ingot.pad {{.*}} low = [0, 1, 2, 0] high = [0, 0, 0, 3]
// CHECK: ingot.concat {{.*}} dim = 3
// CHECK: ingot.reverse {{.*}} dims = [1, 3]
// CHECK: ingot.conv {{.*}} {channels_last{{.*}} -> tensor<2x3x4x4xf32>
// CHECK: ingot.transpose {{.*}} [0, 3, 1, 2]
func.func @followers(%x: tensor<2x16x6x4xf32>, %w: tensor<16x16x1x1xf32>, %w2: tensor<4x14x1x1xf32>) -> tensor<2x4x3x4xf32> {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x6x4xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x6x4xf32>
  %1:2 = ingot.max_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : (tensor<2x16x6x4xf32>) -> (tensor<2x16x3x2xf32>, tensor<2x16x3x2xi64>)
  %2 = ingot.slice %1#0 starts = [0, 2, 1, 0] limits = [2, 10, 3, 2] strides = [1, 2, 1, 1] : (tensor<2x16x3x2xf32>) -> tensor<2x4x2x2xf32>
  %3 = ingot.pad %2 low = [0, 0, 1, 2] high = [0, 3, 0, 0] interior = [0, 0, 0, 0] value = 0.0 : (tensor<2x4x2x2xf32>) -> tensor<2x7x3x4xf32>
  %4 = ingot.concat %3, %3 dim = 1 : (tensor<2x7x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x14x3x4xf32>
  %5 = ingot.reverse %4 dims = [1, 2] : tensor<2x14x3x4xf32>
  %6 = ingot.conv %5, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x14x3x4xf32>, tensor<4x14x1x1xf32>) -> tensor<2x4x3x4xf32>
  return %6 : tensor<2x4x3x4xf32>
}

// -----

// Few channels do not fill a vector. Tensor cores take them so as well.
// REMARK: remark: {{.*}}no other layout is known to be faster
// CHECK-LABEL: func.func @few_channels
// CHECK-NOT: channels_last
// TF32-LABEL: func.func @few_channels
// TF32: ingot.conv {{.*}} {channels_last
func.func @few_channels(%x: tensor<2x3x6x6xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<2x4x6x6xf32> {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x6x6xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x6x6xf32>
  return %0 : tensor<2x4x6x6xf32>
}

// -----

// A broadcast whose dimensions would change places stays outside.
// CHECK-LABEL: func.func @broadcast_outside
// CHECK: %[[B:.+]] = ingot.broadcast %arg2 dims = [1, 2]
// CHECK: ingot.transpose %[[B]] [0, 2, 3, 1]
func.func @broadcast_outside(%x: tensor<2x16x6x5xf32>, %w: tensor<16x16x1x1xf32>, %b: tensor<16x6xf32>) -> tensor<2x16xf32> {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x6x5xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x6x5xf32>
  %1 = ingot.broadcast %b dims = [1, 2] : tensor<16x6xf32> -> tensor<2x16x6x5xf32>
  %2 = ingot.mul %0, %1 : tensor<2x16x6x5xf32>
  %3 = ingot.reduce sum %2 dims = [2, 3] : (tensor<2x16x6x5xf32>) -> tensor<2x16xf32>
  return %3 : tensor<2x16xf32>
}

// -----

// On a device half precision has channels last however few they are, and so
// have its filters: transposed once for a convolution and a gradient, and back
// where a filter's gradient leaves. What reads that keeps its order.
// DEVICE-REMARK: remark: {{.*}}layout=channels_last
// DEVICE-LABEL: func.func @halves
// DEVICE-DAG: %[[X:.+]] = ingot.transpose %arg0 [0, 2, 3, 1] : (tensor<8x3x6x6xbf16>) -> tensor<8x6x6x3xbf16>
// DEVICE-DAG: %[[W:.+]] = ingot.transpose %arg1 [0, 2, 3, 1] : (tensor<4x3x1x2xbf16>) -> tensor<4x1x2x3xbf16>
// DEVICE: %[[Y:.+]] = ingot.conv %[[X]], %[[W]] {channels_last, {{.*}}filter_channels_last
// DEVICE: %[[T:.+]] = ingot.tanh %[[Y]] : tensor<8x6x5x4xbf16>
// DEVICE: %[[DX:.+]] = ingot.conv_input_grad %[[T]], %[[W]] {channels_last, {{.*}}filter_channels_last
// DEVICE: %[[DW:.+]] = ingot.conv_filter_grad %[[T]], %[[X]] {channels_last, {{.*}}filter_channels_last{{.*}} -> tensor<4x1x2x3xbf16>
// DEVICE: %[[BACK:.+]] = ingot.transpose %[[DW]] [0, 3, 1, 2] : (tensor<4x1x2x3xbf16>) -> tensor<4x3x1x2xbf16>
// DEVICE: ingot.add %[[BACK]], %arg1
// CHECK-LABEL: func.func @halves
// CHECK-NOT: channels_last
func.func @halves(%x: tensor<8x3x6x6xbf16>, %w: tensor<4x3x1x2xbf16>) -> (tensor<8x3x6x6xbf16>, tensor<4x3x1x2xbf16>) {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<8x3x6x6xbf16>, tensor<4x3x1x2xbf16>) -> tensor<8x4x6x5xbf16>
  %1 = ingot.tanh %0 : tensor<8x4x6x5xbf16>
  %2 = ingot.conv_input_grad %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<8x4x6x5xbf16>, tensor<4x3x1x2xbf16>) -> tensor<8x3x6x6xbf16>
  %3 = ingot.conv_filter_grad %1, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<8x4x6x5xbf16>, tensor<8x3x6x6xbf16>) -> tensor<4x3x1x2xbf16>
  %4 = ingot.add %3, %w : tensor<4x3x1x2xbf16>
  return %2, %4 : tensor<8x3x6x6xbf16>, tensor<4x3x1x2xbf16>
}

// -----

// f64 is on no tensor cores that round.
// TF32-LABEL: func.func @doubles
// TF32-NOT: channels_last
// TF32: return
func.func @doubles(%x: tensor<2x16x6x6xf64>, %w: tensor<16x16x1x1xf64>) -> tensor<2x16x6x6xf64> {
  %0 = ingot.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x6x6xf64>, tensor<16x16x1x1xf64>) -> tensor<2x16x6x6xf64>
  return %0 : tensor<2x16x6x6xf64>
}

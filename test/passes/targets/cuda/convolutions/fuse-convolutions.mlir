// RUN: ingot-opt %s --split-input-file "--ingot-attach-target=target=cuda arch=sm_90" --ingot-fuse-convolutions | FileCheck %s
// RUN: ingot-opt %s --split-input-file "--ingot-attach-target=target=cuda arch=sm_80" --ingot-fuse-convolutions | FileCheck %s
// RUN: ingot-opt %s --split-input-file "--ingot-attach-target=target=cuda arch=sm_90" --ingot-fuse-convolutions --remarks-filter=fuse-convolutions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --split-input-file "--ingot-attach-target=target=cuda arch=sm_100" --ingot-fuse-convolutions | FileCheck %s --check-prefix=LATER

// Two convolutions with batch normalization and ReLU between them, and the
// gradient of the second filter. The sum of squares is computed from the sums.
// Later architectures have no such kernels whose sums are the same every time.
//   REMARK: [Passed] Statistics{{.*}}bytes=8192, sums=2
//   REMARK: [Passed] Statistics{{.*}}bytes=4096, sums=1
//   REMARK: [Passed] Normalization{{.*}}bytes=4096, readers=2
// CHECK-LABEL: func @normalized
//  CHECK-SAME: (%[[X:[^:]*]]: {{[^,]*}}, %[[W1:[^:]*]]: {{[^,]*}}, %[[W2:[^:]*]]: {{[^,]*}}, %[[G:[^:]*]]:
//       CHECK: %[[Y:.*]], %[[S:.*]], %[[Q:.*]] = ingot.conv_statistics %[[X]], %[[W1]] {{{.*}}} : (tensor<2x8x8x8xf16>, tensor<16x3x3x8xf16>) -> (tensor<2x8x8x16xf16>, tensor<16xf32>, tensor<16xf32>)
//       CHECK: ingot.mul %[[S]],
//   CHECK-NOT: ingot.reduce
//       CHECK: ingot.cast %[[Q]] : tensor<16xf32> -> tensor<16xf64>
//       CHECK: ingot.max {{.*}} : tensor<16xf64>
//       CHECK: %[[SCALE:.*]] = ingot.cast {{.*}} : tensor<16xf32> -> tensor<16xf16>
//       CHECK: %[[SHIFT:.*]] = ingot.cast {{.*}} : tensor<16xf32> -> tensor<16xf16>
//   CHECK-NOT: tensor<2x8x8x16xf32>
//       CHECK: ingot.conv_statistics %[[Y]], %[[W2]] scale %[[SCALE]] shift %[[SHIFT]] {
//       CHECK: ingot.conv_scaled_filter_grad %[[G]], %[[Y]] scale %[[SCALE]] shift %[[SHIFT]] {
// LATER-LABEL: func @normalized
//   LATER-NOT: ingot.conv_{{s}}
func.func @normalized(%x: tensor<2x8x8x8xf16>, %w1: tensor<16x3x3x8xf16>, %w2: tensor<16x1x1x16xf16>, %g: tensor<2x8x8x16xf16>, %gamma: tensor<16xf32>, %beta: tensor<16xf32>) -> (tensor<2x8x8x16xf16>, tensor<16xf32>, tensor<16x1x1x16xf16>, tensor<16xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<2x8x8x16xf32>
  %n = ingot.constant dense<0.0078125> : tensor<16xf32>
  %eps = ingot.constant dense<1.0e-5> : tensor<16xf32>
  %0 = ingot.conv %x, %w1 {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x8x8x8xf16>, tensor<16x3x3x8xf16>) -> tensor<2x8x8x16xf16>
  %1 = ingot.cast %0 : tensor<2x8x8x16xf16> -> tensor<2x8x8x16xf32>
  %2 = ingot.reduce sum %1 dims = [0, 1, 2] : (tensor<2x8x8x16xf32>) -> tensor<16xf32>
  %3 = ingot.mul %2, %n : tensor<16xf32>
  %4 = ingot.broadcast %3 dims = [3] : tensor<16xf32> -> tensor<2x8x8x16xf32>
  %5 = ingot.sub %1, %4 : tensor<2x8x8x16xf32>
  %6 = ingot.mul %5, %5 : tensor<2x8x8x16xf32>
  %7 = ingot.reduce sum %6 dims = [0, 1, 2] : (tensor<2x8x8x16xf32>) -> tensor<16xf32>
  %8 = ingot.mul %7, %n : tensor<16xf32>
  %9 = ingot.add %8, %eps : tensor<16xf32>
  %10 = ingot.rsqrt %9 : tensor<16xf32>
  %11 = ingot.broadcast %10 dims = [3] : tensor<16xf32> -> tensor<2x8x8x16xf32>
  %12 = ingot.mul %5, %11 : tensor<2x8x8x16xf32>
  %13 = ingot.broadcast %gamma dims = [3] : tensor<16xf32> -> tensor<2x8x8x16xf32>
  %14 = ingot.mul %12, %13 : tensor<2x8x8x16xf32>
  %15 = ingot.broadcast %beta dims = [3] : tensor<16xf32> -> tensor<2x8x8x16xf32>
  %16 = ingot.add %14, %15 : tensor<2x8x8x16xf32>
  %17 = ingot.max %16, %zero : tensor<2x8x8x16xf32>
  %18 = ingot.cast %17 : tensor<2x8x8x16xf32> -> tensor<2x8x8x16xf16>
  %19 = ingot.conv %18, %w2 {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x8x8x16xf16>, tensor<16x1x1x16xf16>) -> tensor<2x8x8x16xf16>
  %20 = ingot.cast %19 : tensor<2x8x8x16xf16> -> tensor<2x8x8x16xf32>
  %21 = ingot.reduce sum %20 dims = [0, 1, 2] : (tensor<2x8x8x16xf32>) -> tensor<16xf32>
  %22 = ingot.conv_filter_grad %g, %18 {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x8x8x16xf16>, tensor<2x8x8x16xf16>) -> tensor<16x1x1x16xf16>
  return %19, %21, %22, %8 : tensor<2x8x8x16xf16>, tensor<16xf32>, tensor<16x1x1x16xf16>, tensor<16xf32>
}

// -----

// A tensor that others read has to be stored: here the sum of a residual block.
//   REMARK: [Passed] Statistics
//   REMARK: [Missed] Normalization{{.*}}the normalized tensor has other readers
// CHECK-LABEL: func @other_readers
//       CHECK: %[[A:.*]] = ingot.cast {{.*}} -> tensor<2x4x4x8xf16>
//       CHECK: ingot.conv_statistics %[[A]], %{{.*}} {
//       CHECK: return %{{.*}}, %{{.*}}, %[[A]]
func.func @other_readers(%y: tensor<2x4x4x8xf16>, %w: tensor<8x1x1x8xf16>, %scale: tensor<8xf32>) -> (tensor<2x4x4x8xf16>, tensor<8xf32>, tensor<2x4x4x8xf16>) {
  %zero = ingot.constant dense<0.0> : tensor<2x4x4x8xf32>
  %p = ingot.conv %y, %w {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x8xf16>, tensor<8x1x1x8xf16>) -> tensor<2x4x4x8xf16>
  %0 = ingot.cast %p : tensor<2x4x4x8xf16> -> tensor<2x4x4x8xf32>
  %1 = ingot.broadcast %scale dims = [3] : tensor<8xf32> -> tensor<2x4x4x8xf32>
  %2 = ingot.mul %0, %1 : tensor<2x4x4x8xf32>
  %3 = ingot.max %2, %zero : tensor<2x4x4x8xf32>
  %4 = ingot.cast %3 : tensor<2x4x4x8xf32> -> tensor<2x4x4x8xf16>
  %5 = ingot.conv %4, %w {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x8xf16>, tensor<8x1x1x8xf16>) -> tensor<2x4x4x8xf16>
  %6 = ingot.cast %5 : tensor<2x4x4x8xf16> -> tensor<2x4x4x8xf32>
  %7 = ingot.reduce sum %6 dims = [0, 1, 2] : (tensor<2x4x4x8xf32>) -> tensor<8xf32>
  return %5, %7, %4 : tensor<2x4x4x8xf16>, tensor<8xf32>, tensor<2x4x4x8xf16>
}

// -----

// What the library has no kernel for stays as it is: another element type, and
// channels that are no multiple of 8.
//   REMARK: [Missed] Statistics{{.*}}in fp16 only
// CHECK-LABEL: func @bf16
//       CHECK: ingot.conv %
//       CHECK: ingot.reduce sum
func.func @bf16(%y: tensor<2x4x4x8xbf16>, %w: tensor<8x1x1x8xbf16>) -> (tensor<2x4x4x8xbf16>, tensor<8xf32>) {
  %0 = ingot.conv %y, %w {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x8xbf16>, tensor<8x1x1x8xbf16>) -> tensor<2x4x4x8xbf16>
  %1 = ingot.cast %0 : tensor<2x4x4x8xbf16> -> tensor<2x4x4x8xf32>
  %2 = ingot.reduce sum %1 dims = [0, 1, 2] : (tensor<2x4x4x8xf32>) -> tensor<8xf32>
  return %0, %2 : tensor<2x4x4x8xbf16>, tensor<8xf32>
}

// -----

//   REMARK: [Missed] Statistics{{.*}}multiples of 8 channels only
// CHECK-LABEL: func @channels
//       CHECK: ingot.conv %
func.func @channels(%y: tensor<2x4x4x3xf16>, %w: tensor<8x1x1x3xf16>) -> (tensor<2x4x4x8xf16>, tensor<8xf32>) {
  %0 = ingot.conv %y, %w {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x3xf16>, tensor<8x1x1x3xf16>) -> tensor<2x4x4x8xf16>
  %1 = ingot.cast %0 : tensor<2x4x4x8xf16> -> tensor<2x4x4x8xf32>
  %2 = ingot.reduce sum %1 dims = [0, 1, 2] : (tensor<2x4x4x8xf32>) -> tensor<8xf32>
  return %0, %2 : tensor<2x4x4x8xf16>, tensor<8xf32>
}

// -----

// A sum of products with another tensor, such as a gradient's, and a sum over
// fewer dimensions, are not sums of the result.
// CHECK-LABEL: func @other_sums
//       CHECK: ingot.conv %
//       CHECK: ingot.reduce sum
//       CHECK: ingot.reduce sum
func.func @other_sums(%y: tensor<2x4x4x8xf16>, %w: tensor<8x1x1x8xf16>, %g: tensor<2x4x4x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  %0 = ingot.conv %y, %w {channels_last, filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x8xf16>, tensor<8x1x1x8xf16>) -> tensor<2x4x4x8xf16>
  %1 = ingot.cast %0 : tensor<2x4x4x8xf16> -> tensor<2x4x4x8xf32>
  %2 = ingot.mul %1, %g : tensor<2x4x4x8xf32>
  %3 = ingot.reduce sum %2 dims = [0, 1, 2] : (tensor<2x4x4x8xf32>) -> tensor<8xf32>
  %4 = ingot.reduce sum %1 dims = [1, 2] : (tensor<2x4x4x8xf32>) -> tensor<2x8xf32>
  return %3, %4 : tensor<8xf32>, tensor<2x8xf32>
}

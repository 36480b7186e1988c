// RUN: ingot-opt %s --ingot-split-reductions --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-split-reductions --split-input-file --remarks-filter=split-reductions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Statistics of channels: each image on its own, then over images.
// REMARK: remark: {{.*}}parallel
// CHECK-LABEL: func.func @channels
// CHECK: %[[A:.+]] = ingot.reduce sum %arg0 dims = [1, 2] : (tensor<64x32x32x64xf32>) -> tensor<64x64xf32>
// CHECK: %[[B:.+]] = ingot.reduce sum %[[A]] dims = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
// CHECK: return %[[B]]
func.func @channels(%x: tensor<64x32x32x64xf32>) -> tensor<64xf32> {
  %0 = ingot.reduce sum %x dims = [0, 1, 2] : (tensor<64x32x32x64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Kept dimensions in between stay where they are.
// CHECK-LABEL: func.func @channelsFirst
// CHECK: %[[A:.+]] = ingot.reduce max %arg0 dims = [2] : (tensor<64x4x4096xf32>) -> tensor<64x4xf32>
// CHECK: ingot.reduce max %[[A]] dims = [0] : (tensor<64x4xf32>) -> tensor<4xf32>
func.func @channelsFirst(%x: tensor<64x4x4096xf32>) -> tensor<4xf32> {
  %0 = ingot.reduce max %x dims = [0, 2] : (tensor<64x4x4096xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// As many dimensions as it takes.
// CHECK-LABEL: func.func @everything
// CHECK: %[[A:.+]] = ingot.reduce sum %arg0 dims = [2] : (tensor<4x8x4096xf32>) -> tensor<4x8xf32>
// CHECK: ingot.reduce sum %[[A]] dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
func.func @everything(%x: tensor<4x8x4096xf32>) -> tensor<f32> {
  %0 = ingot.reduce sum %x dims = [0, 1, 2] : (tensor<4x8x4096xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Half precision is not rounded in between.
// CHECK-LABEL: func.func @half
// CHECK: %[[X:.+]] = ingot.cast %arg0 : tensor<64x4096x8xbf16> -> tensor<64x4096x8xf32>
// CHECK: %[[A:.+]] = ingot.reduce sum %[[X]] dims = [1]
// CHECK: %[[B:.+]] = ingot.reduce sum %[[A]] dims = [0] : (tensor<64x8xf32>) -> tensor<8xf32>
// CHECK: ingot.cast %[[B]] : tensor<8xf32> -> tensor<8xbf16>
func.func @half(%x: tensor<64x4096x8xbf16>) -> tensor<8xbf16> {
  %0 = ingot.reduce sum %x dims = [0, 1] : (tensor<64x4096x8xbf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

// Enough results, or little to add up: one step. A dimension of a prime size has no parts.
// REMARK: remark: {{.*}}only one dimension is reduced
// CHECK-LABEL: func.func @whole
// CHECK: ingot.reduce sum %arg0 dims = [1, 2] : (tensor<64x4096x4xf32>) -> tensor<64xf32>
// CHECK: ingot.reduce sum %arg1 dims = [0, 1] : (tensor<64x16x8xf32>) -> tensor<8xf32>
// CHECK: ingot.reduce sum %arg2 dims = [0] : (tensor<100003x8xf32>) -> tensor<8xf32>
func.func @whole(%x: tensor<64x4096x4xf32>, %y: tensor<64x16x8xf32>, %z: tensor<100003x8xf32>) -> (tensor<64xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = ingot.reduce sum %x dims = [1, 2] : (tensor<64x4096x4xf32>) -> tensor<64xf32>
  %1 = ingot.reduce sum %y dims = [0, 1] : (tensor<64x16x8xf32>) -> tensor<8xf32>
  %2 = ingot.reduce sum %z dims = [0] : (tensor<100003x8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<64xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Parts of a dimension, where that gives short sums: along it, where others
// would leave less than a row, and across it, where it is long.
// CHECK-LABEL: func.func @parts
// CHECK: %[[X:.+]] = ingot.reshape %arg0 : tensor<4000000x1xf32> -> tensor<64x62500x1xf32>
// CHECK: %[[A:.+]] = ingot.reduce sum %[[X]] dims = [1, 2] : (tensor<64x62500x1xf32>) -> tensor<64xf32>
// CHECK: ingot.reduce sum %[[A]] dims = [0] : (tensor<64xf32>) -> tensor<f32>
// CHECK: %[[Y:.+]] = ingot.reshape %arg1 : tensor<100000x8xf32> -> tensor<25x4000x8xf32>
// CHECK: %[[B:.+]] = ingot.reduce sum %[[Y]] dims = [1] : (tensor<25x4000x8xf32>) -> tensor<25x8xf32>
// CHECK: ingot.reduce sum %[[B]] dims = [0] : (tensor<25x8xf32>) -> tensor<8xf32>
func.func @parts(%x: tensor<4000000x1xf32>, %y: tensor<100000x8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %0 = ingot.reduce sum %x dims = [0, 1] : (tensor<4000000x1xf32>) -> tensor<f32>
  %1 = ingot.reduce sum %y dims = [0] : (tensor<100000x8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<f32>, tensor<8xf32>
}

// -----

// The second step is split like the first one.
// CHECK-LABEL: func.func @rows
// CHECK: %[[A:.+]] = ingot.reduce sum %arg0 dims = [1] : (tensor<1000000x64xf32>) -> tensor<1000000xf32>
// CHECK: %[[X:.+]] = ingot.reshape %[[A]] : tensor<1000000xf32> -> tensor<16x62500xf32>
// CHECK: %[[B:.+]] = ingot.reduce sum %[[X]] dims = [1] : (tensor<16x62500xf32>) -> tensor<16xf32>
// CHECK: ingot.reduce sum %[[B]] dims = [0] : (tensor<16xf32>) -> tensor<f32>
func.func @rows(%x: tensor<1000000x64xf32>) -> tensor<f32> {
  %0 = ingot.reduce sum %x dims = [0, 1] : (tensor<1000000x64xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

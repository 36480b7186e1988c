// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>, %g: tensor<2x6x4x7xf32>) {
  // CHECK: ingot.conv %{{.*}} {dilations = array<i64: 1, 2>, groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x4x7xf32>
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 2>, groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x4x7xf32>
  // CHECK: ingot.conv_input_grad %{{.*}} {dilations = array<i64: 1, 2>, groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<2x6x4x7xf32>, tensor<6x2x3x2xf32>) -> tensor<2x4x9x8xf32>
  %1 = ingot.conv_input_grad %g, %w {dilations = array<i64: 1, 2>, groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<2x6x4x7xf32>, tensor<6x2x3x2xf32>) -> tensor<2x4x9x8xf32>
  // CHECK: ingot.conv_filter_grad %{{.*}} {dilations = array<i64: 1, 2>, groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<2x6x4x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x2xf32>
  %2 = ingot.conv_filter_grad %g, %x {dilations = array<i64: 1, 2>, groups = 2 : i64, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 1>} : (tensor<2x6x4x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x2xf32>
  return
}

// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<2x4x9x8xf32>, %g: tensor<2x4x5x4xf32>, %i: tensor<2x4x5x4xi64>) {
  // CHECK: ingot.max_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x9x8xf32>) -> (tensor<2x4x5x4xf32>, tensor<2x4x5x4xi64>)
  %0:2 = ingot.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x9x8xf32>) -> (tensor<2x4x5x4xf32>, tensor<2x4x5x4xi64>)
  // CHECK: ingot.max_pool_grad %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x5x4xf32>, tensor<2x4x5x4xi64>) -> tensor<2x4x9x8xf32>
  %1 = ingot.max_pool_grad %g, %i {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x5x4xf32>, tensor<2x4x5x4xi64>) -> tensor<2x4x9x8xf32>
  // CHECK: ingot.sum_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x9x8xf32>) -> tensor<2x4x5x4xf32>
  %2 = ingot.sum_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x9x8xf32>) -> tensor<2x4x5x4xf32>
  // CHECK: ingot.sum_pool_grad %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32>
  %3 = ingot.sum_pool_grad %g {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 2>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 2, 2>} : (tensor<2x4x5x4xf32>) -> tensor<2x4x9x8xf32>
  return
}

// One and three spatial dimensions.
// CHECK-LABEL: func.func @ranks
func.func @ranks(%a: tensor<1x1x5xf32>, %b: tensor<1x1x3xf32>, %c: tensor<1x1x4x4x4xf32>, %d: tensor<1x1x3x3x3xf32>) {
  // CHECK: ingot.conv %{{.*}} {dilations = array<i64: 1>, groups = 1 : i64, pad_high = array<i64: 0>, pad_low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  %0 = ingot.conv %a, %b {dilations = array<i64: 1>, groups = 1 : i64, pad_high = array<i64: 0>, pad_low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  // CHECK: ingot.conv %{{.*}} {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1, 1>, pad_low = array<i64: 1, 1, 1>, strides = array<i64: 1, 1, 1>} : (tensor<1x1x4x4x4xf32>, tensor<1x1x3x3x3xf32>) -> tensor<1x1x4x4x4xf32>
  %1 = ingot.conv %c, %d {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1, 1>, pad_low = array<i64: 1, 1, 1>, strides = array<i64: 1, 1, 1>} : (tensor<1x1x4x4x4xf32>, tensor<1x1x3x3x3xf32>) -> tensor<1x1x4x4x4xf32>
  return
}

// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: tensor<2x9x8x4xf32>, %w: tensor<6x4x3x2xf32>) -> tensor<2x9x8x4xf32> {
  // CHECK: ingot.conv %{{.*}} {channels_last, {{.*}}} : (tensor<2x9x8x4xf32>, tensor<6x4x3x2xf32>) -> tensor<2x7x7x6xf32>
  %0 = ingot.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x9x8x4xf32>, tensor<6x4x3x2xf32>) -> tensor<2x7x7x6xf32>
  // CHECK: ingot.conv_input_grad %{{.*}} {channels_last, {{.*}}} : (tensor<2x7x7x6xf32>, tensor<6x4x3x2xf32>) -> tensor<2x9x8x4xf32>
  %1 = ingot.conv_input_grad %0, %w {channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x7x7x6xf32>, tensor<6x4x3x2xf32>) -> tensor<2x9x8x4xf32>
  return %1 : tensor<2x9x8x4xf32>
}

// The order of filters is an attribute of its own.
// CHECK-LABEL: func.func @filter_channels_last
func.func @filter_channels_last(%x: tensor<2x4x9x8xf32>, %w: tensor<6x3x2x4xf32>) -> tensor<6x3x2x4xf32> {
  // CHECK: ingot.conv %{{.*}} {dilations = {{.*}}, filter_channels_last, {{.*}}} : (tensor<2x4x9x8xf32>, tensor<6x3x2x4xf32>) -> tensor<2x6x7x7xf32>
  %0 = ingot.conv %x, %w {filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x3x2x4xf32>) -> tensor<2x6x7x7xf32>
  // CHECK: ingot.conv_filter_grad %{{.*}} {dilations = {{.*}}, filter_channels_last, {{.*}}} : (tensor<2x6x7x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x3x2x4xf32>
  %1 = ingot.conv_filter_grad %0, %x {filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x7x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x3x2x4xf32>
  return %1 : tensor<6x3x2x4xf32>
}

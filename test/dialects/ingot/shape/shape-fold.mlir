// RUN: ingot-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @broadcast_identity
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @broadcast_identity(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ingot.broadcast %x dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @broadcast_broadcast
func.func @broadcast_broadcast(%x: tensor<3xf32>) -> tensor<5x2x4x3xf32> {
  // CHECK-NEXT: ingot.broadcast %{{.*}} dims = [3] : tensor<3xf32> -> tensor<5x2x4x3xf32>
  %0 = ingot.broadcast %x dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  %1 = ingot.broadcast %0 dims = [1, 3] : tensor<2x3xf32> -> tensor<5x2x4x3xf32>
  return %1 : tensor<5x2x4x3xf32>
}

// CHECK-LABEL: func.func @broadcast_constants
func.func @broadcast_constants() -> (tensor<100x100x100xf32>, tensor<3x2xi32>, tensor<2x2xi32>) {
  %s = ingot.constant dense<2.0> : tensor<f32>
  // CHECK-DAG: dense<2.000000e+00> : tensor<100x100x100xf32>
  %0 = ingot.broadcast %s dims = [] : tensor<f32> -> tensor<100x100x100xf32>
  %c = ingot.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK-DAG: dense<{{\[\[}}1, 2], [1, 2], [1, 2]]> : tensor<3x2xi32>
  %1 = ingot.broadcast %c dims = [1] : tensor<2xi32> -> tensor<3x2xi32>
  %d = ingot.constant dense<[[3], [4]]> : tensor<2x1xi32>
  // CHECK-DAG: dense<{{\[\[}}3, 3], [4, 4]]> : tensor<2x2xi32>
  %2 = ingot.broadcast %d dims = [0, 1] : tensor<2x1xi32> -> tensor<2x2xi32>
  return %0, %1, %2 : tensor<100x100x100xf32>, tensor<3x2xi32>, tensor<2x2xi32>
}

// Repeating data in memory is what a broadcast is there to avoid.
// CHECK-LABEL: func.func @broadcast_large
func.func @broadcast_large() -> tensor<1000x2xi32> {
  %c = ingot.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: ingot.broadcast
  %0 = ingot.broadcast %c dims = [1] : tensor<2xi32> -> tensor<1000x2xi32>
  return %0 : tensor<1000x2xi32>
}

// CHECK-LABEL: func.func @reshapes
// CHECK-SAME: (%[[X:.*]]: tensor<2x6xf32>)
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<3x4xf32>, tensor<2x2xi32>) {
  // CHECK-DAG: %[[C:.*]] = ingot.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
  // CHECK-DAG: %[[R:.*]] = ingot.reshape %[[X]] : tensor<2x6xf32> -> tensor<3x4xf32>
  %0 = ingot.reshape %x : tensor<2x6xf32> -> tensor<12xf32>
  %1 = ingot.reshape %0 : tensor<12xf32> -> tensor<2x6xf32>
  %2 = ingot.reshape %0 : tensor<12xf32> -> tensor<3x4xf32>
  %c = ingot.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %3 = ingot.reshape %c : tensor<4xi32> -> tensor<2x2xi32>
  // CHECK: return %[[X]], %[[R]], %[[C]]
  return %1, %2, %3 : tensor<2x6xf32>, tensor<3x4xf32>, tensor<2x2xi32>
}

// CHECK-LABEL: func.func @transposes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<2x3x4xf32>, tensor<3x2xi32>) {
  // CHECK-DAG: %[[C:.*]] = ingot.constant dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  // CHECK-DAG: %[[T:.*]] = ingot.transpose %[[X]] [2, 0, 1]
  %0 = ingot.transpose %x [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = ingot.transpose %0 [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %2 = ingot.transpose %0 [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %3 = ingot.transpose %x [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %c = ingot.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %4 = ingot.transpose %c [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  // CHECK: return %[[X]], %[[T]], %[[X]], %[[C]]
  return %1, %2, %3, %4 : tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<2x3x4xf32>, tensor<3x2xi32>
}

// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:.*]]: tensor<10xf32>)
func.func @slices(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<2xf32>, tensor<2x2xi32>) {
  // CHECK-DAG: %[[C:.*]] = ingot.constant dense<{{\[\[}}1, 3], [7, 9]]> : tensor<2x2xi32>
  // CHECK-DAG: %[[S:.*]] = ingot.slice %[[X]] starts = [3] limits = [8] strides = [4]
  %0 = ingot.slice %x starts = [0] limits = [10] strides = [1] : (tensor<10xf32>) -> tensor<10xf32>
  %1 = ingot.slice %x starts = [1] limits = [10] strides = [2] : (tensor<10xf32>) -> tensor<5xf32>
  %2 = ingot.slice %1 starts = [1] limits = [5] strides = [2] : (tensor<5xf32>) -> tensor<2xf32>
  %c = ingot.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %3 = ingot.slice %c starts = [0, 0] limits = [3, 3] strides = [2, 2] : (tensor<3x3xi32>) -> tensor<2x2xi32>
  // CHECK: return %[[X]], %[[S]], %[[C]]
  return %0, %2, %3 : tensor<10xf32>, tensor<2xf32>, tensor<2x2xi32>
}

// CHECK-LABEL: func.func @pads
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
func.func @pads(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<3x5xi32>) {
  // CHECK-DAG: %[[C:.*]] = ingot.constant dense<{{\[\[}}9, 9, 9, 9, 9], [9, 1, 9, 2, 9], [9, 3, 9, 4, 9]]> : tensor<3x5xi32>
  %0 = ingot.pad %x low = [0] high = [0] interior = [0] value = 0.0 : (tensor<2xf32>) -> tensor<2xf32>
  %c = ingot.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %1 = ingot.pad %c low = [1, 1] high = [0, 1] interior = [0, 1] value = 9.0 : (tensor<2x2xi32>) -> tensor<3x5xi32>
  // CHECK: return %[[X]], %[[C]]
  return %0, %1 : tensor<2xf32>, tensor<3x5xi32>
}

// CHECK-LABEL: func.func @concats
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>)
func.func @concats(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x3xi64>) {
  // CHECK-DAG: %[[C:.*]] = ingot.constant dense<{{\[\[}}1, 2, 5], [3, 4, 5]]> : tensor<2x3xi64>
  %0 = ingot.concat %x dim = 0 : (tensor<2xf32>) -> tensor<2xf32>
  %a = ingot.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %b = ingot.constant dense<5> : tensor<2x1xi64>
  %1 = ingot.concat %a, %b dim = 1 : (tensor<2x2xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  // CHECK: return %[[X]], %[[C]]
  return %0, %1 : tensor<2xf32>, tensor<2x3xi64>
}

// CHECK-LABEL: func.func @reverses
// CHECK-SAME: (%[[X:.*]]: tensor<2x1xf32>)
func.func @reverses(%x: tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<3xi32>) {
  // CHECK-DAG: %[[C:.*]] = ingot.constant dense<[3, 2, 1]> : tensor<3xi32>
  %0 = ingot.reverse %x dims = [1] : tensor<2x1xf32>
  %1 = ingot.reverse %x dims = [0] : tensor<2x1xf32>
  %2 = ingot.reverse %1 dims = [0] : tensor<2x1xf32>
  %c = ingot.constant dense<[1, 2, 3]> : tensor<3xi32>
  %3 = ingot.reverse %c dims = [0] : tensor<3xi32>
  // CHECK: return %[[X]], %[[X]], %[[C]]
  return %0, %2, %3 : tensor<2x1xf32>, tensor<2x1xf32>, tensor<3xi32>
}

// Indices are clamped.
// CHECK-LABEL: func.func @gathers
func.func @gathers() -> tensor<2x3xi64> {
  %c = ingot.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %i = ingot.constant dense<[1, -5, 7]> : tensor<3xi32>
  // CHECK: ingot.constant dense<{{\[\[}}2, 1, 2], [4, 3, 4]]> : tensor<2x3xi64>
  %0 = ingot.gather %c[%i] dim = 1 : (tensor<2x2xi64>, tensor<3xi32>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}

// All parts of a tensor, in order, are the tensor; others are not.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME:    %[[X:.*]]: tensor<2x3xf32>
func.func @parts(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = ingot.slice %x starts = [0, 0] limits = [2, 1] strides = [1, 1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %b = ingot.slice %x starts = [0, 1] limits = [2, 3] strides = [1, 1] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %0 = ingot.concat %a, %b dim = 1 : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
  // CHECK: %[[SWAPPED:.*]] = ingot.concat
  %1 = ingot.concat %b, %a dim = 1 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  // CHECK: return %[[X]], %[[SWAPPED]]
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

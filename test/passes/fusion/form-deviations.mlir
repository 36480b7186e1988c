// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-deviations --canonicalize | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-deviations --remarks-filter=form-deviations --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-form-deviations | FileCheck %s --check-prefix=CPU
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-deviations --ingot-form-fusions | FileCheck %s --check-prefix=KERNEL

// Kernels for CPUs do not merge partial results.
// CPU-NOT: squared_deviations

// Channels last: the sum does not wait for the mean, and one kernel computes
// both.
// REMARK: remark: {{.*}}bytes_saved=65536
// CHECK-LABEL: func.func @channels_last
//   CHECK-DAG:   ingot.reduce sum %arg0 dims = [0, 1, 2]
//   CHECK-DAG:   %[[Q:.*]] = ingot.squared_deviations %arg0 dims = [0, 1, 2] : (tensor<4x8x8x64xf32>) -> tensor<64xf32>
//       CHECK:   return %{{.*}}, %[[Q]]
// KERNEL-LABEL: func.func @channels_last
//       KERNEL:   ingot.fusion reduction(%arg0)
//   KERNEL-DAG:     ingot.reduce sum
//   KERNEL-DAG:     ingot.squared_deviations
//   KERNEL-NOT:   ingot.fusion reduction
//       KERNEL:   return
func.func @channels_last(%x: tensor<4x8x8x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %sum = ingot.reduce sum %x dims = [0, 1, 2] : (tensor<4x8x8x64xf32>) -> tensor<64xf32>
  %count = ingot.constant dense<256.0> : tensor<64xf32>
  %mean = ingot.div %sum, %count : tensor<64xf32>
  %0 = ingot.broadcast %mean dims = [3] : tensor<64xf32> -> tensor<4x8x8x64xf32>
  %1 = ingot.sub %x, %0 : tensor<4x8x8x64xf32>
  %2 = ingot.mul %1, %1 : tensor<4x8x8x64xf32>
  %3 = ingot.reduce sum %2 dims = [0, 1, 2] : (tensor<4x8x8x64xf32>) -> tensor<64xf32>
  return %mean, %3 : tensor<64xf32>, tensor<64xf32>
}

// Channels first, with a reciprocal, the mean in another shape, and the
// differences from the other side.
// REMARK: remark: {{.*}}bytes_saved=65536
// CHECK-LABEL: func.func @channels_first
//       CHECK:   %[[Q:.*]] = ingot.squared_deviations %arg0 dims = [0, 2, 3] : (tensor<4x64x8x8xf32>) -> tensor<64xf32>
//       CHECK:   return %[[Q]]
func.func @channels_first(%x: tensor<4x64x8x8xf32>) -> tensor<64xf32> {
  %sum = ingot.reduce sum %x dims = [0, 2, 3] : (tensor<4x64x8x8xf32>) -> tensor<64xf32>
  %share = ingot.constant dense<0.00390625> : tensor<64xf32>
  %mean = ingot.mul %share, %sum : tensor<64xf32>
  %shaped = ingot.reshape %mean : tensor<64xf32> -> tensor<1x64x1x1xf32>
  %0 = ingot.broadcast %shaped dims = [0, 1, 2, 3] : tensor<1x64x1x1xf32> -> tensor<4x64x8x8xf32>
  %1 = ingot.sub %0, %x : tensor<4x64x8x8xf32>
  %2 = ingot.mul %1, %1 : tensor<4x64x8x8xf32>
  %3 = ingot.reduce sum %2 dims = [0, 2, 3] : (tensor<4x64x8x8xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// The sum is divided by another number: that of an unbiased mean, or the
// elements of all ranks.
// REMARK: remark: {{.*}}the differences are not from the mean of the elements
// CHECK-LABEL: func.func @another_count
//   CHECK-NOT:   squared_deviations
//       CHECK:   return
func.func @another_count(%x: tensor<256x64xf32>) -> tensor<64xf32> {
  %sum = ingot.reduce sum %x dims = [0] : (tensor<256x64xf32>) -> tensor<64xf32>
  %count = ingot.constant dense<255.0> : tensor<64xf32>
  %mean = ingot.div %sum, %count : tensor<64xf32>
  %0 = ingot.broadcast %mean dims = [1] : tensor<64xf32> -> tensor<256x64xf32>
  %1 = ingot.sub %x, %0 : tensor<256x64xf32>
  %2 = ingot.mul %1, %1 : tensor<256x64xf32>
  %3 = ingot.reduce sum %2 dims = [0] : (tensor<256x64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// The mean of other elements.
// REMARK: remark: {{.*}}the differences are not from the mean of the elements
// CHECK-LABEL: func.func @other_elements
//   CHECK-NOT:   squared_deviations
//       CHECK:   return
func.func @other_elements(%x: tensor<256x64xf32>, %y: tensor<256x64xf32>) -> tensor<64xf32> {
  %sum = ingot.reduce sum %y dims = [0] : (tensor<256x64xf32>) -> tensor<64xf32>
  %count = ingot.constant dense<256.0> : tensor<64xf32>
  %mean = ingot.div %sum, %count : tensor<64xf32>
  %0 = ingot.broadcast %mean dims = [1] : tensor<64xf32> -> tensor<256x64xf32>
  %1 = ingot.sub %x, %0 : tensor<256x64xf32>
  %2 = ingot.mul %1, %1 : tensor<256x64xf32>
  %3 = ingot.reduce sum %2 dims = [0] : (tensor<256x64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// The means of columns, whose squares are summed along rows.
// CHECK-LABEL: func.func @other_dims
//   CHECK-NOT:   squared_deviations
//       CHECK:   return
func.func @other_dims(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %sum = ingot.reduce sum %x dims = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %count = ingot.constant dense<64.0> : tensor<64xf32>
  %mean = ingot.div %sum, %count : tensor<64xf32>
  %0 = ingot.broadcast %mean dims = [1] : tensor<64xf32> -> tensor<64x64xf32>
  %1 = ingot.sub %x, %0 : tensor<64x64xf32>
  %2 = ingot.mul %1, %1 : tensor<64x64xf32>
  %3 = ingot.reduce sum %2 dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// Rows are in registers.
// REMARK: remark: {{.*}}a kernel over rows has the elements at hand
// CHECK-LABEL: func.func @rows
//   CHECK-NOT:   squared_deviations
//       CHECK:   return
func.func @rows(%x: tensor<64x256xf32>) -> tensor<64xf32> {
  %sum = ingot.reduce sum %x dims = [1] : (tensor<64x256xf32>) -> tensor<64xf32>
  %count = ingot.constant dense<256.0> : tensor<64xf32>
  %mean = ingot.div %sum, %count : tensor<64xf32>
  %0 = ingot.broadcast %mean dims = [0] : tensor<64xf32> -> tensor<64x256xf32>
  %1 = ingot.sub %x, %0 : tensor<64x256xf32>
  %2 = ingot.mul %1, %1 : tensor<64x256xf32>
  %3 = ingot.reduce sum %2 dims = [1] : (tensor<64x256xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

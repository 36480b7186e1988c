// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-fusions | FileCheck %s
// RUN: ingot-opt %s --ingot-form-fusions | FileCheck %s --check-prefix=CPU

// Sums over the rows that a kernel has at hand are part of it: what both read is read once.
// CHECK-LABEL: func.func @norm
//       CHECK: ingot.fusion row(
//   CHECK-DAG:   ingot.reduce sum %{{.*}} dims = [1]
//   CHECK-DAG:   ingot.reduce sum %{{.*}} dims = [0]
//   CHECK-DAG:   ingot.reduce sum %{{.*}} dims = [0]
//   CHECK-NOT: ingot.fusion
//       CHECK: return

// CPUs have one row for each iteration.
// CPU-LABEL: func.func @norm
//   CPU-DAG: ingot.fusion row(
//   CPU-DAG: ingot.fusion reduction(
func.func @norm(%x: tensor<8192x768xf32>, %g: tensor<8192x768xf32>) -> (tensor<8192x768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %0 = ingot.mul %x, %g : tensor<8192x768xf32>
  %1 = ingot.reduce sum %0 dims = [1] : (tensor<8192x768xf32>) -> tensor<8192xf32>
  %2 = ingot.broadcast %1 dims = [0] : tensor<8192xf32> -> tensor<8192x768xf32>
  %3 = ingot.sub %g, %2 : tensor<8192x768xf32>
  %4 = ingot.reduce sum %0 dims = [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  %5 = ingot.reduce sum %g dims = [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  return %3, %4, %5 : tensor<8192x768xf32>, tensor<768xf32>, tensor<768xf32>
}

// Few rows do not fill a GPU.
// CHECK-LABEL: func.func @few_rows
//   CHECK-DAG: ingot.fusion row(
//   CHECK-DAG: ingot.fusion reduction(
func.func @few_rows(%x: tensor<1024x768xf32>, %g: tensor<1024x768xf32>) -> (tensor<1024x768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %0 = ingot.mul %x, %g : tensor<1024x768xf32>
  %1 = ingot.reduce sum %0 dims = [1] : (tensor<1024x768xf32>) -> tensor<1024xf32>
  %2 = ingot.broadcast %1 dims = [0] : tensor<1024xf32> -> tensor<1024x768xf32>
  %3 = ingot.sub %g, %2 : tensor<1024x768xf32>
  %4 = ingot.reduce sum %0 dims = [0] : (tensor<1024x768xf32>) -> tensor<768xf32>
  %5 = ingot.reduce sum %g dims = [0] : (tensor<1024x768xf32>) -> tensor<768xf32>
  return %3, %4, %5 : tensor<1024x768xf32>, tensor<768xf32>, tensor<768xf32>
}

// Threads cannot hold the sums of long rows.
// CHECK-LABEL: func.func @long_rows
//   CHECK-DAG: ingot.fusion row(
//   CHECK-DAG: ingot.fusion reduction(
func.func @long_rows(%x: tensor<4096x16384xf32>, %g: tensor<4096x16384xf32>) -> (tensor<4096x16384xf32>, tensor<16384xf32>, tensor<16384xf32>) {
  %0 = ingot.mul %x, %g : tensor<4096x16384xf32>
  %1 = ingot.reduce sum %0 dims = [1] : (tensor<4096x16384xf32>) -> tensor<4096xf32>
  %2 = ingot.broadcast %1 dims = [0] : tensor<4096xf32> -> tensor<4096x16384xf32>
  %3 = ingot.sub %g, %2 : tensor<4096x16384xf32>
  %4 = ingot.reduce sum %0 dims = [0] : (tensor<4096x16384xf32>) -> tensor<16384xf32>
  %5 = ingot.reduce sum %g dims = [0] : (tensor<4096x16384xf32>) -> tensor<16384xf32>
  return %3, %4, %5 : tensor<4096x16384xf32>, tensor<16384xf32>, tensor<16384xf32>
}

// A square, whose rows and columns the shape does not tell apart.
// CHECK-LABEL: func.func @square
//   CHECK-DAG: ingot.fusion row(
//   CHECK-DAG: ingot.fusion reduction(
func.func @square(%x: tensor<4096x4096xf32>, %g: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096xf32>, tensor<4096xf32>) {
  %0 = ingot.mul %x, %g : tensor<4096x4096xf32>
  %1 = ingot.reduce sum %0 dims = [1] : (tensor<4096x4096xf32>) -> tensor<4096xf32>
  %2 = ingot.broadcast %1 dims = [0] : tensor<4096xf32> -> tensor<4096x4096xf32>
  %3 = ingot.sub %g, %2 : tensor<4096x4096xf32>
  %4 = ingot.reduce sum %0 dims = [0] : (tensor<4096x4096xf32>) -> tensor<4096xf32>
  %5 = ingot.reduce sum %g dims = [0] : (tensor<4096x4096xf32>) -> tensor<4096xf32>
  return %3, %4, %5 : tensor<4096x4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}

// What reads a sum over all rows waits for all of them.
// CHECK-LABEL: func.func @read
//       CHECK: ingot.fusion reduction(
//       CHECK: ingot.fusion row(
func.func @read(%x: tensor<8192x768xf32>) -> tensor<8192x768xf32> {
  %0 = ingot.reduce sum %x dims = [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  %1 = ingot.broadcast %0 dims = [1] : tensor<768xf32> -> tensor<8192x768xf32>
  %2 = ingot.mul %x, %1 : tensor<8192x768xf32>
  %3 = ingot.reduce sum %2 dims = [1] : (tensor<8192x768xf32>) -> tensor<8192xf32>
  %4 = ingot.broadcast %3 dims = [0] : tensor<8192xf32> -> tensor<8192x768xf32>
  %5 = ingot.sub %2, %4 : tensor<8192x768xf32>
  return %5 : tensor<8192x768xf32>
}

// RUN: ingot-opt %s --ingot-emit-cuda-kernels=threads=512 --cse --canonicalize | FileCheck %s

// Tests that a kernel of many column sums stays within the shared memory that
// lets eight blocks run on a multiprocessor: threads read two columns at once
// instead of eight.
// CHECK-LABEL: gpu.func @many_column_sums(
// CHECK-COUNT-8: memref<512xf32, #gpu.address_space<workgroup>>
//   CHECK-NOT: workgroup>
//       CHECK: known_block_size
exec.kernel "reduction" @many_column_sums aliases = [-1, -1, -1, -1, -1, -1, -1, -1] {
^bb0(%x0: tensor<512x64xbf16>, %x1: tensor<512x64xbf16>, %x2: tensor<512x64xbf16>, %x3: tensor<512x64xbf16>, %x4: tensor<512x64xbf16>, %x5: tensor<512x64xbf16>, %x6: tensor<512x64xbf16>, %x7: tensor<512x64xbf16>):
  %0 = ingot.reduce sum %x0 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %1 = ingot.reduce sum %x1 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %2 = ingot.reduce sum %x2 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %3 = ingot.reduce sum %x3 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %4 = ingot.reduce sum %x4 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %5 = ingot.reduce sum %x5 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %6 = ingot.reduce sum %x6 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  %7 = ingot.reduce sum %x7 dims = [0] : (tensor<512x64xbf16>) -> tensor<64xbf16>
  ingot.yield %0, %1, %2, %3, %4, %5, %6, %7 : tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64xbf16>
}

// Tests that some threads read nothing where even single columns are too many.
// CHECK-LABEL: gpu.func @most_column_sums(
//       CHECK: memref<128xf64, #gpu.address_space<workgroup>>
//       CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c32
//       CHECK: arith.cmpi ult, %[[ROW]], %c4
exec.kernel "reduction" @most_column_sums aliases = [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1] {
^bb0(%x0: tensor<512x64xf64>, %x1: tensor<512x64xf64>, %x2: tensor<512x64xf64>, %x3: tensor<512x64xf64>, %x4: tensor<512x64xf64>, %x5: tensor<512x64xf64>, %x6: tensor<512x64xf64>, %x7: tensor<512x64xf64>, %x8: tensor<512x64xf64>, %x9: tensor<512x64xf64>, %x10: tensor<512x64xf64>, %x11: tensor<512x64xf64>, %x12: tensor<512x64xf64>, %x13: tensor<512x64xf64>, %x14: tensor<512x64xf64>, %x15: tensor<512x64xf64>, %x16: tensor<512x64xf64>, %x17: tensor<512x64xf64>, %x18: tensor<512x64xf64>, %x19: tensor<512x64xf64>):
  %0 = ingot.reduce sum %x0 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %1 = ingot.reduce sum %x1 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %2 = ingot.reduce sum %x2 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %3 = ingot.reduce sum %x3 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %4 = ingot.reduce sum %x4 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %5 = ingot.reduce sum %x5 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %6 = ingot.reduce sum %x6 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %7 = ingot.reduce sum %x7 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %8 = ingot.reduce sum %x8 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %9 = ingot.reduce sum %x9 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %10 = ingot.reduce sum %x10 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %11 = ingot.reduce sum %x11 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %12 = ingot.reduce sum %x12 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %13 = ingot.reduce sum %x13 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %14 = ingot.reduce sum %x14 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %15 = ingot.reduce sum %x15 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %16 = ingot.reduce sum %x16 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %17 = ingot.reduce sum %x17 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %18 = ingot.reduce sum %x18 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  %19 = ingot.reduce sum %x19 dims = [0] : (tensor<512x64xf64>) -> tensor<64xf64>
  ingot.yield %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19 : tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>, tensor<64xf64>
}

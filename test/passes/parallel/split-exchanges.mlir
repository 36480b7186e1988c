// RUN: ingot-opt %s --ingot-split-exchanges --split-input-file --remarks-filter=split-exchanges --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file %t.remarks

// Tests that rows of a matmul are added up while the next ones are computed, through a cast in between.
// CHECK-LABEL: func.func @rows
//  CHECK-SAME: %[[X:.+]]: tensor<512x4096xf32>, %[[W:.+]]: tensor<4096x4096xf32>
//       CHECK: %[[FIRST:.+]] = ingot.slice %[[X]] starts = [0, 0]
//       CHECK: %[[P0:.+]] = ingot.matmul %[[FIRST]], %[[W]]
//       CHECK: %[[C0:.+]] = ingot.cast %[[P0]]
//       CHECK: %[[S0:.+]] = ingot.all_reduce sum %[[C0]] over [tensor]
//       CHECK: ingot.slice %[[X]] starts = [{{[1-9][0-9]*}}, 0]
//       CHECK: ingot.matmul
//       CHECK: ingot.all_reduce sum
//       CHECK: %[[ALL:.+]] = ingot.concat %[[S0]], {{.*}}dim = 0
//       CHECK: return %[[ALL]]
//      REMARK: [Passed] Pieces | {{.*}}dim=0, exchange=all_reduce, pieces={{[248]}},
module attributes {ingot.mesh = {tensor = 2}, ingot.machine = {matmul_f32 = 1.0e12, link_bandwidth = 3.0e9, link_seconds = 2.0e-5, memory_bandwidth = 1.0e11}} {
func.func @rows(%x: tensor<512x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<512x4096xbf16> {
  %0 = ingot.matmul %x, %w : (tensor<512x4096xf32>, tensor<4096x4096xf32>) -> tensor<512x4096xf32>
  %1 = ingot.cast %0 : tensor<512x4096xf32> -> tensor<512x4096xbf16>
  %2 = ingot.all_reduce sum %1 over [tensor] : tensor<512x4096xbf16>
  return %2 : tensor<512x4096xbf16>
}
}

// -----

// Rows are what ranks have parts of: pieces are columns.
// CHECK-LABEL: func.func @columns
//       CHECK: ingot.slice %{{.+}} starts = [0, 0] limits = [1024, {{[0-9]+}}]
//       CHECK: ingot.reduce_scatter sum %{{.+}} dim 0 over [tensor]
//       CHECK: ingot.concat {{.*}}dim = 1
//      REMARK: [Passed] Pieces | {{.*}}dim=1, exchange=reduce_scatter, pieces={{[248]}},
module attributes {ingot.mesh = {tensor = 2}, ingot.machine = {matmul_f32 = 1.0e12, link_bandwidth = 3.0e9, link_seconds = 2.0e-5, memory_bandwidth = 1.0e11}} {
func.func @columns(%x: tensor<4096x1024xf32>, %w: tensor<1024x512xf32>) -> tensor<2048x512xf32> {
  %0 = ingot.matmul %x, %w : (tensor<4096x1024xf32>, tensor<1024x512xf32>) -> tensor<4096x512xf32>
  %1 = ingot.reduce_scatter sum %0 dim 0 over [tensor] : tensor<4096x512xf32> -> tensor<2048x512xf32>
  return %1 : tensor<2048x512xf32>
}
}

// -----

// A link that is slow to start, sums over data, and a matmul that hides the exchange.
// CHECK-LABEL: func.func @whole
//   CHECK-NOT: ingot.concat
//      REMARK: [Missed] Pieces | {{.*}}Reason="pieces would take longer", exchange=all_reduce, pieces=1
//      REMARK: [Missed] Pieces | {{.*}}Reason="another matmul can hide it"
module attributes {ingot.mesh = {tensor = 2}, ingot.machine = {matmul_f32 = 1.0e12, link_bandwidth = 3.0e9, link_seconds = 2.0e-2, memory_bandwidth = 1.0e11}} {
func.func @whole(%x: tensor<4096x1024xf32>, %w: tensor<1024x512xf32>) -> (tensor<4096x512xf32>, tensor<4096x512xf32>) {
  %0 = ingot.matmul %x, %w : (tensor<4096x1024xf32>, tensor<1024x512xf32>) -> tensor<4096x512xf32>
  %1 = ingot.all_reduce sum %0 over [tensor] : tensor<4096x512xf32>
  %2 = ingot.add %1, %1 : tensor<4096x512xf32>
  %3 = ingot.all_reduce sum %2 over [data] : tensor<4096x512xf32>
  return %1, %3 : tensor<4096x512xf32>, tensor<4096x512xf32>
}
func.func @hidden(%g: tensor<4096x4096xf32>, %w: tensor<512x4096xf32>, %x: tensor<4096x4096xf32>) -> (tensor<4096x512xf32>, tensor<4096x4096xf32>) {
  %0 = ingot.matmul %g, %w transposed : (tensor<4096x4096xf32>, tensor<512x4096xf32>) -> tensor<4096x512xf32>
  %1 = ingot.all_reduce sum %0 over [tensor] : tensor<4096x512xf32>
  %2 = ingot.matmul %x transposed, %g : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %1, %2 : tensor<4096x512xf32>, tensor<4096x4096xf32>
}
}

// RUN: ingot-opt %s --ingot-emit-cuda-kernels=threads=131072 --cse --canonicalize | FileCheck %s

// Tests that 512 blocks, each of which processes every 512th row, write a partial row each, beside the rows, and that a
// second launch adds these.
// CHECK: exec.launch_grid @device::@norm blocks 512 of 64(%[[X:.*]]) -> (%[[Y:.*]], %[[PART:.*]])
// CHECK: exec.launch_grid @device::@norm_finish blocks 96 of 256(%[[PART]]) -> (%[[SUM:.*]])
exec.step @step attributes {arena_bytes = 1575936 : i64} {
  %x = exec.buffer state 0 : memref<8192x768xf32>
  %y = exec.buffer state 25165824 : memref<8192x768xf32>
  %sum = exec.buffer arena 0 : memref<768xf32>
  exec.launch @norm(%x) -> (%y, %sum) {flops = 0 : i64, scratch = #exec.scratch<1572864 at 3072>} : memref<8192x768xf32> -> memref<8192x768xf32>, memref<768xf32>
}

// A thread has 12 elements of each row, and as many sums; a warp waits for the other one before the next row.
// CHECK-LABEL: gpu.func @norm(
//  CHECK-SAME:   %[[X:[a-z0-9]*]]: memref<6291456xf32> {llvm.noalias}, %[[Y:[a-z0-9]*]]: memref<6291456xf32> {llvm.noalias}, %[[PART:[a-z0-9]*]]: memref<393216xf32>
//       CHECK:   %[[B:.*]] = gpu.block_id
//       CHECK:   %[[SUMS:.*]]:12 = scf.for %[[ROW:.*]] = %[[B]] to %c8192 step %c512
// CHECK-COUNT-12:  memref.load %[[X]]
//   CHECK-NOT:     memref.load %[[X]]
//       CHECK:     gpu.barrier
// CHECK-COUNT-12:  memref.store %{{.*}}, %[[Y]]
//       CHECK:     gpu.barrier
//  CHECK-NEXT:     scf.yield
// CHECK-COUNT-12:  memref.store %[[SUMS]]#{{.*}}, %[[PART]]
exec.kernel "row" @norm aliases = [-1] {
^bb0(%x: tensor<8192x768xf32>):
  %0 = ingot.reduce sum %x dims = [1] : (tensor<8192x768xf32>) -> tensor<8192xf32>
  %1 = ingot.broadcast %0 dims = [0] : tensor<8192xf32> -> tensor<8192x768xf32>
  %2 = ingot.sub %x, %1 : tensor<8192x768xf32>
  %3 = ingot.reduce sum %2 dims = [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  ingot.yield %2, %3 : tensor<8192x768xf32>, tensor<768xf32>
}

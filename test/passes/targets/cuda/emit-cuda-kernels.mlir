// RUN: ingot-opt %s --ingot-emit-cuda-kernels=threads=512 --cse --canonicalize | FileCheck %s

// The partial sums are in the planned scratch; the arena stays as it is.
// CHECK-LABEL: exec.step @step
// CHECK-SAME: arena_bytes = 192 : i64
// CHECK: %[[IN:.*]] = exec.buffer state 0
// CHECK: %[[OUT:.*]] = exec.buffer arena 64
// CHECK: %[[PART:.*]] = exec.buffer arena 128
// CHECK: exec.launch_grid @device::@long_sum blocks [[#]] of 256(%[[IN]]) -> (%[[PART]]) {flops = 16384 : i64, shared = 32 : i64}
// CHECK: exec.launch_grid @device::@long_sum_finish blocks 1 of 256(%[[PART]]) -> (%[[OUT]])
exec.step @step attributes {arena_bytes = 192 : i64} {
  %in = exec.buffer state 0 : memref<16384xf16>
  %out = exec.buffer arena 64 : memref<1xf16>
  exec.launch @long_sum(%in) -> (%out) {flops = 16384 : i64, scratch = #exec.scratch<64 at 128>} : memref<16384xf16> -> memref<1xf16>
}

// A thread takes 16 bytes of the widest buffer where that leaves work for all.
// CHECK-LABEL: gpu.func @pointwise(
// CHECK-SAME: %[[X:.*]]: memref<2048xf32> {llvm.noalias}, %[[Y:.*]]: memref<2048xf32> {llvm.noalias})
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>}
// CHECK: %[[BLOCKS:.*]] = gpu.grid_dim
// CHECK: %[[THREADS:.*]] = arith.muli %[[BLOCKS]], %c256
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c512 step %[[THREADS]]
// CHECK: %[[P:.*]] = arith.muli %[[I]], %c4
// CHECK-COUNT-4: memref.load %[[X]]
// CHECK-COUNT-4: memref.store %{{.*}}, %[[Y]]
exec.kernel "loop" @pointwise aliases = [-1] {
^bb0(%x: tensor<128x16xf32>):
  %0 = ingot.exp %x : tensor<128x16xf32>
  ingot.yield %0 : tensor<128x16xf32>
}

// Along the innermost dimension, where a row is read more than once.
// CHECK-LABEL: gpu.func @rows(
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c8
// CHECK: memref.load %{{.*}}[%[[ROW]]]
// CHECK-NOT: arith.divui
// CHECK: gpu.return
exec.kernel "loop" @rows aliases = [-1, -1] {
^bb0(%x: tensor<256x8xf32>, %r: tensor<256xf32>):
  %0 = ingot.broadcast %r dims = [0] : tensor<256xf32> -> tensor<256x8xf32>
  %1 = ingot.add %x, %0 : tensor<256x8xf32>
  ingot.yield %1 : tensor<256x8xf32>
}

// In place: the input's buffer is not read.
// CHECK-LABEL: gpu.func @in_place(
// CHECK-SAME: %{{.*}}: memref<3xf32> {llvm.noalias}, %[[Y:.*]]: memref<3xf32> {llvm.noalias})
// CHECK: memref.load %[[Y]]
// CHECK: memref.store %{{.*}}, %[[Y]]
exec.kernel "loop" @in_place aliases = [0] {
^bb0(%x: tensor<3xf32>):
  %0 = ingot.neg %x : tensor<3xf32>
  ingot.yield %0 : tensor<3xf32>
}

// Enough rows: a warp each, no shared memory.
// CHECK-LABEL: gpu.func @row_sums(
// CHECK-NOT: workgroup
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: gpu.shuffle xor %[[SUM]], %c16_i32, %c32_i32 : f32
// CHECK: gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// CHECK-NOT: gpu.barrier
// CHECK: memref.store
exec.kernel "reduction" @row_sums aliases = [-1] {
^bb0(%x: tensor<8x64xf32>):
  %0 = ingot.reduce sum %x dims = [1] : (tensor<8x64xf32>) -> tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}

// One long sum: blocks of it, then a launch that adds them.
// CHECK-LABEL: gpu.func @long_sum(
// CHECK-SAME: memref<16384xf16> {{.*}}, %[[PARTIAL:.*]]: memref<[[#PIECES:]]xf32>
// CHECK-SAME: workgroup(%{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %[[PARTIAL]]
// CHECK-LABEL: gpu.func @long_sum_finish(
// CHECK-SAME: memref<[[#PIECES]]xf32> {{.*}}, %{{.*}}: memref<1xf16>
// CHECK: gpu.shuffle xor
exec.kernel "reduction" @long_sum aliases = [-1] {
^bb0(%x: tensor<16384xf16>):
  %0 = ingot.reduce sum %x dims = [0] : (tensor<16384xf16>) -> tensor<f16>
  ingot.yield %0 : tensor<f16>
}

// Across the innermost dimension: ten threads read a row, 16 bytes each; a block
// takes 16 rows at a time, and each thread reads four of its own at once.
// CHECK-LABEL: gpu.func @column_sums(
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<1024xf32, #gpu.address_space<workgroup>>)
// CHECK: arith.remui %{{.*}}, %c16
// CHECK: scf.for {{.*}} step %c16 iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (f32, f32, f32, f32)
// CHECK-COUNT-4: memref.load
// CHECK: } {loop_annotation = #[[UNROLL:.*]]}
// CHECK-COUNT-4: memref.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.barrier
// CHECK-COUNT-15: arith.addf
exec.kernel "reduction" @column_sums aliases = [-1] {
^bb0(%x: tensor<64x40xf32>):
  %0 = ingot.reduce sum %x dims = [0] : (tensor<64x40xf32>) -> tensor<40xf32>
  ingot.yield %0 : tensor<40xf32>
}

// An input in another order comes through shared memory: 32 x 32 elements a block, in rows of 33.
// CHECK-LABEL: gpu.func @transposed(
// CHECK-SAME: %[[X:.*]]: memref<7000xf32>{{.*}}, %[[Y:.*]]: memref<7000xbf16>{{.*}}, %[[R:.*]]: memref<7000xf32>
// CHECK-SAME: workgroup(%[[TILE:.*]] : memref<1056xbf16, #gpu.address_space<workgroup>>)
// CHECK-SAME: known_grid_size = array<i32: 12, 1, 1>
// CHECK-COUNT-4: memref.store %{{.*}}, %[[TILE]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[TILE]]
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[R]]
exec.kernel "loop" @transposed aliases = [-1, -1] {
^bb0(%x: tensor<70x100xf32>, %y: tensor<100x70xbf16>):
  %0 = ingot.transpose %y [1, 0] : (tensor<100x70xbf16>) -> tensor<70x100xbf16>
  %1 = ingot.cast %0 : tensor<70x100xbf16> -> tensor<70x100xf32>
  %2 = ingot.add %x, %1 : tensor<70x100xf32>
  ingot.yield %2 : tensor<70x100xf32>
}

// Too narrow for tiles.
// CHECK-LABEL: gpu.func @narrow(
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
exec.kernel "loop" @narrow aliases = [-1] {
^bb0(%x: tensor<700x8xf32>):
  %0 = ingot.transpose %x [1, 0] : (tensor<700x8xf32>) -> tensor<8x700xf32>
  ingot.yield %0 : tensor<8x700xf32>
}

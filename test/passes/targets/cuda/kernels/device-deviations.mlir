// RUN: ingot-opt %s --ingot-emit-cuda-kernels=threads=2048 --cse --canonicalize | FileCheck %s

// Tests that a kernel reads the elements once for their sum and their squared deviations; that a thread has the sum, and
// the number of its elements, the first of them, and the sums of the differences from it and of their squares; and that
// partial results are a sum, and the count, the mean and the squared deviations of some elements.
// CHECK-LABEL: gpu.func @channels(
//  CHECK-SAME:   %[[X:[a-z0-9]*]]: memref<262144xf32> {llvm.noalias}, %[[SUM:[a-z0-9]*]]: memref<[[#PARTS:]]xf32>
//  CHECK-SAME:   {llvm.noalias}, %[[COUNT:[a-z0-9]*]]: memref<[[#PARTS]]xf32>
//  CHECK-SAME:   {llvm.noalias}, %[[MEAN:[a-z0-9]*]]: memref<[[#PARTS]]xf32>
//  CHECK-SAME:   {llvm.noalias}, %[[SQUARES:[a-z0-9]*]]: memref<[[#PARTS]]xf32>
//       CHECK:   scf.for {{.*}} -> (f32, i32, f32, f32, f32,
//       CHECK:     %[[E:.*]] = memref.load %[[X]]
//       CHECK:     arith.addf %{{.*}}, %[[E]]
//       CHECK:     %[[IS_FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
//       CHECK:     %[[FIRST:.*]] = arith.select %[[IS_FIRST]], %[[E]], %{{.*}}
//       CHECK:     %[[D:.*]] = arith.subf %[[E]], %[[FIRST]]
//       CHECK:     arith.addi %{{.*}}, %c1_i32
//       CHECK:     arith.addf %{{.*}}, %[[D]]
//       CHECK:     %[[D2:.*]] = arith.mulf %[[D]], %[[D]]
//       CHECK:     arith.addf %{{.*}}, %[[D2]]
//       CHECK:     scf.yield
//   CHECK-NOT:   memref.load %[[X]]
//       CHECK:   gpu.barrier
//   CHECK-NOT:   memref.load %[[X]]
//       CHECK:   memref.store %{{.*}}, %[[SUM]]
//       CHECK:   memref.store %{{.*}}, %[[COUNT]]
//       CHECK:   memref.store %{{.*}}, %[[MEAN]]
//       CHECK:   memref.store %{{.*}}, %[[SQUARES]]

// Tests that partial results are merged in a fixed order: those of a lane, then those of lanes.
// CHECK-LABEL: gpu.func @channels_finish(
//  CHECK-SAME:   memref<[[#PARTS]]xf32>
//  CHECK-SAME:   %[[SUM:[a-z0-9]*]]: memref<16xf32> {llvm.noalias}, %[[SQUARES:[a-z0-9]*]]: memref<16xf32>
//       CHECK:   %[[OWN:.*]]:4 = scf.for {{.*}} -> (f32, f32, f32, f32)
//       CHECK:     arith.divf
//       CHECK:   gpu.shuffle xor %[[OWN]]#0, %c16_i32, %c32_i32 : f32
//       CHECK:   gpu.shuffle xor %[[OWN]]#1, %c16_i32, %c32_i32 : f32
//       CHECK:   gpu.shuffle xor %[[OWN]]#2, %c16_i32, %c32_i32 : f32
//       CHECK:   gpu.shuffle xor %[[OWN]]#3, %c16_i32, %c32_i32 : f32
//       CHECK:   memref.store %{{.*}}, %[[SUM]]
//       CHECK:   memref.store %{{.*}}, %[[SQUARES]]
exec.step @step attributes {arena_bytes = 65536 : i64} {
  %in = exec.buffer state 0 : memref<16384x16xf32>
  %sum = exec.buffer arena 0 : memref<16xf32>
  %squares = exec.buffer arena 64 : memref<16xf32>
  exec.launch @channels(%in) -> (%sum, %squares) {flops = 16384 : i64, scratch = #exec.scratch<32768 at 128>} : memref<16384x16xf32> -> memref<16xf32>, memref<16xf32>
}

exec.kernel "reduction" @channels aliases = [-1] {
^bb0(%x: tensor<16384x16xf32>):
  %0 = ingot.reduce sum %x dims = [0] : (tensor<16384x16xf32>) -> tensor<16xf32>
  %1 = ingot.squared_deviations %x dims = [0] : (tensor<16384x16xf32>) -> tensor<16xf32>
  ingot.yield %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// Tests that sums along the innermost dimension have one partial result in each thread, whatever it reads at once.
// CHECK-LABEL: gpu.func @pictures(
//       CHECK:   %[[OWN:.*]]:4 = scf.for {{.*}} -> (i32, f32, f32, f32)
//       CHECK:   %[[COUNT:.*]] = arith.sitofp %[[OWN]]#0 : i32 to f32
//       CHECK:   %[[SAFE:.*]] = arith.maximumf %[[COUNT]], %cst
//       CHECK:   %[[OFFSET:.*]] = arith.divf %[[OWN]]#2, %[[SAFE]]
//       CHECK:   arith.addf %[[OWN]]#1, %[[OFFSET]]
//       CHECK:   %[[REST:.*]] = arith.mulf %[[OWN]]#2, %[[OFFSET]]
//       CHECK:   arith.subf %[[OWN]]#3, %[[REST]]
exec.kernel "reduction" @pictures aliases = [-1] {
^bb0(%x: tensor<8x256x16x16xf32>):
  %0 = ingot.squared_deviations %x dims = [0, 2, 3] : (tensor<8x256x16x16xf32>) -> tensor<256xf32>
  ingot.yield %0 : tensor<256xf32>
}

// RUN: ingot-opt --ingot-emit-cuda-kernels %s | FileCheck %s

// The memory of addresses starts behind those of shards.
ingot.state moment @m : tensor<64xf32> = dense<0.0> : tensor<64xf32> {exec.offset = 0 : i64, shard = #ingot.shard<first = 0, of = 64>}

// CHECK: module attributes {exec.messages = [#exec.message<offset = 8, rank_bytes = 1300>, #exec.message<offset = 16, rank_bytes = 32>]}

// Messages are behind what is planned: 1,300 bytes, then 32, then one count for each block of threads.
// CHECK-LABEL: exec.step @train_step
// CHECK-SAME: arena_bytes = 17856
exec.step @train_step attributes {arena_bytes = 17856 : i64} {
  %0 = exec.buffer arena 0 : memref<1100xf32>
  %1 = exec.buffer arena 8192 : memref<2000xf32>
  %2 = exec.buffer arena 16320 : memref<16xf32>
  // CHECK: %[[MESSAGE:.*]] = exec.buffer arena 16384 : memref<325xi32>
  // CHECK-NEXT: exec.launch_grid @device::@message_0_encode blocks 1 of 256(%[[A:.*]]) -> (%[[MESSAGE]])
  // CHECK-NEXT: %[[ALL:.*]] = exec.buffer shard 8 : memref<65536x325xi32>
  // CHECK-NEXT: exec.call @ingot_gather_messages_start(message = %[[MESSAGE]], messages = %[[ALL]]) <bytes = 1300, axes = 2> {bytes = 1300 : i64}
  exec.call @ingot_all_reduce_start(bucket = %0) <elements = 1100, compression = int8> {scratch = #exec.scratch<1344 at 16384>} : memref<1100xf32>
  // CHECK: %[[KEPT:.*]] = exec.buffer arena 17728 : memref<8xi32>
  // CHECK-NEXT: %[[COUNTS:.*]] = exec.buffer arena 17792 : memref<1xi32>
  // CHECK-NEXT: exec.launch_grid @device::@message_1_count blocks 1 of 256(%[[B:.*]]) -> (%[[COUNTS]])
  // CHECK-NEXT: exec.launch_grid @device::@message_1_encode blocks 1 of 256(%[[B]], %[[COUNTS]]) -> (%[[KEPT]])
  // CHECK: exec.call @ingot_gather_messages_start({{.*}}) <bytes = 32, number = 1, axes = 2>
  exec.call @ingot_all_reduce_start(bucket = %1) <elements = 2000, number = 1, compression = topk, k = 4> {scratch = #exec.scratch<128 at 17728>} : memref<2000xf32>
  // Others are as they were.
  // CHECK: exec.call @ingot_all_reduce_start(bucket = %{{.*}}) <elements = 16, number = 2>
  exec.call @ingot_all_reduce_start(bucket = %2) <elements = 16, number = 2> : memref<16xf32>
  // CHECK: %[[AGAIN:.*]] = exec.buffer shard 8 : memref<65536x325xi32>
  // CHECK-NEXT: exec.call @ingot_gather_messages_wait(messages = %[[AGAIN]]) <bytes = 1300, axes = 2> {bytes = 1300 : i64}
  // CHECK-NEXT: exec.launch_grid @device::@message_0_decode blocks 2 of 256(%[[AGAIN]]) -> (%[[A]])
  // CHECK-SAME: bytes = 5700 : i64, extent = -1 : i64
  exec.call @ingot_all_reduce_wait(bucket = %0) <elements = 1100, compression = int8> : memref<1100xf32>
  // CHECK: exec.call @ingot_gather_messages_wait({{.*}}) <bytes = 32, number = 1, axes = 2>
  // CHECK: exec.launch_grid @device::@message_1_decode blocks 1 of 256
  exec.call @ingot_all_reduce_wait(bucket = %1) <elements = 2000, number = 1, compression = topk, k = 4> : memref<2000xf32>
  // CHECK: exec.call @ingot_all_reduce_wait(bucket = %{{.*}}) <elements = 16, number = 2>
  exec.call @ingot_all_reduce_wait(bucket = %2) <elements = 16, number = 2> : memref<16xf32>
}

// Another step's bucket of the same kind has the same kernels and the same memory.
// CHECK-LABEL: exec.step @other_step
exec.step @other_step attributes {arena_bytes = 8192 : i64} {
  %0 = exec.buffer arena 0 : memref<1100xf32>
  // CHECK: exec.launch_grid @device::@message_0_encode
  // CHECK: exec.buffer shard 8
  exec.call @ingot_all_reduce_start(bucket = %0) <elements = 1100, compression = int8> {scratch = #exec.scratch<1344 at 16384>} : memref<1100xf32>
  // CHECK: exec.launch_grid @device::@message_0_decode
  exec.call @ingot_all_reduce_wait(bucket = %0) <elements = 1100, compression = int8> : memref<1100xf32>
}

// Warps agree on a scale; a range of ranks is behind the buffers.
// CHECK-LABEL: gpu.func @message_0_encode(
// CHECK: gpu.shuffle xor
// CHECK: math.roundeven
// CHECK-LABEL: gpu.func @message_0_decode(%{{.*}}: memref<65536x325xi32>, %{{.*}}: memref<1100xf32>, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-LABEL: gpu.func @message_1_count(
// CHECK-LABEL: gpu.func @message_1_encode(
// CHECK: gpu.barrier
// CHECK-LABEL: gpu.func @message_1_decode(
// CHECK-NOT: gpu.func

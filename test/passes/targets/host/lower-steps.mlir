// RUN: ingot-opt %s --ingot-lower-steps --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-lower-steps --split-input-file | FileCheck %s --check-prefix=BLOBS
// RUN: ingot-opt %s --ingot-lower-steps --split-input-file | FileCheck %s --check-prefix=LONG
// RUN: %python %S/Inputs/copies.py 64 | ingot-opt --ingot-lower-steps | FileCheck %s --check-prefix=WHOLE
// RUN: %python %S/Inputs/copies.py 65 | ingot-opt --ingot-lower-steps | FileCheck %s --check-prefix=PARTS

// Tests that a step becomes a function of the runtime's context, the state block
// and the arena, that a launch passes a table of its buffers' addresses, each
// of which is computed once, and that states and the step are gone.
//   CHECK-NOT: ingot.state
//       CHECK: llvm.func internal @scale(
//       CHECK: func.func private @helper()
//   CHECK-NOT: func.func
// CHECK-LABEL: llvm.func internal @train_step(
//  CHECK-SAME:   %[[CONTEXT:.*]]: !llvm.ptr, %[[STATE:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
//       CHECK:   %[[TABLE:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
//       CHECK:   %[[CALL:.*]] = llvm.mlir.addressof @train_step.call.0
//       CHECK:   %[[FIRST:.*]] = llvm.getelementptr %[[TABLE]][0]
//       CHECK:   %[[OFFSET:.*]] = llvm.mlir.constant(128 : i64)
//       CHECK:   %[[W:.*]] = llvm.getelementptr %[[STATE]][%[[OFFSET]]]
//       CHECK:   llvm.store %[[W]], %[[FIRST]]
//       CHECK:   %[[SECOND:.*]] = llvm.getelementptr %[[TABLE]][1]
//       CHECK:   %[[OFFSET:.*]] = llvm.mlir.constant(64 : i64)
//       CHECK:   %[[A:.*]] = llvm.getelementptr %[[ARENA]][%[[OFFSET]]]
//       CHECK:   llvm.store %[[A]], %[[SECOND]]
//       CHECK:   llvm.call @ingot_launch(%[[CONTEXT]], %[[CALL]], %[[TABLE]])
//   CHECK-NOT:   llvm.getelementptr {{.*}}, i8
//       CHECK:   llvm.store %[[A]],
//       CHECK:   llvm.store %[[W]],
//       CHECK:   llvm.call @ingot_launch(%[[CONTEXT]], %{{.*}}, %[[TABLE]])
//       CHECK:   %[[CALL:.*]] = llvm.mlir.addressof @train_step.call.2
//       CHECK:   llvm.call @ingot_copy(%[[CONTEXT]], %[[CALL]], %[[A]], %[[W]])
//  CHECK-NEXT:   llvm.return

// Tests that the descriptor of a launch has the kernel's entry, how many
// iterations there are and how many belong together.
// CHECK-LABEL: llvm.mlir.global internal constant @train_step.call.0()
//       CHECK:   %[[ENTRY:.*]] = llvm.mlir.addressof @scale.entry
//       CHECK:   %[[EXTENT:.*]] = llvm.mlir.constant(8 : i64)
//       CHECK:   %[[GRAIN:.*]] = llvm.mlir.constant(4 : i64)
//       CHECK:   llvm.insertvalue %[[ENTRY]], %{{.*}}[0]
//       CHECK:   llvm.insertvalue %[[EXTENT]], %{{.*}}[1]
//       CHECK:   llvm.insertvalue %[[GRAIN]], %{{.*}}[2]

// Tests that a kernel has one entry, which loads the addresses and hands on the
// range of iterations.
// CHECK-LABEL: llvm.func internal @scale.entry(
//  CHECK-SAME:   %[[TABLE:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
//       CHECK:   %[[X:.*]] = llvm.load
//       CHECK:   %[[SLOT:.*]] = llvm.getelementptr %[[TABLE]][1]
//       CHECK:   %[[Y:.*]] = llvm.load %[[SLOT]]
//       CHECK:   llvm.call @scale(%[[X]], %[[Y]], %[[BEGIN]], %[[END]])
//   CHECK-NOT: @scale.entry(
// CHECK-LABEL: llvm.mlir.global internal constant @train_step.call.1()
//       CHECK:   llvm.mlir.addressof @scale.entry
//   CHECK-NOT: @scale.entry(

// Tests that a step that does nothing has a function, too, and that the table
// of the module names both.
//       CHECK: llvm.func internal @forward(
//   CHECK-NOT:   llvm.call
//       CHECK:   llvm.return
//       CHECK: constant @train_step.name("train_step\00")
//       CHECK: constant @forward.name("forward\00")
//       CHECK: constant @ingot_manifest("{}")
// CHECK-LABEL: @ingot_functions() {{.*}} : !llvm.array<2 x struct<(ptr, ptr)>>
//       CHECK:   addressof @train_step.name
//       CHECK:   addressof @train_step :
//       CHECK:   addressof @forward.name
//       CHECK:   addressof @forward :
// CHECK-LABEL: llvm.mlir.global external constant @ingot_module()
//       CHECK:   %[[STEPS:.*]] = llvm.mlir.constant(2 : i32)
//       CHECK:   %[[MANIFEST:.*]] = llvm.mlir.addressof @ingot_manifest
//       CHECK:   llvm.mlir.constant(2 : i64)
//   CHECK-NOT:   _binary_ingot
//       CHECK:   insertvalue %[[STEPS]], %{{.*}}[1]
//       CHECK:   insertvalue %[[MANIFEST]], %{{.*}}[3]
//   CHECK-NOT: _binary_ingot
module {
  ingot.state parameter @w : tensor<8xf32> = dense<0.0> : tensor<8xf32>
  llvm.func @scale(%x: !llvm.ptr, %y: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
  exec.step @train_step attributes {arena_bytes = 128 : i64} {
    %w = exec.buffer state 128 : memref<8xf32>
    %a = exec.buffer arena 64 : memref<8xf32>
    exec.launch @scale(%w) -> (%a) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32> -> memref<8xf32>
    exec.launch @scale(%a) -> (%w) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32> -> memref<8xf32>
    exec.call @ingot_copy(from = %a, to = %w) <bytes = 32, element_bytes = 4> : memref<8xf32>, memref<8xf32>
  }
  exec.step @forward attributes {arena_bytes = 64 : i64} {
  }
  func.func private @helper()
}

// -----

// Tests that shards are found once, their addresses in the table that the
// runtime has; and that a kernel of a GPU is found by its name, and has no entry.
// CHECK-LABEL: llvm.func internal @train_step(
//  CHECK-SAME:   %[[CONTEXT:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
//       CHECK:   %[[SHARDS:.*]] = llvm.call @ingot_shards(%[[CONTEXT]])
//       CHECK:   %[[AT:.*]] = llvm.mlir.constant(64 : i64)
//       CHECK:   %[[SLOT:.*]] = llvm.getelementptr %[[SHARDS]][%[[AT]]]
//       CHECK:   %[[W:.*]] = llvm.load %[[SLOT]]
//       CHECK:   llvm.store %[[W]],
//       CHECK:   llvm.call @ingot_launch_grid(
//   CHECK-NOT:   @ingot_shards
//       CHECK:   %[[AT:.*]] = llvm.mlir.constant(72 : i64)
//       CHECK:   %[[SLOT:.*]] = llvm.getelementptr %[[SHARDS]][%[[AT]]]
//       CHECK:   %[[TO:.*]] = llvm.load %[[SLOT]]
//       CHECK:   llvm.call @ingot_copy(%[[CONTEXT]], %{{.*}}, %{{.*}}, %[[TO]])
// What a call may have, such as scratch memory, and this one has not, is null.
//       CHECK:   %[[SCALES:.*]] = llvm.mlir.zero
//       CHECK:   %[[OTHERS:.*]] = llvm.mlir.zero
//       CHECK:   %[[SCRATCH:.*]] = llvm.mlir.zero
//       CHECK:   llvm.call @ingot_matmul(%[[CONTEXT]], %{{.*}}, %{{.*}}, %[[SCALES]], %[[OTHERS]], %{{.*}}, %[[SCRATCH]])
// CHECK-LABEL: constant @train_step.call.0()
//       CHECK:   %[[NAME:.*]] = llvm.mlir.addressof @kernel.name
//       CHECK:   %[[CODE:.*]] = llvm.mlir.zero
//       CHECK:   llvm.insertvalue %[[NAME]], %{{.*}}[0]
//       CHECK:   llvm.insertvalue %[[CODE]], %{{.*}}[1]
//       CHECK: constant @kernel.name("kernel\00")
//   CHECK-NOT: @kernel.entry
module {
  exec.step @train_step attributes {arena_bytes = 1024 : i64} {
    %w = exec.buffer shard 64 : memref<8xf32>
    %a = exec.buffer arena 0 : memref<8xf32>
    %b = exec.buffer shard 72 : memref<8xf32>
    %l = exec.buffer arena 128 : memref<2x4xf32>
    %r = exec.buffer arena 256 : memref<4x2xf32>
    %m = exec.buffer arena 512 : memref<2x2xf32>
    exec.launch_grid @device::@kernel blocks 3 of 256(%w) -> (%a) {flops = 8 : i64, shared = 16 : i64} : memref<8xf32> -> memref<8xf32>
    exec.call @ingot_copy(from = %a, to = %b) <bytes = 32, element_bytes = 4> : memref<8xf32>, memref<8xf32>
    exec.call @ingot_matmul(a = %l, b = %r, c = %m) <batch = 1, m = 2, n = 2, k = 4> {flops = 32 : i64} : memref<2x4xf32>, memref<4x2xf32>, memref<2x2xf32>
  }
}

// Tests that a step of many calls is a function that calls its parts, which
// count on where the part before ended.
//   WHOLE-NOT: @step.part
//       WHOLE: llvm.func internal @step(
// WHOLE-COUNT-64: llvm.call @ingot_copy(
//   WHOLE-NOT: llvm.call
// PARTS-LABEL: llvm.func internal @step(
//  PARTS-SAME:   %[[CONTEXT:.*]]: !llvm.ptr, %[[STATE:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
//       PARTS:   llvm.call @step.part.0(%[[CONTEXT]], %[[STATE]], %[[ARENA]])
//       PARTS:   llvm.call @step.part.64(%[[CONTEXT]], %[[STATE]], %[[ARENA]])
//       PARTS:   llvm.return
// PARTS-LABEL: llvm.func internal @step.part.0(
//  PARTS-SAME:   no_inline
// PARTS-COUNT-64: llvm.call @ingot_copy(
//   PARTS-NOT:   llvm.call
// PARTS-LABEL: llvm.func internal @step.part.64(
//  PARTS-SAME:   no_inline
//       PARTS:   %[[CALL:.*]] = llvm.mlir.addressof @step.call.64
//       PARTS:   llvm.call @ingot_copy(%{{.*}}, %[[CALL]],
//   PARTS-NOT:   llvm.call

// -----

// Tests what the link provides where there is something, and that PTX ends in a
// zero that does not count.
// BLOBS-LABEL: llvm.func internal @nothing(
//       BLOBS: constant @ingot_manifest("MANIFEST")
//       BLOBS: constant @ingot_device_code("CODE")
//       BLOBS: constant @ingot_device_ptx("TEXT\00")
//       BLOBS: constant @ingot_module()
//       BLOBS:   llvm.mlir.constant(8 : i64)
//       BLOBS:   llvm.mlir.addressof @_binary_ingot_weights_start
//       BLOBS:   llvm.mlir.constant(5 : i64)
//       BLOBS:   llvm.mlir.addressof @_binary_ingot_export_start
//       BLOBS:   llvm.mlir.constant(6 : i64)
//       BLOBS:   llvm.mlir.constant(4 : i64)
//   BLOBS-DAG: llvm.mlir.global external constant @_binary_ingot_weights_start() {{.*}} : i8
//   BLOBS-DAG: llvm.mlir.global external constant @_binary_ingot_export_start() {{.*}} : i8
//   BLOBS-NOT: exec.
module attributes {exec.manifest = "MANIFEST", exec.device_code = "CODE", exec.device_text = "TEXT",
                   exec.weight_bytes = 5 : i64, exec.export_bytes = 6 : i64} {
  exec.step @nothing attributes {arena_bytes = 0 : i64} {
  }
}

// -----

// Tests that a loop fills a long table of addresses from their places: twice the
// offset, plus one in the arena.
// LONG-LABEL: llvm.func internal @long(
//  LONG-SAME:   %{{.*}}: !llvm.ptr, %[[STATE:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
//       LONG:   %[[TABLE:.*]] = llvm.alloca
//       LONG:   %[[PLACES:.*]] = llvm.mlir.addressof @long.table.0
//       LONG:   %[[SIZE:.*]] = llvm.mlir.constant(16 : i64)
//       LONG:   llvm.call @ingot_fill_table(%[[TABLE]], %[[PLACES]], %[[SIZE]], %[[STATE]], %[[ARENA]])
//   LONG-NOT:   llvm.store
//       LONG:   llvm.call @ingot_launch(
//       LONG: constant @long.table.0(dense<[256, 129, 129,
//       LONG: llvm.func internal @ingot_fill_table(
//       LONG:   llvm.store
module {
  llvm.func @many(%b0: !llvm.ptr, %b1: !llvm.ptr, %b2: !llvm.ptr, %b3: !llvm.ptr, %b4: !llvm.ptr, %b5: !llvm.ptr, %b6: !llvm.ptr, %b7: !llvm.ptr, %b8: !llvm.ptr, %b9: !llvm.ptr, %b10: !llvm.ptr, %b11: !llvm.ptr, %b12: !llvm.ptr, %b13: !llvm.ptr, %b14: !llvm.ptr, %b15: !llvm.ptr, %from: i64, %to: i64) {
    llvm.return
  }
  exec.step @long attributes {arena_bytes = 256 : i64} {
    %w = exec.buffer state 128 : memref<8xf32>
    %a = exec.buffer arena 64 : memref<8xf32>
    exec.launch @many(%w, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a) -> (%a) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32> -> memref<8xf32>
  }
}

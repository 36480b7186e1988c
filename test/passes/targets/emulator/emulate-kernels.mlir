// RUN: ingot-opt %s --ingot-emulate-kernels --split-input-file --mlir-print-local-scope | FileCheck %s

// Tests that a function of the GPU becomes one of its buffers, the memory that a
// block shares, the thread and the block; that the parts of shared memory
// follow each other; and that nothing of the GPU is left.
//   CHECK-NOT: gpu.module
// CHECK-LABEL: func.func private @exchange(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: memref<4x8xf32>, %[[SHARED:[a-z0-9]+]]: memref<160xi8>, %[[THREAD:[a-z0-9]+]]: index, %[[BLOCK:[a-z0-9]+]]: index) {
//   CHECK-NOT:   gpu.
//       CHECK:   %[[BEGIN:.*]] = arith.constant 0 : index
//       CHECK:   %[[F:.*]] = memref.view %[[SHARED]][%[[BEGIN]]][] : memref<160xi8> to memref<32xf32>
//       CHECK:   %[[NEXT:.*]] = arith.constant 128 : index
//       CHECK:   %[[I:.*]] = memref.view %[[SHARED]][%[[NEXT]]][] : memref<160xi8> to memref<4xi64>
//       CHECK:   %[[BLOCKS:.*]] = call @ingot_emulator_blocks()

// Tests that the bounds of each index are checked before an access, and that
// the emulator is told its address, its bytes and whether it writes.
//       CHECK:   %[[ZERO:.*]] = arith.constant 0 : index
//       CHECK:   %[[ROWS:.*]] = arith.constant 4 : index
//       CHECK:   call @ingot_emulator_check(%[[BLOCK]], %[[ROWS]])
//       CHECK:   %[[ROW:.*]] = arith.muli %[[ZERO]], %[[ROWS]]
//       CHECK:   %[[ROW2:.*]] = arith.addi %[[ROW]], %[[BLOCK]]
//       CHECK:   %[[COLUMNS:.*]] = arith.constant 8 : index
//       CHECK:   call @ingot_emulator_check(%[[THREAD]], %[[COLUMNS]])
//       CHECK:   %[[AT:.*]] = arith.muli %[[ROW2]], %[[COLUMNS]]
//       CHECK:   %[[AT2:.*]] = arith.addi %[[AT]], %[[THREAD]]
//       CHECK:   %[[SIZE:.*]] = arith.constant 4 : index
//       CHECK:   %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
//       CHECK:   %[[BYTES:.*]] = arith.muli %[[AT2]], %[[SIZE]]
//       CHECK:   %[[ADDRESS:.*]] = arith.addi %[[BASE]], %[[BYTES]]
//       CHECK:   %[[READS:.*]] = arith.constant 0 : i32
//       CHECK:   call @ingot_emulator_access(%[[ADDRESS]], %[[SIZE]], %[[READS]])
//  CHECK-NEXT:   %[[V:.*]] = memref.load %[[X]][%[[BLOCK]], %[[THREAD]]]
//       CHECK:   memref.extract_aligned_pointer_as_index %[[F]]
//       CHECK:   %[[WRITES:.*]] = arith.constant 1 : i32
//       CHECK:   call @ingot_emulator_access(%{{.*}}, %{{.*}}, %[[WRITES]])
//  CHECK-NEXT:   memref.store %[[V]], %[[F]][%[[THREAD]]]
//       CHECK:   %[[SIZE:.*]] = arith.constant 8 : index
//       CHECK:   memref.extract_aligned_pointer_as_index %[[I]]
//       CHECK:   call @ingot_emulator_access(%{{.*}}, %[[SIZE]], %{{.*}})
//  CHECK-NEXT:   memref.store %{{.*}}, %[[I]][%[[THREAD]]]

// Tests that barriers and shuffles are calls of the emulator, which exchanges
// 32 bits of any type.
//       CHECK:   call @ingot_emulator_barrier()
//       CHECK:   %[[BITS:.*]] = arith.bitcast %[[V]] : f32 to i32
//       CHECK:   %[[OTHER:.*]] = call @ingot_emulator_shuffle(%[[BITS]], %[[LANE:.*]]) :
//       CHECK:   %[[FLOAT:.*]] = arith.bitcast %[[OTHER]] : i32 to f32
//   CHECK-NOT:   arith.bitcast
//       CHECK:   call @ingot_emulator_shuffle(%[[LANE]], %[[LANE]]) :
//   CHECK-NOT:   arith.bitcast
//       CHECK:   call @ingot_emulator_check(%[[BLOCKS]],
//       CHECK:   memref.store %[[FLOAT]], %[[X]][%[[BLOCKS]], %[[THREAD]]]
//  CHECK-NEXT:   return

// Tests that the host's functions stay as they are.
// CHECK-LABEL: func.func @host(
//  CHECK-SAME:   %[[Y:.*]]: memref<8xf32>, %[[AT:.*]]: index)
//  CHECK-NEXT:   memref.load %[[Y]][%[[AT]]]
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @exchange(%x: memref<4x8xf32> {llvm.noalias})
        workgroup(%floats: memref<32xf32, #gpu.address_space<workgroup>>, %integers: memref<4xi64, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %blocks = gpu.grid_dim x
      %0 = memref.load %x[%b, %t] : memref<4x8xf32>
      memref.store %0, %floats[%t] : memref<32xf32, #gpu.address_space<workgroup>>
      %seven = arith.constant 7 : i64
      memref.store %seven, %integers[%t] : memref<4xi64, #gpu.address_space<workgroup>>
      gpu.barrier
      %one = arith.constant 1 : i32
      %width = arith.constant 32 : i32
      %1, %valid = gpu.shuffle xor %0, %one, %width : f32
      %2, %valid2 = gpu.shuffle xor %one, %one, %width : i32
      memref.store %1, %x[%blocks, %t] : memref<4x8xf32>
      gpu.return
    }
  }
  func.func @host(%y: memref<8xf32>, %i: index) -> f32 {
    %0 = memref.load %y[%i] : memref<8xf32>
    return %0 : f32
  }
}

// -----

// Tests that the numbers behind the buffers come from memory, as the emulator
// passes addresses only; that booleans take a byte; and that a function
// that shares nothing gets one byte all the same.
// CHECK-LABEL: func.func private @range(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: memref<8xi1>, %[[RANGE:[a-z0-9]+]]: memref<2xi64>, %{{[a-z0-9]+}}: memref<1xi8>, %[[THREAD:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index) {
//       CHECK:   %[[FIRST:.*]] = arith.constant 0 : index
//       CHECK:   %[[BEGIN:.*]] = memref.load %[[RANGE]][%[[FIRST]]]
//       CHECK:   %[[SECOND:.*]] = arith.constant 1 : index
//       CHECK:   %[[END:.*]] = memref.load %[[RANGE]][%[[SECOND]]]
//       CHECK:   %[[LESS:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
//       CHECK:   call @ingot_emulator_check(%[[THREAD]],
//       CHECK:   %[[SIZE:.*]] = arith.constant 1 : index
//       CHECK:   call @ingot_emulator_access(%{{.*}}, %[[SIZE]], %{{.*}})
//  CHECK-NEXT:   memref.store %[[LESS]], %[[X]][%[[THREAD]]]

// A function without buffers or numbers.
// CHECK-LABEL: func.func private @nothing(
//  CHECK-SAME:   %{{[a-z0-9]+}}: memref<1xi8>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index) {
//  CHECK-NEXT:   return
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @range(%x: memref<8xi1>, %begin: i64, %end: i64) kernel {
      %t = gpu.thread_id x
      %0 = arith.cmpi slt, %begin, %end : i64
      memref.store %0, %x[%t] : memref<8xi1>
      gpu.return
    }
    gpu.func @nothing() kernel {
      gpu.return
    }
  }
}

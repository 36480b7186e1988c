// RUN: ingot-opt %s --ingot-convert-device-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Tests that buffers are bare pointers, aligned as memory is laid out, that
// indices have 32 bits where all elements can be told apart by them, and that
// threads, memory that a block shares, barriers and shuffles are NVVM's.
// CHECK-LABEL: gpu.module @device
//       CHECK: llvm.mlir.global internal @[[SHARED:.*]]() {addr_space = 3 : i32} : !llvm.array<32 x f32>
//       CHECK: llvm.func @small(
//  CHECK-SAME:   %[[X:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %[[Y:.*]]: !llvm.ptr {llvm.align = 64 : i64}, %{{.*}}: i64)
//  CHECK-SAME:   nvvm.maxntid = array<i32: 256, 1, 1>
//   CHECK-DAG:   llvm.insertvalue %[[X]], %{{.*}}[1] : !llvm.struct<(ptr, ptr, i32,
//   CHECK-DAG:   llvm.insertvalue %[[Y]], %{{.*}}[1] : !llvm.struct<(ptr, ptr, i32,
//   CHECK-DAG:   llvm.mlir.addressof @[[SHARED]]
//       CHECK:   %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
//       CHECK:   %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   %[[I:.*]] = llvm.add %[[THREAD]], %[[BLOCK]] : i32
//       CHECK:   %[[PLACE:.*]] = llvm.getelementptr {{.*}}[%[[I]]] : (!llvm.ptr, i32) -> !llvm.ptr, f32
//       CHECK:   %[[V:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> f32
//       CHECK:   llvm.store %[[V]], %{{.*}} : f32, !llvm.ptr<3>
//       CHECK:   nvvm.barrier0
//       CHECK:   %[[OTHER:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[V]],
//       CHECK:   llvm.store %[[OTHER]], %{{.*}} : f32, !llvm.ptr
//       CHECK:   llvm.return

// Tests that one buffer of more than 2^30 elements makes the indices of its function 64
// bits, of no other.
//       CHECK: llvm.func @large(
//   CHECK-NOT:   !llvm.struct<(ptr, ptr, i32,
//       CHECK:   %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
//       CHECK:   %[[WIDE:.*]] = llvm.sext %[[THREAD]] : i32 to i64
//       CHECK:   llvm.getelementptr {{.*}}[%[[WIDE]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
//       CHECK:   llvm.getelementptr {{.*}}[%[[WIDE]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
//       CHECK:   llvm.return

// Tests that the host's functions stay as they are.
//       CHECK: func.func @host(%{{.*}}: memref<8xf32>)
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @small(%x: memref<1073741824xf32> {llvm.noalias}, %y: memref<8xf32>, %n: i64)
        workgroup(%shared: memref<32xf32, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %i = arith.addi %t, %b : index
      %0 = memref.load %x[%i] : memref<1073741824xf32>
      memref.store %0, %shared[%t] : memref<32xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %one = arith.constant 1 : i32
      %width = arith.constant 32 : i32
      %1, %valid = gpu.shuffle xor %0, %one, %width : f32
      memref.store %1, %y[%i] : memref<8xf32>
      gpu.return
    }
    gpu.func @large(%x: memref<1073741825xf32>, %y: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<1073741825xf32>
      memref.store %0, %y[%t] : memref<8xf32>
      gpu.return
    }
  }
  func.func @host(%x: memref<8xf32>) {
    return
  }
}

// -----

// Tests that libdevice computes what no instruction does, with one declaration
// for each function and type, and that arithmetic is instructions.
// CHECK-LABEL: gpu.module @device
//   CHECK-DAG: llvm.func @__nv_expf(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_exp(f64) -> f64
//   CHECK-DAG: llvm.func @__nv_logf(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_log1pf(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_tanhf(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_erff(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_sinf(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_cosf(f32) -> f32
//   CHECK-DAG: llvm.func @__nv_powf(f32, f32) -> f32
//   CHECK-NOT: llvm.func @__nv_
//       CHECK: llvm.func @math(
//       CHECK:   %[[A:.*]] = llvm.load {{.*}} -> f32
//  CHECK-NEXT:   %[[B:.*]] = llvm.call @__nv_expf(%[[A]]) : (f32) -> f32
//  CHECK-NEXT:   %[[C:.*]] = llvm.call @__nv_logf(%[[B]])
//  CHECK-NEXT:   %[[D:.*]] = llvm.call @__nv_log1pf(%[[C]])
//  CHECK-NEXT:   %[[E:.*]] = llvm.call @__nv_tanhf(%[[D]])
//  CHECK-NEXT:   %[[F:.*]] = llvm.call @__nv_erff(%[[E]])
//  CHECK-NEXT:   %[[G:.*]] = llvm.call @__nv_sinf(%[[F]])
//  CHECK-NEXT:   %[[H:.*]] = llvm.call @__nv_cosf(%[[G]])
//  CHECK-NEXT:   %[[I:.*]] = llvm.call @__nv_powf(%[[H]], %[[A]])
//  CHECK-NEXT:   %[[J:.*]] = llvm.call @__nv_expf(%[[I]])
//  CHECK-NEXT:   %[[K:.*]] = llvm.fmul %[[J]], %[[J]]
//  CHECK-NEXT:   %[[L:.*]] = llvm.fpext %[[K]] : f32 to f64
//  CHECK-NEXT:   llvm.call @__nv_exp(%[[L]]) : (f64) -> f64
module {
  gpu.module @device {
    gpu.func @math(%x: memref<8xf32>, %y: memref<8xf64>) kernel {
      %t = gpu.thread_id x
      %a = memref.load %x[%t] : memref<8xf32>
      %b = math.exp %a : f32
      %c = math.log %b : f32
      %d = math.log1p %c : f32
      %e = math.tanh %d : f32
      %f = math.erf %e : f32
      %g = math.sin %f : f32
      %h = math.cos %g : f32
      %i = math.powf %h, %a : f32
      %j = math.exp %i : f32
      %k = arith.mulf %j, %j : f32
      %l = arith.extf %k : f32 to f64
      %m = math.exp %l : f64
      memref.store %m, %y[%t] : memref<8xf64>
      gpu.return
    }
  }
}

// -----

// Tests that booleans are whole bytes in memory, and that bf16 is moved as 16
// bits.
// CHECK-LABEL: llvm.func @types(
//       CHECK:   %[[BYTE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i8
//       CHECK:   %[[BIT:.*]] = llvm.icmp "ne" %[[BYTE]]
//       CHECK:   %[[NOT:.*]] = llvm.xor %[[BIT]]
//       CHECK:   %[[STORED:.*]] = llvm.zext %[[NOT]] : i1 to i8
//       CHECK:   llvm.store %[[STORED]], %{{.*}} : i8, !llvm.ptr
//       CHECK:   %[[HALF:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i16
//       CHECK:   llvm.store %[[HALF]], %{{.*}} : i16, !llvm.ptr
module {
  gpu.module @device {
    gpu.func @types(%x: memref<8xi1>, %y: memref<8xbf16>) kernel {
      %t = gpu.thread_id x
      %true = arith.constant true
      %zero = arith.constant 0 : index
      %0 = memref.load %x[%t] : memref<8xi1>
      %1 = arith.xori %0, %true : i1
      memref.store %1, %x[%t] : memref<8xi1>
      %2 = memref.load %y[%t] : memref<8xbf16>
      memref.store %2, %y[%zero] : memref<8xbf16>
      gpu.return
    }
  }
}

// -----

// Tests that an op of a kernel that has no counterpart is an error at the op.
module {
  gpu.module @device {
    gpu.func @unknown(%x: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<8xf32>
      // expected-error@+1 {{failed to legalize operation 'gpu.all_reduce'}}
      %1 = gpu.all_reduce add %0 uniform {} : (f32) -> (f32)
      memref.store %1, %x[%t] : memref<8xf32>
      gpu.return
    }
  }
}

// -----

// Tests that a square root is rounded as on CPUs, not libdevice's
// approximation.
//   CHECK-NOT: __nv_sqrtf
// CHECK-LABEL: llvm.func @roots(
//       CHECK:   %[[ROOT:.*]] = llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
//       CHECK:   llvm.intr.sqrt(%[[ROOT]]) : (f32) -> f32
//       CHECK:   llvm.fdiv %{{.*}} : f32
module {
  gpu.module @device {
    gpu.func @roots(%x: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %0 = memref.load %x[%t] : memref<8xf32>
      %1 = math.sqrt %0 : f32
      %2 = math.rsqrt %1 : f32
      memref.store %2, %x[%t] : memref<8xf32>
      gpu.return
    }
  }
}

// RUN: ingot-opt %s --ingot-convert-kernels | FileCheck %s

// Booleans are whole bytes in memory, so that loops over them vectorize.
// CHECK-LABEL: llvm.func @negate
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i8
// CHECK: %[[BIT:.*]] = llvm.icmp "ne" %[[BYTE]]
// CHECK: %[[NOT:.*]] = llvm.xor %[[BIT]]
// CHECK: %[[STORED:.*]] = llvm.zext %[[NOT]] : i1 to i8
// CHECK: llvm.store %[[STORED]]
func.func private @negate(%x: memref<8xi1>, %y: memref<8xi1>, %i: index) {
  %true = arith.constant true
  %0 = memref.load %x[%i] : memref<8xi1>
  %1 = arith.xori %0, %true : i1
  memref.store %1, %y[%i] : memref<8xi1>
  return
}

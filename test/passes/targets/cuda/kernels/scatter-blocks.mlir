// RUN: ingot-opt %s --ingot-emit-cuda-kernels=threads=131072 --cse --canonicalize | FileCheck %s

// Tests that the gradient of an embedding has a block for each range of rows, which reads eight indices a thread at
// once, and that a thread has the updates of eight positions, of 16 bytes each, in flight.
// CHECK: exec.launch_grid @device::@embedding blocks 508 of 256
// CHECK-LABEL: gpu.func @embedding(
// CHECK-SAME: %[[I:.*]]: memref<8192xi64> {{.*}}, %[[U:.*]]: memref<6291456xf32> {{.*}}, %[[R:.*]]: memref<38597376xf32>
// CHECK-COUNT-4: memref.store %{{.*}}, %[[R]]
// CHECK: scf.for %{{.*}} = %c0 to %c8192 step %c2048
// CHECK-COUNT-8: memref.load %[[I]]
// CHECK-NOT: memref.load %[[I]]
// CHECK: scf.for
// CHECK-COUNT-32: memref.load %[[U]]
// CHECK-NOT: memref.load %[[U]]
// CHECK: gpu.return
exec.step @step attributes {arena_bytes = 0 : i64} {
  %i = exec.buffer state 0 : memref<8192xi64>
  %u = exec.buffer state 65536 : memref<8192x768xf32>
  %r = exec.buffer state 25231360 : memref<50257x768xf32>
  exec.launch @embedding(%i, %u) -> (%r) {flops = 0 : i64} : memref<8192xi64>, memref<8192x768xf32> -> memref<50257x768xf32>
}

exec.kernel "custom" @embedding aliases = [-1, -1] {
^bb0(%i: tensor<8192xi64>, %u: tensor<8192x768xf32>):
  %0 = ingot.scatter_add %u[%i] dim = 0 : (tensor<8192xi64>, tensor<8192x768xf32>) -> tensor<50257x768xf32>
  ingot.yield %0 : tensor<50257x768xf32>
}

// In place, rows without updates are not accessed.
// CHECK-LABEL: gpu.func @in_place(
// CHECK-NOT: memref.store
// CHECK: gpu.barrier
exec.kernel "custom" @in_place aliases = [-1, -1, 0] {
^bb0(%i: tensor<8192xi64>, %u: tensor<8192x768xf32>, %x: tensor<50304x768xf32>):
  %0 = ingot.scatter_add %u[%i] into %x dim = 0 : (tensor<8192xi64>, tensor<8192x768xf32>, tensor<50304x768xf32>) -> tensor<50304x768xf32>
  ingot.yield %0 : tensor<50304x768xf32>
}

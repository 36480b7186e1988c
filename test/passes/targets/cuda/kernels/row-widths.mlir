// RUN: ingot-opt %s --ingot-emit-cuda-kernels=threads=131072 --cse --canonicalize | FileCheck %s

// Tests that rows of 1,280 elements are read once: 64 threads hold a row, five times four elements each.
// CHECK: exec.launch_grid @device::@w1280 blocks 512 of 64
// CHECK: exec.launch_grid @device::@w1600 blocks 512 of 64
// CHECK: exec.launch_grid @device::@w50304 blocks 512 of 1024
// CHECK-LABEL: gpu.func @w1280(
// CHECK-SAME: %[[X:.*]]: memref<655360xf32> {{.*}}, %{{.*}}: memref<655360xf32>
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-NOT: scf.for
// CHECK-NOT: scf.if
// CHECK-COUNT-20: memref.load %[[X]]
// CHECK-NOT: memref.load %[[X]]
// CHECK: gpu.return
exec.step @step attributes {arena_bytes = 0 : i64} {
  %a = exec.buffer state 0 : memref<512x1280xf32>
  %b = exec.buffer state 2621440 : memref<512x1600xf32>
  %c = exec.buffer state 8388608 : memref<512x50304xf32>
  exec.launch @w1280(%a) -> (%a) {flops = 0 : i64} : memref<512x1280xf32> -> memref<512x1280xf32>
  exec.launch @w1600(%b) -> (%b) {flops = 0 : i64} : memref<512x1600xf32> -> memref<512x1600xf32>
  exec.launch @w50304(%c) -> (%c) {flops = 0 : i64} : memref<512x50304xf32> -> memref<512x50304xf32>
}

exec.kernel "row" @w1280 aliases = [-1] {
^bb0(%x: tensor<512x1280xf32>):
  %m = ingot.reduce max %x dims = [1] : (tensor<512x1280xf32>) -> tensor<512xf32>
  %b = ingot.broadcast %m dims = [0] : tensor<512xf32> -> tensor<512x1280xf32>
  %d = ingot.sub %x, %b : tensor<512x1280xf32>
  %p = ingot.exp %d : tensor<512x1280xf32>
  %s = ingot.reduce sum %p dims = [1] : (tensor<512x1280xf32>) -> tensor<512xf32>
  %t = ingot.broadcast %s dims = [0] : tensor<512xf32> -> tensor<512x1280xf32>
  %r = ingot.div %p, %t : tensor<512x1280xf32>
  ingot.yield %r : tensor<512x1280xf32>
}

// Tests that 64 threads hold a row of 1,600, of which the last four elements of most threads do not exist: these read
// their first elements again, and store nothing.
// CHECK-LABEL: gpu.func @w1600(
// CHECK-SAME: %[[X:.*]]: memref<819200xf32> {{.*}}, %[[Y:.*]]: memref<819200xf32>
// CHECK-NOT: scf.for
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %{{.*}}, %c16
// CHECK: arith.select %[[THERE]]
// CHECK-COUNT-28: memref.load %[[X]]
// CHECK-NOT: memref.load %[[X]]
// CHECK-COUNT-24: memref.store %{{.*}}, %[[Y]]
// CHECK: scf.if %[[THERE]]
// CHECK-COUNT-4: memref.store %{{.*}}, %[[Y]]
// CHECK: gpu.return
exec.kernel "row" @w1600 aliases = [-1] {
^bb0(%x: tensor<512x1600xf32>):
  %m = ingot.reduce max %x dims = [1] : (tensor<512x1600xf32>) -> tensor<512xf32>
  %b = ingot.broadcast %m dims = [0] : tensor<512xf32> -> tensor<512x1600xf32>
  %d = ingot.sub %x, %b : tensor<512x1600xf32>
  %p = ingot.exp %d : tensor<512x1600xf32>
  %s = ingot.reduce sum %p dims = [1] : (tensor<512x1600xf32>) -> tensor<512xf32>
  %t = ingot.broadcast %s dims = [0] : tensor<512xf32> -> tensor<512x1600xf32>
  %r = ingot.div %p, %t : tensor<512x1600xf32>
  ingot.yield %r : tensor<512x1600xf32>
}

// Tests that a row that no block holds is read twice, not three times: the maximum and the sum take one pass.
// CHECK-LABEL: gpu.func @w50304(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<25755648xf32>
// CHECK: scf.for {{.*}} -> (f32, f32)
// CHECK-COUNT-4: memref.load %[[X]]
// CHECK-COUNT-5: math.exp
// CHECK: scf.yield
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-4: memref.load %[[X]]
// CHECK-NOT: scf.for
// CHECK: gpu.return
exec.kernel "row" @w50304 aliases = [-1] {
^bb0(%x: tensor<512x50304xf32>):
  %m = ingot.reduce max %x dims = [1] : (tensor<512x50304xf32>) -> tensor<512xf32>
  %b = ingot.broadcast %m dims = [0] : tensor<512xf32> -> tensor<512x50304xf32>
  %d = ingot.sub %x, %b : tensor<512x50304xf32>
  %p = ingot.exp %d : tensor<512x50304xf32>
  %s = ingot.reduce sum %p dims = [1] : (tensor<512x50304xf32>) -> tensor<512xf32>
  %t = ingot.broadcast %s dims = [0] : tensor<512xf32> -> tensor<512x50304xf32>
  %r = ingot.div %p, %t : tensor<512x50304xf32>
  ingot.yield %r : tensor<512x50304xf32>
}

// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s

// Tests that every op survives printing and parsing.
//       CHECK: exec.kernel "loop" @scale aliases = [0] {
//  CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<8xf32>):
//       CHECK:   ingot.yield
exec.kernel "loop" @scale aliases = [0] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.mul %x, %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}

exec.kernel "epilogue" @finish aliases = [0, -1] {
^bb0(%product: tensor<3x4x5xf32>, %x: tensor<3x4x5xf32>):
  %0 = ingot.add %product, %x : tensor<3x4x5xf32>
  ingot.yield %0 : tensor<3x4x5xf32>
}

exec.kernel "reduction" @sum aliases = [-1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.reduce sum %x dims = [0] : (tensor<8xf32>) -> tensor<f32>
  ingot.yield %0 : tensor<f32>
}

// CHECK-LABEL: func @step
func.func @step() attributes {exec.arena_bytes = 4096 : i64} {
  // CHECK: %[[A:.*]] = exec.buffer arena 0 : memref<8xf32>
  %a = exec.buffer arena 0 : memref<8xf32>
  // CHECK: %[[W:.*]] = exec.buffer state 64 : memref<8xf32>
  %w = exec.buffer state 64 : memref<8xf32>
  // CHECK: exec.launch @scale(%[[A]]) -> (%[[A]]) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32> -> memref<8xf32>
  exec.launch @scale(%a) -> (%a) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32> -> memref<8xf32>
  // CHECK: exec.copy %[[A]] -> %[[W]] : memref<8xf32> -> memref<8xf32>
  exec.copy %a -> %w : memref<8xf32> -> memref<8xf32>
  %l = exec.buffer arena 128 : memref<3x2x4xf32>
  %r = exec.buffer arena 256 : memref<3x2x5xf32>
  %m = exec.buffer arena 512 : memref<3x4x5xf32>
  // CHECK: exec.matmul %{{.*}} transposed, %{{.*}} -> %{{.*}} : memref<3x2x4xf32>, memref<3x2x5xf32> -> memref<3x4x5xf32>
  exec.matmul %l transposed, %r -> %m : memref<3x2x4xf32>, memref<3x2x5xf32> -> memref<3x4x5xf32>
  %s = exec.buffer arena 2048 : memref<256xi8>
  // CHECK: exec.matmul %{{.*}}, %{{.*}} transposed -> %{{.*}} scratch %{{.*}} : memref<256xi8>, : memref<3x4x4xf32>
  %q = exec.buffer arena 3072 : memref<3x4x4xf32>
  exec.matmul %q, %q transposed -> %q scratch %s : memref<256xi8>, : memref<3x4x4xf32>, memref<3x4x4xf32> -> memref<3x4x4xf32>
  // CHECK: exec.matmul_epilogue %{{.*}} transposed, %{{.*}} finish @finish(%{{.*}}) -> (%{{.*}}) scratch %{{.*}} {flops = 9 : i64, product = 0 : i64}
  exec.matmul_epilogue %l transposed, %r finish @finish(%m) -> (%m) scratch %s {flops = 9 : i64, product = 0 : i64} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<3x4x5xf32>, memref<256xi8>
  // CHECK: exec.matmul_epilogue %{{.*}} transposed, %{{.*}}() -> (%{{.*}}) extra @sum(%[[A]]) -> %{{.*}} {flops = 9 : i64, library = array<i64: 0, -1, -1, -1, 1, 0, 3>, product = 0 : i64}
  %e = exec.buffer arena 3520 : memref<f32>
  exec.matmul_epilogue %l transposed, %r() -> (%m) extra @sum(%a) -> %e {flops = 9 : i64, product = 0 : i64, library = array<i64: 0, -1, -1, -1, 1, 0, 3>} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<8xf32>, memref<f32>
  // CHECK: exec.matmul_epilogue_grid %{{.*}} transposed, %{{.*}} finish <@finish blocks 1 of 256 shared 0>(%{{.*}}) -> (%{{.*}}) {flops = 9 : i64, library = array<i64: 0, -1, 1, -1, 2, -1, -1>, product = 0 : i64}
  exec.matmul_epilogue_grid %l transposed, %r finish <@finish blocks 1 of 256 shared 0>(%m) -> (%m) {flops = 9 : i64, product = 0 : i64, library = array<i64: 0, -1, 1, -1, 2, -1, -1>} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<3x4x5xf32>
  // CHECK: exec.matmul_epilogue_grid %{{.*}} transposed, %{{.*}}() -> (%{{.*}}) extra [#exec.grid<@sum blocks 2 of 256 shared 64>, #exec.grid<@sum blocks 1 of 256 shared 0>](%[[A]]) -> %{{.*}} partials(%{{.*}}) {flops
  exec.matmul_epilogue_grid %l transposed, %r() -> (%m) extra [#exec.grid<@sum blocks 2 of 256 shared 64>, #exec.grid<@sum blocks 1 of 256 shared 0>](%a) -> %e partials(%w) {flops = 9 : i64, product = 0 : i64, library = array<i64: 0, -1, -1, -1, 1, 0, 4>} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<8xf32>, memref<8xf32>, memref<f32>
  %i = exec.buffer arena 1024 : memref<1x2x5x5xf32>
  %f = exec.buffer arena 1280 : memref<4x2x3x3xf32>
  %o = exec.buffer arena 1600 : memref<1x4x3x3xf32>
  // CHECK: exec.conv %{{.*}}, %{{.*}} -> %{{.*}} {{.*}}groups = 1
  exec.conv %i, %f -> %o {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : memref<1x2x5x5xf32>, memref<4x2x3x3xf32> -> memref<1x4x3x3xf32>
  // CHECK: exec.conv_input_grad
  exec.conv_input_grad %o, %f -> %i {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : memref<1x4x3x3xf32>, memref<4x2x3x3xf32> -> memref<1x2x5x5xf32>
  // CHECK: exec.conv_filter_grad
  exec.conv_filter_grad %o, %i -> %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : memref<1x4x3x3xf32>, memref<1x2x5x5xf32> -> memref<4x2x3x3xf32>
  // CHECK: exec.all_reduce_start 3 %[[A]] : memref<8xf32>
  exec.all_reduce_start 3 %a : memref<8xf32>
  // CHECK: exec.all_reduce_wait 3 %[[A]] : memref<8xf32>
  exec.all_reduce_wait 3 %a : memref<8xf32>
  return
}

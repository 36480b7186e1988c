// RUN: ingot-opt %s --allow-unregistered-dialect | ingot-opt --allow-unregistered-dialect | FileCheck %s
// RUN: ingot-opt %s --allow-unregistered-dialect --mlir-print-op-generic | ingot-opt --allow-unregistered-dialect | FileCheck %s

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

exec.kernel "loop" @fill aliases = [] {
  %0 = ingot.constant dense<1.0> : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}

// CHECK-LABEL: exec.step @step
exec.step @step attributes {arena_bytes = 4096 : i64} {
  // CHECK: %[[A:.*]] = exec.buffer arena 0 : memref<8xf32>
  %a = exec.buffer arena 0 : memref<8xf32>
  // CHECK: %[[W:.*]] = exec.buffer state 64 : memref<8xf32>
  %w = exec.buffer state 64 : memref<8xf32>
  // CHECK: exec.launch @scale(%[[A]]) -> (%[[A]]) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32> -> memref<8xf32>
  exec.launch @scale(%a) -> (%a) {extent = 8 : i64, flops = 8 : i64, grain = 4 : i64} : memref<8xf32> -> memref<8xf32>
  // CHECK: exec.launch @fill() -> (%[[A]]) {{{.*}}} -> memref<8xf32>
  exec.launch @fill() -> (%a) {flops = 0 : i64} -> memref<8xf32>
  // CHECK: exec.call @ingot_copy(from = %[[A]], to = %[[W]]) <bytes = 32, element_bytes = 4, shard_first = 32, shard_of = 96> : memref<8xf32>, memref<8xf32>
  exec.call @ingot_copy(from = %a, to = %w) <bytes = 32, element_bytes = 4, shard_first = 32, shard_of = 96> : memref<8xf32>, memref<8xf32>
  %l = exec.buffer arena 128 : memref<3x2x4xf32>
  %r = exec.buffer arena 256 : memref<3x2x5xf32>
  %m = exec.buffer arena 512 : memref<3x4x5xf32>
  // CHECK: exec.call @ingot_matmul(a = %{{.*}}, b = %{{.*}}, c = %{{.*}}) <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> {flops = 240 : i64} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>
  exec.call @ingot_matmul(a = %l, b = %r, c = %m) <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> {flops = 240 : i64} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>
  %s = exec.buffer arena 2048 : memref<256xi8>
  // CHECK: exec.call @ingot_matmul(a = %{{.*}}, b = %{{.*}}, c = %{{.*}}, scratch = %{{.*}}) <batch = 3, m = 4, n = 4, k = 4, transpose_b = 1, a_type = bf16, b_type = bf16, math = tiles> : memref<3x4x4xbf16>
  %q = exec.buffer arena 3072 : memref<3x4x4xf32>
  %h = exec.buffer arena 3072 : memref<3x4x4xbf16>
  exec.call @ingot_matmul(a = %h, b = %h, c = %q, scratch = %s) <batch = 3, m = 4, n = 4, k = 4, transpose_b = 1, a_type = bf16, b_type = bf16, math = tiles> : memref<3x4x4xbf16>, memref<3x4x4xbf16>, memref<3x4x4xf32>, memref<256xi8>
  // CHECK: exec.matmul_epilogue %{{.*}}, %{{.*}} <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> finish @finish(%{{.*}}) -> (%{{.*}}) scratch %{{.*}} {flops = 9 : i64, product = 0 : i64}
  exec.matmul_epilogue %l, %r <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> finish @finish(%m) -> (%m) scratch %s {flops = 9 : i64, product = 0 : i64} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<3x4x5xf32>, memref<256xi8>
  // CHECK: exec.matmul_epilogue %{{.*}}, %{{.*}} <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1>() -> (%{{.*}}) extra @sum(%[[A]]) -> %{{.*}} {flops = 9 : i64, library = #ingot.library_epilogue<identity result = 1 bias_grad = 3 of lhs>, product = 0 : i64}
  %e = exec.buffer arena 3520 : memref<f32>
  exec.matmul_epilogue %l, %r <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1>() -> (%m) extra @sum(%a) -> %e {flops = 9 : i64, product = 0 : i64, library = #ingot.library_epilogue<identity result = 1 bias_grad = 3 of lhs>} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<8xf32>, memref<f32>
  // CHECK: exec.matmul_epilogue_grid %{{.*}}, %{{.*}} <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> finish <@finish blocks 1 of 256 shared 0>(%{{.*}}) -> (%{{.*}}) {flops = 9 : i64, library = #ingot.library_epilogue<identity addend = 1 result = 2>, product = 0 : i64}
  exec.matmul_epilogue_grid %l, %r <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> finish <@finish blocks 1 of 256 shared 0>(%m) -> (%m) {flops = 9 : i64, product = 0 : i64, library = #ingot.library_epilogue<identity addend = 1 result = 2>} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<3x4x5xf32>
  // CHECK: exec.matmul_epilogue_grid %{{.*}}, %{{.*}} <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1>() -> (%{{.*}}) extra [#exec.grid<@sum blocks 2 of 256 shared 64>, #exec.grid<@sum blocks 1 of 256 shared 0>](%[[A]]) -> %{{.*}} partials(%{{.*}}) {flops
  exec.matmul_epilogue_grid %l, %r <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1>() -> (%m) extra [#exec.grid<@sum blocks 2 of 256 shared 64>, #exec.grid<@sum blocks 1 of 256 shared 0>](%a) -> %e partials(%w) {flops = 9 : i64, product = 0 : i64, library = #ingot.library_epilogue<identity result = 1 bias_grad = 4 of lhs>} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<3x4x5xf32>, memref<8xf32>, memref<8xf32>, memref<f32>
  // CHECK: exec.matmul_grid %{{.*}}, %{{.*}} <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> <@own blocks 132 of 384 shared 0> tile <128 x 256 x 64> dynamic 4096(%{{.*}}) -> (%{{.*}}) {flops = 9 : i64}
  exec.matmul_grid %l, %r <batch = 3, m = 4, n = 5, k = 2, transpose_a = 1> <@own blocks 132 of 384 shared 0> tile <128 x 256 x 64> dynamic 4096(%a) -> (%m) {flops = 9 : i64} : memref<3x2x4xf32>, memref<3x2x5xf32>, memref<8xf32>, memref<3x4x5xf32>
  %i = exec.buffer arena 1024 : memref<1x2x5x5xf32>
  %f = exec.buffer arena 1280 : memref<4x2x3x3xf32>
  %o = exec.buffer arena 1600 : memref<1x4x3x3xf32>
  // CHECK: exec.call @ingot_conv(input = %{{.*}}, filter = %{{.*}}, output = %{{.*}}) <spatial_rank = 2, batch = 1, in_channels = 2, out_channels = 4, groups = 1, in = [5, 5], out = [3, 3], kernel = [3, 3], stride = [1, 1], dilation = [1, 1]> : memref<1x2x5x5xf32>, memref<4x2x3x3xf32>, memref<1x4x3x3xf32>
  exec.call @ingot_conv(input = %i, filter = %f, output = %o) <spatial_rank = 2, batch = 1, in_channels = 2, out_channels = 4, groups = 1, in = [5, 5], out = [3, 3], kernel = [3, 3], stride = [1, 1], dilation = [1, 1]> : memref<1x2x5x5xf32>, memref<4x2x3x3xf32>, memref<1x4x3x3xf32>
  // CHECK: exec.call @ingot_conv_input_grad(output_grad = %{{.*}}, filter = %{{.*}}, input_grad = %{{.*}}) <spatial_rank = 2, batch = 1, in_channels = 2, out_channels = 4, groups = 1, in = [5, 5], out = [3, 3], kernel = [3, 3], stride = [1, 1], dilation = [1, 1]> : memref<1x4x3x3xf32>, memref<4x2x3x3xf32>, memref<1x2x5x5xf32>
  exec.call @ingot_conv_input_grad(output_grad = %o, filter = %f, input_grad = %i) <spatial_rank = 2, batch = 1, in_channels = 2, out_channels = 4, groups = 1, in = [5, 5], out = [3, 3], kernel = [3, 3], stride = [1, 1], dilation = [1, 1]> : memref<1x4x3x3xf32>, memref<4x2x3x3xf32>, memref<1x2x5x5xf32>
  // CHECK: exec.call @ingot_conv_filter_grad(output_grad = %{{.*}}, input = %{{.*}}, filter_grad = %{{.*}}) <spatial_rank = 2, batch = 1, in_channels = 2, out_channels = 4, groups = 1, in = [5, 5], out = [3, 3], kernel = [3, 3], stride = [1, 1], dilation = [1, 1]> : memref<1x4x3x3xf32>, memref<1x2x5x5xf32>, memref<4x2x3x3xf32>
  exec.call @ingot_conv_filter_grad(output_grad = %o, input = %i, filter_grad = %f) <spatial_rank = 2, batch = 1, in_channels = 2, out_channels = 4, groups = 1, in = [5, 5], out = [3, 3], kernel = [3, 3], stride = [1, 1], dilation = [1, 1]> : memref<1x4x3x3xf32>, memref<1x2x5x5xf32>, memref<4x2x3x3xf32>
  %qs = exec.buffer arena 3584 : memref<1x2x1x4xf32>
  %lse = exec.buffer arena 3648 : memref<1x1x2xf32>
  %lengths = exec.buffer arena 3712 : memref<1xi32>
  // A buffer that may be null is left out.
  // CHECK: exec.call @ingot_attention(query = %[[Q:.*]], key = %[[Q]], value = %[[Q]], lengths = %{{.*}}, result = %[[Q]], lse = %{{.*}}) <batch = 1, heads = 1, key_heads = 1, queries = 2, keys = 2, size = 4, value_size = 4, left = -1, right = -1, scale = 1.250000e-01, query_strides = [8, 4, 4], key_strides = [8, 4, 4], value_strides = [8, 4, 4], result_strides = [8, 4, 4]> : memref
  exec.call @ingot_attention(query = %qs, key = %qs, value = %qs, lengths = %lengths, result = %qs, lse = %lse) <batch = 1, heads = 1, key_heads = 1, queries = 2, keys = 2, size = 4, value_size = 4, left = -1, right = -1, scale = 1.250000e-01, query_strides = [8, 4, 4], key_strides = [8, 4, 4], value_strides = [8, 4, 4], result_strides = [8, 4, 4]> : memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1x2x1x4xf32>, memref<1xi32>, memref<1x2x1x4xf32>, memref<1x1x2xf32>
  // CHECK: exec.call @ingot_all_reduce_start(bucket = %[[A]]) <elements = 8, number = 3, compression = topk, k = 2> : memref<8xf32>
  exec.call @ingot_all_reduce_start(bucket = %a) <elements = 8, number = 3, compression = topk, k = 2> : memref<8xf32>
  // CHECK: exec.call @ingot_all_reduce_wait(bucket = %[[A]]) <elements = 8, number = 3> {bytes = 4 : i64} : memref<8xf32>
  exec.call @ingot_all_reduce_wait(bucket = %a) <elements = 8, number = 3> {bytes = 4 : i64} : memref<8xf32>
  // CHECK: "test.descriptor"() {desc = #exec.desc<ingot_shard_desc <elements = 8, type = bf16, shard_first = 32, shard_of = 96>>}
  "test.descriptor"() {desc = #exec.desc<ingot_shard_desc <elements = 8, type = bf16, shard_first = 32, shard_of = 96>>} : () -> ()
}

// CHECK-LABEL: exec.step @loops
// CHECK: exec.repeat 4 {
// CHECK-NEXT: %[[X:.*]] = exec.buffer arena 768 by [-256] : memref<8xf32>
// CHECK-NEXT: exec.repeat 2 {
// CHECK-NEXT: %[[Y:.*]] = exec.buffer arena 0 by [128, 64] : memref<8xf32>
exec.step @loops attributes {arena_bytes = 4096 : i64} {
  exec.repeat 4 {
    %x = exec.buffer arena 768 by [-256] : memref<8xf32>
    exec.repeat 2 {
      %y = exec.buffer arena 0 by [128, 64] : memref<8xf32>
      exec.launch @scale(%y) -> (%y) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
    }
    exec.launch @scale(%x) -> (%x) {flops = 8 : i64} : memref<8xf32> -> memref<8xf32>
  }
}

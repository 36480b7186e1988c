// RUN: ingot-opt %s --split-input-file --verify-diagnostics

func.func @buffer_not_aligned() {
  // expected-error @+1 {{offset must be a multiple of 64, got 4}}
  %a = exec.buffer arena 4 : memref<8xf32>
  return
}

// -----

func.func @buffer_before_the_block() {
  // expected-error @+1 {{offset must be a multiple of 64, got -64}}
  %a = exec.buffer state -64 : memref<8xf32>
  return
}

// -----

func.func @launch_of_nothing() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{no kernel named @missing}}
  exec.launch @missing(%a) -> (%a) {flops = 0 : i64} : memref<8xf32> -> memref<8xf32>
  return
}

// -----

exec.kernel "loop" @negate aliases = [-1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.neg %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}
func.func @launch_wrong_count() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{passes 2 inputs and 1 outputs, kernel takes 1 and 1}}
  exec.launch @negate(%a, %a) -> (%a) {flops = 0 : i64} : memref<8xf32>, memref<8xf32> -> memref<8xf32>
  return
}

// -----

exec.kernel "loop" @negate aliases = [-1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.neg %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}
func.func @launch_writes_nothing() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{writes nothing}}
  "exec.launch"(%a) <{kernel = @negate, flops = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (memref<8xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{names aliases of 2 inputs, the body has 1}}
exec.kernel "loop" @negate aliases = [-1, -1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.neg %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{input 0 shares memory with result 1 of 1}}
exec.kernel "loop" @negate aliases = [1] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.neg %x : tensor<8xf32>
  ingot.yield %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{input 0 shares memory with result 0 of another type}}
exec.kernel "loop" @compare aliases = [0] {
^bb0(%x: tensor<8xf32>):
  %0 = ingot.compare lt %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  ingot.yield %0 : tensor<8xi1>
}

// -----

func.func @entry_that_is_not_there() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{the ABI has no entry @ingot_matmull}}
  exec.call @ingot_matmull(a = %a) <> : memref<8xf32>
  return
}

// -----

func.func @buffer_that_is_not_there() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{@ingot_copy has no buffer 'from_'}}
  exec.call @ingot_copy(from_ = %a) <> : memref<8xf32>
  return
}

// -----

func.func @field_that_is_not_there() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{ingot_copy_desc has no field 'size' to set}}
  exec.call @ingot_copy(from = %a, to = %a) <size = 32> : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @field_of_the_lowering() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{ingot_copy_desc has no field 'index' to set}}
  exec.call @ingot_copy(from = %a, to = %a) <index = 1> : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @case_that_is_not_there() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{'f8' is no ingot_dtype}}
  exec.call @ingot_all_reduce_start(bucket = %a) <elements = 8, type = f8> : memref<8xf32>
  return
}

// -----

func.func @too_many_elements() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{'in' has 3 elements at most}}
  exec.call @ingot_conv(input = %a, filter = %a, output = %a) <in = [1, 2, 3, 4]> : memref<8xf32>, memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @buffer_missing() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{needs the buffer 'b'}}
  exec.call @ingot_matmul(a = %a, c = %a) <batch = 1, m = 4, n = 4, k = 2> : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @buffers_out_of_order() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{must name each buffer once, in the entry's order}}
  exec.call @ingot_copy(to = %a, from = %a) <bytes = 32> : memref<8xf32>, memref<8xf32>
  return
}

// -----

func.func @entry_with_a_table() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{has no descriptor for @ingot_launch, which an operation of its own calls}}
  "exec.call"(%a) <{entry = @ingot_launch, places = array<i32: 0>, desc = #exec.desc<ingot_kernel <extent = 8>>}> : (memref<8xf32>) -> ()
  return
}

// -----

func.func @descriptor_of_another_entry() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{must have a descriptor of type ingot_copy_desc}}
  "exec.call"(%a, %a) <{entry = @ingot_copy, places = array<i32: 0, 1>, desc = #exec.desc<ingot_shard_desc <elements = 8>>}> : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

func.func @matmul_with_m_and_n_swapped() {
  %a = exec.buffer arena 0 : memref<4x2xf32>
  %b = exec.buffer arena 64 : memref<2x3xf32>
  %c = exec.buffer arena 128 : memref<4x3xf32>
  // expected-error @+1 {{buffer 'a' must have 6 elements, got 'memref<4x2xf32>'}}
  exec.call @ingot_matmul(a = %a, b = %b, c = %c) <batch = 1, m = 3, n = 4, k = 2> : memref<4x2xf32>, memref<2x3xf32>, memref<4x3xf32>
  return
}

// -----

func.func @matmul_of_another_type() {
  %a = exec.buffer arena 0 : memref<4x2xf32>
  %b = exec.buffer arena 64 : memref<2x3xf32>
  %c = exec.buffer arena 128 : memref<4x3xf32>
  // expected-error @+1 {{buffer 'c' must have elements of bf16, got 'memref<4x3xf32>'}}
  exec.call @ingot_matmul(a = %a, b = %b, c = %c) <batch = 1, m = 4, n = 3, k = 2, c_type = bf16> : memref<4x2xf32>, memref<2x3xf32>, memref<4x3xf32>
  return
}

// -----

func.func @scratch_of_floats() {
  %a = exec.buffer arena 0 : memref<4x2xf32>
  %b = exec.buffer arena 64 : memref<2x3xf32>
  %c = exec.buffer arena 128 : memref<4x3xf32>
  %s = exec.buffer arena 192 : memref<8xf32>
  // expected-error @+1 {{buffer 'scratch' must be bytes, got 'memref<8xf32>'}}
  exec.call @ingot_matmul(a = %a, b = %b, c = %c, scratch = %s) <batch = 1, m = 4, n = 3, k = 2> : memref<4x2xf32>, memref<2x3xf32>, memref<4x3xf32>, memref<8xf32>
  return
}

// -----

func.func @copy_of_other_size() {
  %a = exec.buffer arena 0 : memref<8xf32>
  %b = exec.buffer arena 64 : memref<4xf32>
  // expected-error @+1 {{buffer 'to' must have 32 bytes, got 'memref<4xf32>'}}
  exec.call @ingot_copy(from = %a, to = %b) <bytes = 32, element_bytes = 4> : memref<8xf32>, memref<4xf32>
  return
}

// -----

exec.kernel "epilogue" @finish aliases = [0] {
^bb0(%product: tensor<4x4xf32>):
  %0 = ingot.exp %product : tensor<4x4xf32>
  ingot.yield %0 : tensor<4x4xf32>
}

func.func @epilogue_of_no_buffer() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  // expected-error @+1 {{invalid 'library' epilogue: index 2 out of range for 2 buffers}}
  exec.matmul_epilogue %a, %a <batch = 1, m = 4, n = 4, k = 4> finish @finish() -> (%a) {flops = 9 : i64, product = 0 : i64, library = #ingot.library_epilogue<identity bias = 2 result = 1>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @inputs_of_no_kernel() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  // expected-error @+1 {{passes buffers to no kernel}}
  exec.matmul_epilogue %a, %a <batch = 1, m = 4, n = 4, k = 4>(%a) -> (%a) {flops = 9 : i64, product = 0 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

exec.kernel "reduction" @sum aliases = [-1] {
^bb0(%x: tensor<4x4xf32>):
  %0 = ingot.reduce sum %x dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
  ingot.yield %0 : tensor<4xf32>
}

func.func @extra_kernel_of_other_buffers() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  %b = exec.buffer arena 64 : memref<4xf32>
  // expected-error @+1 {{passes 2 inputs and 1 outputs, kernel takes 1 and 1}}
  exec.matmul_epilogue %a, %a <batch = 1, m = 4, n = 4, k = 4>() -> (%a) extra @sum(%a, %a) -> %b {flops = 9 : i64, product = 0 : i64, library = #ingot.library_epilogue<identity result = 1 bias_grad = 4 of lhs>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>
  return
}

// -----

gpu.module @device {
  gpu.func @sum(%x: memref<16xf32>, %y: memref<4xf32>) kernel { gpu.return }
}

func.func @two_launches_without_partial_sums() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  %b = exec.buffer arena 64 : memref<4xf32>
  // expected-error @+1 {{computes its extra output in 2 launches}}
  exec.matmul_epilogue_grid %a, %a <batch = 1, m = 4, n = 4, k = 4>() -> (%a) extra [#exec.grid<@device::@sum blocks 1 of 256 shared 0>, #exec.grid<@device::@sum blocks 1 of 256 shared 0>](%a) -> %b partials() {flops = 9 : i64, product = 0 : i64, library = #ingot.library_epilogue<identity result = 1 bias_grad = 3 of lhs>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>
  return
}

// -----

func.func @matmul_grid_of_other_sizes() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  // expected-error @+1 {{buffer 'a' must have 32 elements, got 'memref<4x4xf32>'}}
  exec.matmul_grid %a, %a <batch = 1, m = 4, n = 4, k = 8> <@own blocks 1 of 384 shared 0> tile <128 x 128 x 64> dynamic 64() -> (%a) {flops = 9 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @matmul_grid_without_results() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  // expected-error @+1 {{writes nothing}}
  exec.matmul_grid %a, %a <batch = 1, m = 4, n = 4, k = 4> <@own blocks 1 of 384 shared 0> tile <128 x 128 x 64> dynamic 64(%a) -> () {flops = 9 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

gpu.module @device {
  gpu.func @own(%a: !llvm.ptr, %y: memref<16xf32>) kernel { gpu.return }
}
func.func @matmul_grid_without_maps() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  // expected-error @+1 {{passes 1 buffers, kernel takes 2}}
  exec.matmul_grid %a, %a <batch = 1, m = 4, n = 4, k = 4> <@device::@own blocks 1 of 384 shared 0> tile <128 x 128 x 64> dynamic 64() -> (%a) {flops = 9 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

// expected-error @+1 {{places 'x' outside of its arena: at 64 of 64}}
exec.step @input_outside attributes {arena_bytes = 64 : i64, inputs = [#exec.value<name = "x", kind = "data", type = tensor<8xf32>, offset = 64>]} {
}

// -----

// expected-error @+1 {{has an interval outside of its arena: #exec.interval<kind = "activation", offset = 0, bytes = 65, first = 0, last = 1>}}
exec.step @interval_outside attributes {arena_bytes = 64 : i64, intervals = [#exec.interval<kind = "activation", offset = 0, bytes = 65, first = 0, last = 1>]} {
}

// -----

// expected-error @+1 {{needs a negative number of bytes}}
exec.step @negative attributes {arena_bytes = -64 : i64} {
}

// -----

// expected-error @+1 {{attribute 'exec.state_bytes' must be a size, on a module}}
module attributes {exec.state_bytes = "many"} {}

// -----

// expected-error @+1 {{attribute 'exec.mapped_bytes' must be a size, on a module}}
module attributes {exec.mapped_bytes = "many"} {}

// -----

// expected-error @+1 {{attribute 'exec.weights_file' must be a unit, on a module}}
module attributes {exec.weights_file = "yes"} {}

// -----

// expected-error @+1 {{attribute 'exec.home' must be 'mapped', 'file' or 'encoded', on a state}}
ingot.state frozen @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {exec.home = "block"}

// -----

// expected-error @+1 {{attribute 'exec.messages' must be #exec.message, on a module}}
module attributes {exec.messages = [1]} {}

// -----

// expected-error @+1 {{attribute 'exec.manifest' must be a string, on a module}}
module attributes {exec.manifest = 1 : i64} {}

// -----

// expected-error @+1 {{attribute 'exec.arena' is unknown}}
module attributes {exec.arena = 1 : i64} {}

// -----

// expected-error @+1 {{attribute 'exec.offset' must be an offset, on a state}}
func.func @offset() attributes {exec.offset = 0 : i64} {
  return
}

// -----

exec.step @strides attributes {arena_bytes = 4096 : i64} {
  exec.repeat 4 {
    // expected-error @+1 {{has 2 strides in 1 loops}}
    %x = exec.buffer arena 0 by [64, 64] : memref<8xf32>
  }
}

// -----

exec.step @alignment attributes {arena_bytes = 4096 : i64} {
  exec.repeat 4 {
    // expected-error @+1 {{strides must be multiples of 64, got 32}}
    %x = exec.buffer arena 0 by [32] : memref<8xf32>
  }
}

// -----

exec.step @count attributes {arena_bytes = 4096 : i64} {
  // expected-error @+1 {{attribute 'count' failed to satisfy constraint}}
  exec.repeat 0 {
  }
}

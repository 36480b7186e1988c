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

func.func @matmul_of_vectors() {
  %a = exec.buffer arena 0 : memref<8xf32>
  // expected-error @+1 {{result must have rank 2 or more}}
  exec.matmul %a, %a -> %a : memref<8xf32>, memref<8xf32> -> memref<8xf32>
  return
}

// -----

func.func @copy_of_other_size() {
  %a = exec.buffer arena 0 : memref<8xf32>
  %b = exec.buffer arena 64 : memref<4xf32>
  // expected-error @+1 {{copies 32 bytes into 16}}
  exec.copy %a -> %b : memref<8xf32> -> memref<4xf32>
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
  // expected-error @+1 {{names no epilogue of 2 buffers}}
  exec.matmul_epilogue %a, %a finish @finish() -> (%a) {flops = 9 : i64, product = 0 : i64, library = array<i64: 0, 2, -1, -1, 1, -1, -1>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @inputs_of_no_kernel() {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  // expected-error @+1 {{passes buffers to no kernel}}
  exec.matmul_epilogue %a, %a(%a) -> (%a) {flops = 9 : i64, product = 0 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
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
  exec.matmul_epilogue %a, %a() -> (%a) extra @sum(%a, %a) -> %b {flops = 9 : i64, product = 0 : i64, library = array<i64: 0, -1, -1, -1, 1, 0, 4>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>
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
  exec.matmul_epilogue_grid %a, %a() -> (%a) extra [#exec.grid<@device::@sum blocks 1 of 256 shared 0>, #exec.grid<@device::@sum blocks 1 of 256 shared 0>](%a) -> %b partials() {flops = 9 : i64, product = 0 : i64, library = array<i64: 0, -1, -1, -1, 1, 0, 3>} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>
  return
}

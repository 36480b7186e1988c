// RUN: ingot-opt %s --ingot-form-fusions="epilogues=false" --ingot-outline-constants --ingot-place-steps --split-input-file | FileCheck %s

// Tests that states get places in the state block, inputs and outputs in the
// arena, and that an update that reads its state element by element is written
// over it.
//       CHECK: exec.kernel "loop" @kernel_0 aliases = [0, -1]
//       CHECK: ingot.state parameter @w {{.*}}exec.offset = 0
// CHECK-LABEL: exec.step @train_step
//  CHECK-SAME: arena_bytes = 64
//  CHECK-SAME: inputs = [#exec.value<name = "g", kind = "data", type = tensor<8xf32>, offset = 0>]
//       CHECK: %[[W:.*]] = exec.buffer state 0 : memref<8xf32>
//       CHECK: %[[G:.*]] = exec.buffer arena 0 : memref<8xf32>
//       CHECK: %[[NEW:.*]] = exec.buffer state 0 : memref<8xf32>
//       CHECK: exec.launch @kernel_0(%[[W]], %[[G]]) -> (%[[NEW]])
//   CHECK-NOT: exec.call @ingot_copy
ingot.state parameter @w : tensor<8xf32> = dense<1.0> : tensor<8xf32>
func.func @train_step(%g: tensor<8xf32> {ingot.name = "g", ingot.kind = "data"},
                      %w: tensor<8xf32> {ingot.state = @w}) -> (tensor<8xf32> {ingot.state = @w}) {
  %0 = ingot.sub %w, %g : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Tests that a state that its own update reads at other elements is copied.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.launch
//       CHECK: %[[TO:.*]] = exec.buffer state 0
//       CHECK: exec.call @ingot_copy(from = %{{.*}}, to = %[[TO]])
ingot.state running @r : tensor<8xf32> = dense<1.0> : tensor<8xf32>
func.func @train_step(%r: tensor<8xf32> {ingot.state = @r}) -> (tensor<8xf32> {ingot.state = @r}) {
  %0 = ingot.reverse %r dims = [0] : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Tests that a state is not overwritten while a later kernel reads the old
// value.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.call @ingot_copy
ingot.state parameter @w : tensor<4x4xf32> = dense<1.0> : tensor<4x4xf32>
func.func @train_step(%g: tensor<4x4xf32> {ingot.name = "g", ingot.kind = "data"},
                      %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<4x4xf32> {ingot.state = @w}, tensor<4x4xf32> {ingot.name = "y"}) {
  %0 = ingot.sub %w, %g : tensor<4x4xf32>
  %1 = ingot.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Tests that equal fusions share a kernel, and that memory is used again once
// a tensor is dead: 3 products need room for the input, two more, and what
// the last product works in.
//       CHECK: exec.kernel "loop" @kernel_0
//   CHECK-NOT: exec.kernel
// CHECK-LABEL: exec.step @forward
//  CHECK-SAME: arena_bytes = 1152
//       CHECK: exec.launch @kernel_0
//       CHECK: exec.call @ingot_matmul(
//       CHECK: exec.launch @kernel_0
//       CHECK: exec.call @ingot_matmul(
func.func @forward(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<4x4xf32> {ingot.name = "y"}) {
  %0 = ingot.exp %x : tensor<4x4xf32>
  %1 = ingot.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = ingot.exp %1 : tensor<4x4xf32>
  %3 = ingot.matmul %2, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// Tests that a constant with several values becomes a frozen state, and an
// output that is an input gets memory of its own.
//       CHECK: ingot.state frozen @"constant/0"
// CHECK-LABEL: exec.step @forward
//  CHECK-SAME: outputs = [#exec.value<name = "y", kind = "output", {{.*}}>, #exec.value<name = "z", kind = "output", type = tensor<2xf32>, offset = 128>]
//       CHECK: exec.launch
//       CHECK: exec.call @ingot_copy
func.func @forward(%x: tensor<2xf32> {ingot.name = "x", ingot.kind = "data"})
    -> (tensor<2xf32> {ingot.name = "y"}, tensor<2xf32> {ingot.name = "z"}) {
  %c = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = ingot.mul %x, %c : tensor<2xf32>
  return %0, %x : tensor<2xf32>, tensor<2xf32>
}

// -----

// Tests that a result is written over an operand that dies, where it is read
// element by element.
//       CHECK: exec.kernel "loop" @{{.*}} aliases = [0]
// CHECK-LABEL: exec.step @forward
//       CHECK: exec.call @ingot_matmul(a = %{{.*}}, b = %{{.*}}, c = %[[P:.*]], scratch = %{{.*}})
//       CHECK: %[[FROM:.*]] = exec.buffer arena [[PLACE:.*]] : memref<4x4xf32>
//       CHECK: %[[TO:.*]] = exec.buffer arena [[PLACE]] : memref<4x4xf32>
//       CHECK: exec.launch @{{.*}}(%[[FROM]]) -> (%[[TO]])
func.func @forward(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<4x4xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ingot.exp %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// Tests that rows are added where the other gradient is, but not where that is
// read once more.
//       CHECK: exec.kernel "custom" @{{.*}} aliases = [-1, -1, -1]
//       CHECK: exec.kernel "custom" @[[IN_PLACE:.*]] aliases = [-1, -1, 0]
// CHECK-LABEL: exec.step @forward
//       CHECK: exec.launch @[[IN_PLACE]]
func.func @forward(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                   %i: tensor<2xi64> {ingot.name = "i", ingot.kind = "data"},
                   %u: tensor<2x4xf32> {ingot.name = "u", ingot.kind = "data"})
    -> (tensor<4x4xf32> {ingot.name = "y"}, tensor<4x4xf32> {ingot.name = "z"}) {
  %0 = ingot.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ingot.scatter_add %u[%i] into %0 dim = 0 : (tensor<2xi64>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = ingot.matmul %1, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ingot.scatter_add %u[%i] into %2 dim = 0 : (tensor<2xi64>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = ingot.matmul %3, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Tests that parameters of one bucket lie as the bucket has them, that an update writes them there, and that the bucket is waited for
// before its first reader and started at the end: buckets by number, which follow those within functions.
//   CHECK-DAG: ingot.state parameter @v {{.*}}exec.offset = 256
//   CHECK-DAG: ingot.state parameter @u {{.*}}exec.offset = 320
//   CHECK-DAG: ingot.state parameter @w {{.*}}exec.offset = 0
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.call @ingot_reduce_scatter_start(bucket = %{{.*}}) <elements = 66, axes = 2>
//       CHECK: %[[SUM:.*]] = exec.buffer arena
//       CHECK: exec.call @ingot_reduce_scatter_wait(bucket = %[[SUM]]) <elements = 66, axes = 2>
//       CHECK: %[[OLD:.*]] = exec.buffer state 0 : memref<66xf32>
//       CHECK: exec.call @ingot_all_gather_wait(bucket = %[[OLD]]) <elements = 66, number = 2, axes = 2>
//       CHECK: exec.launch {{.*}} shard = #ingot.shard<first = 0, of = 66>}
//   CHECK-NOT: exec.call @ingot_copy
//       CHECK: %[[FIRST:.*]] = exec.buffer state 320 : memref<3xf32>
//       CHECK: exec.call @ingot_all_gather_start(bucket = %[[FIRST]]) <elements = 3, number = 1, deferred = 1, axes = 2>
//       CHECK: %[[NEW:.*]] = exec.buffer state 0 : memref<66xf32>
//       CHECK: exec.call @ingot_all_gather_start(bucket = %[[NEW]]) <elements = 66, number = 2, deferred = 1, axes = 2>
ingot.state parameter @w : tensor<40xf32> = dense<1.0> : tensor<40xf32> {gathered = #ingot.gathered<bucket = 1, first = 0, of = 66>}
ingot.state parameter @u : tensor<3xf32> = dense<1.0> : tensor<3xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 3>}
ingot.state parameter @v : tensor<2xf32> = dense<1.0> : tensor<2xf32> {gathered = #ingot.gathered<bucket = 1, first = 64, of = 66>}
func.func @train_step(%g: tensor<40xf32> {ingot.name = "g", ingot.kind = "data"}, %h: tensor<2xf32> {ingot.name = "h", ingot.kind = "data"},
                      %w: tensor<40xf32> {ingot.state = @w}, %v: tensor<2xf32> {ingot.state = @v}, %u: tensor<3xf32> {ingot.state = @u})
    -> (tensor<40xf32> {ingot.state = @w}, tensor<2xf32> {ingot.state = @v}, tensor<3xf32> {ingot.state = @u}) {
  %start = ingot.reduce_scatter_start %g, %h : (tensor<40xf32>, tensor<2xf32>) -> tensor<66xf32>
  %sums:2 = ingot.reduce_scatter_wait %start : (tensor<66xf32>) -> (tensor<40xf32>, tensor<2xf32>)
  %old:2 = ingot.state_gather_wait 1 %w, %v at [0, 64] of 66 : (tensor<40xf32>, tensor<2xf32>) -> (tensor<40xf32>, tensor<2xf32>)
  %nw = ingot.sub %old#0, %sums#0 : tensor<40xf32>
  %nv = ingot.sub %old#1, %sums#1 : tensor<2xf32>
  %later:2 = ingot.state_gather_start 1 %nw, %nv at [0, 64] of 66 : (tensor<40xf32>, tensor<2xf32>) -> (tensor<40xf32>, tensor<2xf32>)
  %u1 = ingot.state_gather_start 0 %u at [0] of 3 : (tensor<3xf32>) -> tensor<3xf32>
  return %later#0, %later#1, %u1 : tensor<40xf32>, tensor<2xf32>, tensor<3xf32>
}

// -----

// Tests that of a table only the rows that are looked up count as moved: four rows
// of 32 bytes, four indices of 8, and the result.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.launch {{.*}} {bytes = 288 : i64,
func.func @train_step(%table: tensor<1000x8xf32> {ingot.name = "table", ingot.kind = "data"},
                      %rows: tensor<4xi64> {ingot.name = "rows", ingot.kind = "data"})
    -> (tensor<4x8xf32> {ingot.name = "y"}) {
  %0 = ingot.gather %table[%rows] dim = 0 : (tensor<1000x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Tests that a reshape on the way does not hinder that: elements stay where they
// are in memory.
//       CHECK: exec.kernel "loop" @[[KERNEL:.*]] aliases = [0, -1]
// CHECK-LABEL: exec.step @forward
//       CHECK: exec.call @ingot_matmul(
//       CHECK: %[[FROM:.*]] = exec.buffer arena [[PLACE:.*]] : memref<4x4xf32>
//       CHECK: %[[TO:.*]] = exec.buffer arena [[PLACE]] : memref<2x2x4xf32>
//       CHECK: exec.launch @[[KERNEL]](%[[FROM]], %{{.*}}) -> (%[[TO]])
func.func @forward(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                   %b: tensor<2x2xf32> {ingot.name = "b", ingot.kind = "data"}) -> (tensor<4x4xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ingot.reshape %0 : tensor<4x4xf32> -> tensor<2x2x4xf32>
  %2 = ingot.broadcast %b dims = [0, 1] : tensor<2x2xf32> -> tensor<2x2x4xf32>
  %3 = ingot.add %1, %2 : tensor<2x2x4xf32>
  %4 = ingot.reshape %3 : tensor<2x2x4xf32> -> tensor<4x4xf32>
  %5 = ingot.matmul %4, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// -----

// Tests that inputs of a device come through two blocks beside the arena: of
// 32 and 4 bytes, each aligned. They are part of the peak.
// CHECK-LABEL: exec.step @train_step
//  CHECK-SAME: arena_bytes = [[#ARENA:]] : i64
//  CHECK-SAME: live = [{{.*}}#exec.live<kind = "staging", bytes = 256, nodes = []>
//  CHECK-SAME: memory = #exec.memory<
//  CHECK-SAME: peak = [[#ARENA + 256]]
//  CHECK-SAME: workspace = 256
//  CHECK-SAME: staging_bytes = 256 : i64
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @train_step(%x: tensor<8xf32> {ingot.name = "x", ingot.kind = "data"},
                        %s: tensor<f32> {ingot.name = "lr", ingot.kind = "hyper"}) -> (tensor<8xf32> {ingot.name = "y"}) {
    %0 = ingot.broadcast %s dims = [] : tensor<f32> -> tensor<8xf32>
    %1 = ingot.mul %x, %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Tests that states and buffers are aligned as the target's libraries need it.
// CHECK-LABEL: module attributes {exec.state_bytes = 512
//       CHECK: ingot.state parameter @small {{.*}}exec.offset = 0
//       CHECK: ingot.state parameter @next {{.*}}exec.offset = 256
//       CHECK: exec.step @train_step
//  CHECK-SAME: arena_bytes = 512
//  CHECK-SAME: offset = 0>
//  CHECK-SAME: offset = 256>
module attributes {ingot.target = #ingot.target<"cuda">} {
  ingot.state parameter @small : tensor<8xf32> = dense<1.0> : tensor<8xf32>
  ingot.state parameter @next : tensor<8xf32> = dense<1.0> : tensor<8xf32>
  func.func @train_step(%g: tensor<8xf32> {ingot.name = "g", ingot.kind = "data"},
                        %h: tensor<8xf32> {ingot.name = "h", ingot.kind = "data"},
                        %w: tensor<8xf32> {ingot.state = @small},
                        %v: tensor<8xf32> {ingot.state = @next})
      -> (tensor<8xf32> {ingot.state = @small}, tensor<8xf32> {ingot.state = @next}) {
    %0 = ingot.sub %w, %g : tensor<8xf32>
    %1 = ingot.sub %v, %h : tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

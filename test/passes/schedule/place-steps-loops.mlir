// RUN: ingot-opt %s --ingot-attach-target=target=cpu --ingot-outline-loops --ingot-simplify --ingot-form-fusions --ingot-verify-kernels --ingot-place-steps --ingot-verify-placed | FileCheck %s

// A carried value is updated in place, after an output has its old value; slices
// are where they are in their stacks.
// CHECK-LABEL: exec.step @predict
// CHECK: exec.call @ingot_copy(from = %{{.*}}, to = %{{.*}}) <bytes = 64
// CHECK: exec.repeat 8 {
// CHECK-NEXT: %[[H:.*]] = exec.buffer arena [[CARRIED:[0-9]+]] : memref<16xf32>
// CHECK-NEXT: %[[BEFORE:.*]] = exec.buffer arena {{[0-9]+}} by [-64] : memref<16xf32>
// CHECK-NEXT: exec.call @ingot_copy(from = %[[H]], to = %[[BEFORE]])
// CHECK: exec.buffer arena [[CARRIED]] : memref<16xf32>
// CHECK-NEXT: exec.buffer arena {{[0-9]+}} by [-64] : memref<16xf32>
// CHECK-NEXT: exec.buffer arena {{[0-9]+}} by [-64] : memref<16xf32>
// CHECK-NEXT: exec.buffer arena [[CARRIED]] : memref<16xf32>
// CHECK-NEXT: exec.launch @kernel_0({{.*$}}
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @predict(%h: tensor<16xf32> {ingot.kind = "data", ingot.name = "h"}, %x: tensor<8x16xf32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<16xf32> {ingot.name = "y"}, tensor<8x16xf32> {ingot.name = "all"}, tensor<8x16xf32> {ingot.name = "before"}) {
  %0:3 = ingot.loop 8 reverse carries(%h) slices(%x)
      : (tensor<16xf32>, tensor<8x16xf32>) -> (tensor<16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  ^body(%p: tensor<16xf32>, %row: tensor<16xf32>):
    %sum = ingot.add %p, %row : tensor<16xf32>
    %next = ingot.tanh %sum : tensor<16xf32>
    ingot.yield %next, %sum, %p : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// Values that change places have other memory in between.
// CHECK-LABEL: exec.step @exchange
// CHECK: exec.repeat 3 {
// CHECK-COUNT-4: exec.call @ingot_copy
// CHECK-NOT: exec.call
// CHECK: }
func.func @exchange(%a: tensor<16xf32> {ingot.kind = "data", ingot.name = "a"}, %b: tensor<16xf32> {ingot.kind = "data", ingot.name = "b"})
    -> (tensor<16xf32> {ingot.name = "c"}, tensor<16xf32> {ingot.name = "d"}) {
  %0:2 = ingot.loop 3 carries(%a, %b) : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^body(%p: tensor<16xf32>, %q: tensor<16xf32>):
    ingot.yield %q, %p : tensor<16xf32>, tensor<16xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

// Along a chain, each is copied before it is overwritten.
// CHECK-LABEL: exec.step @chain
// CHECK: exec.repeat 3 {
// CHECK: exec.call @ingot_copy(from = %[[B:.*]], to = %[[A:.*]])
// CHECK: exec.call @ingot_copy(from = %{{.*}}, to = %{{.*}})
// CHECK-NOT: exec.call
// CHECK: }
func.func @chain(%a: tensor<16xf32> {ingot.kind = "data", ingot.name = "a"}, %b: tensor<16xf32> {ingot.kind = "data", ingot.name = "b"},
                 %x: tensor<3x16xf32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<16xf32> {ingot.name = "c"}, tensor<16xf32> {ingot.name = "d"}) {
  %0:2 = ingot.loop 3 carries(%a, %b) slices(%x)
      : (tensor<16xf32>, tensor<16xf32>, tensor<3x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^body(%p: tensor<16xf32>, %q: tensor<16xf32>, %row: tensor<16xf32>):
    ingot.yield %q, %row : tensor<16xf32>, tensor<16xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

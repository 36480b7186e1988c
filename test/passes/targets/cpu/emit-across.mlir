// RUN: ingot-opt %s --ingot-form-fusions --ingot-place-steps --ingot-emit-cpu-kernels --split-input-file | FileCheck %s

// Tests reductions across the innermost dimension. Several rows are added at
// once to each accumulator, one after the other, then those that are left.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: %[[SUMS:.*]] = memref.alloca() : memref<256xf32>
//       CHECK: scf.for {{.*}} to %c64{{[_0-9]*}} step %c4
//       CHECK:   scf.for {{.*}} to %c256
//       CHECK:     %[[OLD:.*]] = memref.load %[[SUMS]]
//       CHECK:     %[[A:.*]] = arith.addf %[[OLD]], %{{.*}} : f32
//       CHECK:     %[[B:.*]] = arith.addf %[[A]], %{{.*}} : f32
//       CHECK:     %[[C:.*]] = arith.addf %[[B]], %{{.*}} : f32
//       CHECK:     %[[D:.*]] = arith.addf %[[C]], %{{.*}} : f32
//       CHECK:     memref.store %[[D]], %[[SUMS]]
//       CHECK: scf.for {{.*}} to %c256
//       CHECK:   %[[OLD:.*]] = memref.load %[[SUMS]]
//       CHECK:   %[[A:.*]] = arith.addf %[[OLD]], %{{.*}} : f32
//       CHECK:   %[[B:.*]] = arith.addf %[[A]], %{{.*}} : f32
//  CHECK-NEXT:   memref.store %[[B]], %[[SUMS]]
func.func @forward(%x: tensor<66x512xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<512xf32> {ingot.name = "y"}) {
  %0 = ingot.reduce sum %x dims = [0] : (tensor<66x512xf32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}

// -----

// Tests that a piece has whole rows where their number alone gives enough
// pieces, and that one row after the other comes from memory.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: memref.alloca() : memref<1024xf32>
//       CHECK: scf.for {{.*}} to %c1024{{[_0-9]*}} step %c1{{[_0-9]*}} {
//       CHECK:   scf.for
//       CHECK:     arith.addf
//   CHECK-NOT:     arith.addf
//       CHECK:     memref.store
//       CHECK: exec.launch @kernel_0{{.*}}extent = 16
func.func @forward(%x: tensor<16x1024x1024xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<16x1024xf32> {ingot.name = "y"}) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<16x1024x1024xf32>) -> tensor<16x1024xf32>
  return %0 : tensor<16x1024xf32>
}

// RUN: ingot-opt %s --ingot-form-fusions --ingot-place-steps --ingot-emit-cpu-kernels --split-input-file | FileCheck %s

// Tests that the inputs of a concatenation are found by halves, so that
// branches are nested no deeper than the logarithm of their number.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: %[[SECOND:.*]] = arith.constant 8 : index
//       CHECK: arith.cmpi sge, %{{.*}}, %[[SECOND]]
//       CHECK: scf.if
//       CHECK:   %[[LAST:.*]] = arith.constant 12 : index
//       CHECK:   arith.cmpi sge, %{{.*}}, %[[LAST]]
//       CHECK:   scf.if
//   CHECK-NOT:     scf.if
//       CHECK:   } else {
//   CHECK-NOT:     scf.if
//       CHECK: } else {
//       CHECK:   scf.if
//   CHECK-NOT:     scf.if
//       CHECK:   } else {
//   CHECK-NOT:     scf.if
//       CHECK: return
func.func @forward(%a: tensor<4xf32> {ingot.name = "a", ingot.kind = "data"}, %b: tensor<4xf32> {ingot.name = "b", ingot.kind = "data"}, %c: tensor<4xf32> {ingot.name = "c", ingot.kind = "data"}, %d: tensor<4xf32> {ingot.name = "d", ingot.kind = "data"}) -> (tensor<16xf32> {ingot.name = "y"}) {
  %0 = ingot.concat %a, %b, %c, %d dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<16xf32>
  %1 = ingot.neg %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

// Tests that slices of a concatenation read the inputs they lie in without a
// branch: a sum of merged projections has one for each.
// CHECK-LABEL: func.func private @kernel_0
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @forward(%x: tensor<4x16xf32> {ingot.name = "x", ingot.kind = "data"}, %a: tensor<8xf32> {ingot.name = "a", ingot.kind = "data"}, %b: tensor<8xf32> {ingot.name = "b", ingot.kind = "data"}) -> (tensor<4x8xf32> {ingot.name = "y"}) {
  %0 = ingot.concat %a, %b dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %1 = ingot.broadcast %0 dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %2 = ingot.add %x, %1 : tensor<4x16xf32>
  %3 = ingot.slice %2 starts = [0, 0] limits = [4, 8] strides = [1, 1] : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %4 = ingot.slice %2 starts = [0, 8] limits = [4, 16] strides = [1, 1] : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %5 = ingot.add %3, %4 : tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// Tests that inputs without elements are never read.
// CHECK-LABEL: func.func private @kernel_0
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @forward(%a: tensor<4x0xf32> {ingot.name = "a", ingot.kind = "data"}, %b: tensor<4x8xf32> {ingot.name = "b", ingot.kind = "data"}) -> (tensor<4x8xf32> {ingot.name = "y"}) {
  %0 = ingot.neg %a : tensor<4x0xf32>
  %1 = ingot.neg %b : tensor<4x8xf32>
  %2 = ingot.concat %0, %1 dim = 1 : (tensor<4x0xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

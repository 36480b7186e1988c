// RUN: ingot-opt %s --ingot-form-fusions --ingot-place-steps --ingot-emit-cpu-kernels --split-input-file | FileCheck %s

// Tests that pointwise kernels are one loop over all elements, whatever the
// rank, and that the launch learns its extent.
// CHECK-LABEL: func.func private @kernel_0
//  CHECK-SAME: (%[[X:.*]]: memref<32xf32> {llvm.noalias}, %[[Y:.*]]: memref<32xf32> {llvm.noalias}, %[[B:.*]]: index, %[[E:.*]]: index)
//       CHECK: scf.for %[[I:.*]] = %[[B]] to %[[E]]
//  CHECK-NEXT:   %[[V:.*]] = memref.load %[[X]][%[[I]]]
//  CHECK-NEXT:   %[[R:.*]] = math.exp %[[V]]
//  CHECK-NEXT:   memref.store %[[R]], %[[Y]][%[[I]]]
//       CHECK: exec.launch @kernel_0{{.*}}extent = 32
func.func @forward(%x: tensor<4x8xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<4x8xf32> {ingot.name = "y"}) {
  %0 = ingot.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Tests that a channel's parameter splits the loops behind the channels only:
// the spatial dimensions stay one loop.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: scf.for
//       CHECK:   scf.for %[[I:.*]] = %{{.*}} to %c16
//   CHECK-NOT:     arith.divui
//   CHECK-NOT:     arith.remui
//       CHECK:     memref.store
//       CHECK: exec.launch @kernel_0{{.*}}extent = 6
func.func @forward(%x: tensor<2x3x4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                   %s: tensor<3xf32> {ingot.name = "s", ingot.kind = "data"}) -> (tensor<2x3x4x4xf32> {ingot.name = "y"}) {
  %0 = ingot.broadcast %s dims = [1] : tensor<3xf32> -> tensor<2x3x4x4xf32>
  %1 = ingot.mul %x, %0 : tensor<2x3x4x4xf32>
  return %1 : tensor<2x3x4x4xf32>
}

// -----

// Tests that a reduction along the innermost dimension sums in a register.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: scf.for
//       CHECK:   %[[SUM:.*]] = scf.for {{.*}} iter_args
//       CHECK:     arith.addf {{.*}} fastmath<reassoc>
//       CHECK:   memref.store %[[SUM]]
func.func @forward(%x: tensor<4x8xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<4xf32> {ingot.name = "y"}) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests that a long sum along the innermost dimension adds up sums of blocks.
// CHECK-LABEL: func.func private @kernel_0
//   CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.0
//   CHECK-DAG: %[[BLOCK:.*]] = arith.constant 65536 : index
//       CHECK: %[[SUM:.*]] = scf.for %[[FROM:.*]] = {{.*}} step %[[BLOCK]] iter_args(%[[OLD:.*]] = %[[ZERO]])
//       CHECK:   %[[TO:.*]] = arith.minsi
//       CHECK:   %[[PART:.*]] = scf.for {{.*}} = %[[FROM]] to %[[TO]] {{.*}} iter_args({{.*}} = %[[ZERO]])
//       CHECK:   arith.addf %[[OLD]], %[[PART]]
//       CHECK: memref.store %[[SUM]]
func.func @forward(%x: tensor<4x100003xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<4xf32> {ingot.name = "y"}) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<4x100003xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests that a reduction that keeps the innermost dimension adds rows to a
// strip of accumulators.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: memref.alloca() : memref<256xf32>
//       CHECK:   scf.for {{.*}} to %c64
//       CHECK:     scf.for {{.*}} to %c256
//       CHECK:       memref.store
//  CHECK-NEXT:     }
//  CHECK-NEXT:   } {loop_annotation
//       CHECK: exec.launch @kernel_0{{.*}}extent = 2
func.func @forward(%x: tensor<64x512xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<512xf32> {ingot.name = "y"}) {
  %0 = ingot.reduce sum %x dims = [0] : (tensor<64x512xf32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}

// -----

// Tests that short loops around a long one are kept as they are: unrolled, each
// copy of the long one would be vectorized on its own.
//       CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
//       CHECK: #[[ROLLED:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: scf.for
//       CHECK:   scf.for {{.*}} iter_args
//       CHECK:     scf.for {{.*}} to %c100{{.*}} iter_args
//       CHECK:       scf.yield
//  CHECK-NEXT:     }
//  CHECK-NEXT:     scf.yield
//  CHECK-NEXT:   } {loop_annotation = #[[ROLLED]]}
func.func @forward(%x: tensor<3x5x4x100xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<3x5xf32> {ingot.name = "y"}) {
  %0 = ingot.transpose %x [0, 2, 1, 3] : (tensor<3x5x4x100xf32>) -> tensor<3x4x5x100xf32>
  %1 = ingot.reduce sum %0 dims = [1, 3] : (tensor<3x4x5x100xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// Tests that a row kernel goes over each row in passes, that the exponential
// is kept from one pass to the next, and that values per row are outside of them.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: %[[KEPT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
//       CHECK: scf.for
//       CHECK:   scf.for {{.*}} iter_args
//       CHECK:     arith.maximumf
//       CHECK:   scf.for {{.*}} iter_args
//       CHECK:     %[[E:.*]] = math.exp
//       CHECK:     arith.addf {{.*}} fastmath<reassoc>
//       CHECK:     memref.store %[[E]], %[[KEPT]]
//       CHECK:   math.log
//       CHECK:   memref.store
//       CHECK:   scf.for
//   CHECK-NOT:     math
//       CHECK:     memref.load %[[KEPT]]
//       CHECK:     memref.store
//       CHECK: exec.launch @kernel_0{{.*}}extent = 32
func.func @forward(%x: tensor<32x64xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<32x64xf32> {ingot.name = "y"}, tensor<32xf32> {ingot.name = "z"}) {
  %0 = ingot.reduce max %x dims = [1] : (tensor<32x64xf32>) -> tensor<32xf32>
  %1 = ingot.broadcast %0 dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %2 = ingot.sub %x, %1 : tensor<32x64xf32>
  %3 = ingot.exp %2 : tensor<32x64xf32>
  %4 = ingot.reduce sum %3 dims = [1] : (tensor<32x64xf32>) -> tensor<32xf32>
  %5 = ingot.log %4 : tensor<32xf32>
  %6 = ingot.broadcast %5 dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %7 = ingot.div %3, %6 : tensor<32x64xf32>
  return %7, %5 : tensor<32x64xf32>, tensor<32xf32>
}

// -----

// Tests that an element of a row that is overwritten is read before any result
// is stored.
// CHECK-LABEL: func.func private @kernel_0
// CHECK-SAME:    (%{{.*}}: memref<2048xf32>, %[[Y:.*]]: memref<2048xf32> {llvm.noalias}, %[[NEW:.*]]: memref<2048xf32> {llvm.noalias}
//       CHECK: scf.for
//       CHECK:   scf.for {{.*}} iter_args
//       CHECK:     arith.addf
//       CHECK:   scf.for
//       CHECK:     memref.load %[[NEW]]
//       CHECK:     memref.store {{.*}}, %[[Y]]
//   CHECK-NOT:     memref.load %[[NEW]]
//       CHECK:     memref.store {{.*}}, %[[NEW]]
func.func @train_step(%x: tensor<32x64xf32> {ingot.state = @x}) -> (tensor<32x64xf32> {ingot.name = "y"}, tensor<32x64xf32> {ingot.state = @x}) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<32x64xf32>) -> tensor<32xf32>
  %1 = ingot.broadcast %0 dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %y = ingot.div %x, %1 : tensor<32x64xf32>
  %new = ingot.sub %x, %y : tensor<32x64xf32>
  return %y, %new : tensor<32x64xf32>, tensor<32x64xf32>
}
ingot.state parameter @x : tensor<32x64xf32> = dense<1.0> : tensor<32x64xf32>

// -----

// Tests that an epilogue is a function of rows and columns, which finds the
// product where it leaves the result, at one index for all shapes.
// CHECK-LABEL: func.func private @kernel_0(
//  CHECK-SAME: %[[PRODUCT:.*]]: memref<48xf32>, %[[BIAS:.*]]: memref<6xf32> {llvm.noalias}, %[[Y:.*]]: memref<48xf32> {llvm.noalias}
//  CHECK-SAME: %[[R0:.*]]: index, %[[R1:.*]]: index, %[[C0:.*]]: index, %[[C1:.*]]: index)
//       CHECK: scf.for %[[ROW:.*]] = %[[R0]] to %[[R1]]
//       CHECK:   scf.for %[[COLUMN:.*]] = %[[C0]] to %[[C1]]
//       CHECK:     %[[P:.*]] = memref.load %[[Y]]
//       CHECK:     %[[B:.*]] = memref.load %[[BIAS]][%[[COLUMN]]]
//       CHECK:     %[[S:.*]] = arith.addf %[[P]], %[[B]]
//       CHECK:     memref.store %[[S]], %[[Y]]
//       CHECK: exec.matmul_epilogue %{{.*}}, %{{.*}} finish @kernel_0(%[[A:.*]]) -> (%{{.*}}) {{.*}}product = 0
func.func @forward(%x: tensor<8x4xf32> {ingot.name = "x", ingot.kind = "data"}, %w: tensor<4x6xf32> {ingot.name = "w", ingot.kind = "data"}, %b: tensor<6xf32> {ingot.name = "b", ingot.kind = "data"}) -> (tensor<2x4x6xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = ingot.reshape %0 : tensor<8x6xf32> -> tensor<2x4x6xf32>
  %2 = ingot.broadcast %b dims = [2] : tensor<6xf32> -> tensor<2x4x6xf32>
  %3 = ingot.add %1, %2 : tensor<2x4x6xf32>
  return %3 : tensor<2x4x6xf32>
}

// -----

// Tests that an epilogue asks for the next row of what it reads besides the
// product, line by line, and not for the product's.
// CHECK-LABEL: func.func private @kernel_0(
//  CHECK-SAME: %{{.*}}: memref<48xf32>, %[[X:.*]]: memref<48xf32> {llvm.noalias}, %[[Y:.*]]: memref<48xf32> {llvm.noalias}
//       CHECK: scf.for %[[ROW:.*]] =
//       CHECK:   arith.minsi
//       CHECK:   scf.for
//       CHECK:     memref.prefetch %[[X]][%{{.*}}], read, locality<3>, data
//   CHECK-NOT:   memref.prefetch
//       CHECK:   memref.store %{{.*}}, %[[Y]]
func.func @forward(%x: tensor<8x4xf32> {ingot.name = "x", ingot.kind = "data"}, %w: tensor<4x6xf32> {ingot.name = "w", ingot.kind = "data"}, %r: tensor<8x6xf32> {ingot.name = "r", ingot.kind = "data"}) -> (tensor<2x4x6xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = ingot.mul %0, %r : tensor<8x6xf32>
  %2 = ingot.reshape %1 : tensor<8x6xf32> -> tensor<2x4x6xf32>
  return %2 : tensor<2x4x6xf32>
}

// -----

// Tests that a row kernel stores a result per row that other rows read as well.
// CHECK-LABEL: func.func private @kernel_0
//  CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<32xi64> {llvm.noalias}, %{{[a-z0-9]+}}: memref<2048xf32> {llvm.noalias}, %{{.*}}: index
//       CHECK: memref.store %{{.*}}, %[[Y]]
func.func @forward(%x: tensor<32xi64> {ingot.name = "x", ingot.kind = "data"}, %t: tensor<8x64xf32> {ingot.name = "t", ingot.kind = "data"}) -> (tensor<32xi64> {ingot.name = "y"}, tensor<32x64xf32> {ingot.name = "z"}) {
  %0 = ingot.abs %x : tensor<32xi64>
  %1 = ingot.gather %t[%0] dim = 0 : (tensor<8x64xf32>, tensor<32xi64>) -> tensor<32x64xf32>
  %2 = ingot.reduce sum %1 dims = [1] : (tensor<32x64xf32>) -> tensor<32xf32>
  %3 = ingot.broadcast %2 dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %4 = ingot.sub %1, %3 : tensor<32x64xf32>
  return %0, %4 : tensor<32xi64>, tensor<32x64xf32>
}

// -----

// Tests that a concatenation along the innermost dimension is a loop per input:
// between seams, every element comes from the same one.
// CHECK-LABEL: func.func private @kernel_0
//       CHECK: scf.for
//       CHECK:   %[[ZERO:.*]] = arith.constant 0 : index
//       CHECK:   %[[TWO:.*]] = arith.constant 2 : index
//       CHECK:   %[[SEAM:.*]] = arith.constant 2 : index
//       CHECK:   %[[SIX:.*]] = arith.constant 6 : index
//       CHECK:   scf.for %{{.*}} = %[[ZERO]] to %[[TWO]] step
//       CHECK:   scf.for %{{.*}} = %[[SEAM]] to %[[SIX]] step
//   CHECK-NOT:   scf.for
//       CHECK:   return
func.func @forward(%a: tensor<16x2xf32> {ingot.name = "a", ingot.kind = "data"}, %b: tensor<16x4xf32> {ingot.name = "b", ingot.kind = "data"}) -> (tensor<16x6xf32> {ingot.name = "y"}) {
  %0 = ingot.neg %b : tensor<16x4xf32>
  %1 = ingot.concat %a, %0 dim = 1 : (tensor<16x2xf32>, tensor<16x4xf32>) -> tensor<16x6xf32>
  return %1 : tensor<16x6xf32>
}

// RUN: ingot-opt %s --ingot-form-fusions --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-form-fusions="epilogues=false" --split-input-file | FileCheck %s --check-prefix=ALONE
// RUN: ingot-opt %s --ingot-form-fusions="each" --split-input-file | FileCheck %s --check-prefix=EACH

// Tests that a chain becomes one kernel, and that -O0 keeps its ops apart.
// CHECK-LABEL: func @chain
//       CHECK: ingot.fusion loop
//       CHECK:   ingot.add
//       CHECK:   ingot.tanh
//       CHECK:   ingot.yield
//   CHECK-NOT: ingot.fusion
// EACH-LABEL: func @chain
// EACH-COUNT-2: ingot.fusion loop
func.func @chain(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ingot.add %a, %b : tensor<8xf32>
  %1 = ingot.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Tests that a library anchor stays outside of loops, its operands and, without
// epilogues, result in memory, and that -O0 leaves nothing to the library.
// CHECK-LABEL: func @anchor
//       CHECK: %[[X:.*]] = ingot.fusion loop
//       CHECK: ingot.fusion epilogue(%[[X]]
// ALONE-LABEL: func @anchor
//       ALONE: %[[X:.*]] = ingot.fusion loop
//       ALONE: %[[Y:.*]] = ingot.matmul %[[X]]
//       ALONE: ingot.fusion loop(%[[Y]])
// EACH-LABEL: func @anchor
//       EACH: ingot.fusion loop
//       EACH: ingot.fusion loop
//  EACH-NEXT: bb0
//  EACH-NEXT:   ingot.matmul
func.func @anchor(%a: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = ingot.exp %a : tensor<4x4xf32>
  %1 = ingot.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = ingot.neg %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Tests that a reduction takes its producers in, and that its result is stored
// before it is read at another place.
// CHECK-LABEL: func @softmax_like
//       CHECK: %[[SUM:.*]] = ingot.fusion reduction(%[[X:[a-z0-9]+]])
//       CHECK:   ingot.exp
//       CHECK:   ingot.reduce sum
//       CHECK: ingot.fusion loop(%[[X]], %[[SUM]])
//       CHECK:   ingot.exp
//       CHECK:   ingot.div
func.func @softmax_like(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = ingot.exp %x : tensor<4x8xf32>
  %1 = ingot.reduce sum %0 dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = ingot.broadcast %1 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %3 = ingot.div %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Tests that two reductions of one space share a pass over memory.
// CHECK-LABEL: func @moments
//       CHECK: ingot.fusion reduction
//   CHECK-DAG:   ingot.reduce sum
//   CHECK-DAG:   ingot.reduce sum
//       CHECK:   ingot.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
//   CHECK-NOT: ingot.fusion
func.func @moments(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = ingot.mul %x, %x : tensor<4x8xf32>
  %2 = ingot.reduce sum %1 dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that results of one shape that read the same input share a kernel even
// where one reads the other's element: an optimizer's update.
// CHECK-LABEL: func @momentum
//       CHECK: ingot.fusion loop
//       CHECK:   ingot.yield %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
//   CHECK-NOT: ingot.fusion
func.func @momentum(%p: tensor<8xf32>, %m: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = ingot.add %m, %g : tensor<8xf32>
  %1 = ingot.sub %p, %0 : tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Tests that kernels are not merged across one that runs between them.
// CHECK-LABEL: func @between
//       CHECK: ingot.fusion loop
//       CHECK: ingot.fusion reduction
//       CHECK: ingot.fusion loop
func.func @between(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = ingot.exp %x : tensor<8xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<8xf32>) -> tensor<f32>
  %2 = ingot.broadcast %1 dims = [] : tensor<f32> -> tensor<8xf32>
  %3 = ingot.mul %x, %2 : tensor<8xf32>
  return %0, %3 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Tests that a reshape between library calls is no copy.
// CHECK-LABEL: func @view
//   CHECK-NOT: ingot.fusion
//       CHECK: ingot.matmul
//       CHECK: ingot.reshape
//       CHECK: ingot.matmul
func.func @view(%a: tensor<4x4xf32>, %w: tensor<8x2xf32>) -> tensor<2x2xf32> {
  %0 = ingot.matmul %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ingot.reshape %0 : tensor<4x4xf32> -> tensor<2x8xf32>
  %2 = ingot.matmul %1, %w : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// Tests that a view of a constant of one value is memory: the constant is
// stored.
// CHECK-LABEL: func @view_of_splat
//       CHECK:   %[[C:.*]] = ingot.fusion loop()
//       CHECK:     ingot.constant dense<1.500000e+00> : tensor<6xf32>
//       CHECK:   %[[V:.*]] = ingot.reshape %[[C]]
//       CHECK:   ingot.fusion loop(%[[V]])
func.func @view_of_splat() -> tensor<3xi64> {
  %0 = ingot.constant dense<1.5> : tensor<6xf32>
  %1 = ingot.reshape %0 : tensor<6xf32> -> tensor<3x2xf32>
  %2 = ingot.argmax %1 dim = 1 : (tensor<3x2xf32>) -> tensor<3xi64>
  return %2 : tensor<3xi64>
}

// -----

// Tests that a softmax is one kernel: its reductions stay with the row, and
// neither they nor what only the kernel reads go to memory.
// CHECK-LABEL: func @softmax
//       CHECK: ingot.fusion row(%{{.*}}) : (tensor<32x64xf32>) -> tensor<32x64xf32>
//       CHECK:   ingot.reduce max
//       CHECK:   ingot.reduce sum
//       CHECK:   ingot.yield %{{.*}} : tensor<32x64xf32>
//   CHECK-NOT: ingot.fusion
func.func @softmax(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = ingot.reduce max %x dims = [1] : (tensor<32x64xf32>) -> tensor<32xf32>
  %1 = ingot.broadcast %0 dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %2 = ingot.sub %x, %1 : tensor<32x64xf32>
  %3 = ingot.exp %2 : tensor<32x64xf32>
  %4 = ingot.reduce sum %3 dims = [1] : (tensor<32x64xf32>) -> tensor<32xf32>
  %5 = ingot.broadcast %4 dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %6 = ingot.div %3, %5 : tensor<32x64xf32>
  return %6 : tensor<32x64xf32>
}

// -----

// Tests that a sum that others read, the residual, is stored by the kernel of
// the statistics, whatever shape numbers its rows.
// CHECK-LABEL: func @residual
//       CHECK: ingot.fusion row
//       CHECK:   ingot.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8x64xf32>
//   CHECK-NOT: ingot.fusion
func.func @residual(%x: tensor<32x64xf32>, %y: tensor<4x8x64xf32>) -> (tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8x64xf32>) {
  %0 = ingot.reshape %x : tensor<32x64xf32> -> tensor<4x8x64xf32>
  %1 = ingot.add %0, %y : tensor<4x8x64xf32>
  %2 = ingot.reduce sum %1 dims = [2] : (tensor<4x8x64xf32>) -> tensor<4x8xf32>
  %3 = ingot.broadcast %2 dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8x64xf32>
  %4 = ingot.sub %1, %3 : tensor<4x8x64xf32>
  return %1, %2, %4 : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8x64xf32>
}

// -----

// Tests that rows too few to share out, too short to fill vectors, or needed
// by other rows make no row kernel.
// CHECK-LABEL: func @few
//   CHECK-NOT: ingot.fusion row
func.func @few(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<2x64xf32>) -> tensor<2xf32>
  %1 = ingot.broadcast %0 dims = [0] : tensor<2xf32> -> tensor<2x64xf32>
  %2 = ingot.sub %x, %1 : tensor<2x64xf32>
  return %2 : tensor<2x64xf32>
}
// CHECK-LABEL: func @short
//   CHECK-NOT: ingot.fusion row
func.func @short(%x: tensor<64x2xf32>) -> tensor<64x2xf32> {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<64x2xf32>) -> tensor<64xf32>
  %1 = ingot.broadcast %0 dims = [0] : tensor<64xf32> -> tensor<64x2xf32>
  %2 = ingot.sub %x, %1 : tensor<64x2xf32>
  return %2 : tensor<64x2xf32>
}
// CHECK-LABEL: func @transposed
//   CHECK-NOT: ingot.fusion row
func.func @transposed(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = ingot.broadcast %0 dims = [1] : tensor<64xf32> -> tensor<64x64xf32>
  %2 = ingot.sub %x, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

// Tests that what reads a product at the element at work joins the call, the
// product in the memory of a result; and that it is one itself where others
// read it.
// CHECK-LABEL: func @epilogue
//       CHECK: ingot.fusion epilogue(%{{.*}}) : (tensor<6xf32>, tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
//       CHECK:   ingot.matmul
//       CHECK:   ingot.tanh
//   CHECK-NOT: ingot.fusion
func.func @epilogue(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<2x4x6xf32> {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = ingot.reshape %0 : tensor<8x6xf32> -> tensor<2x4x6xf32>
  %2 = ingot.broadcast %b dims = [2] : tensor<6xf32> -> tensor<2x4x6xf32>
  %3 = ingot.add %1, %2 : tensor<2x4x6xf32>
  %4 = ingot.tanh %3 : tensor<2x4x6xf32>
  return %4 : tensor<2x4x6xf32>
}
// CHECK-LABEL: func @epilogue_and_product
//       CHECK: ingot.fusion epilogue{{.*}} -> (tensor<8x6xf32>, tensor<8x6xf32>)
//       CHECK:   ingot.yield %{{.*}}, %{{.*}} : tensor<8x6xf32>, tensor<8x6xf32>
func.func @epilogue_and_product(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = ingot.tanh %0 : tensor<8x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// Tests that a product keeps to itself where its elements move, where a loop
// replaces what it reads, and where no result can hold it.
// CHECK-LABEL: func @moves
//   CHECK-NOT: ingot.fusion epilogue
func.func @moves(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = ingot.transpose %0 [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = ingot.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// CHECK-LABEL: func @replaces
//   CHECK-NOT: ingot.fusion epilogue
func.func @replaces(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>, %w: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = ingot.matmul %x, %y : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = ingot.sub %w, %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
// CHECK-LABEL: func @narrow
//   CHECK-NOT: ingot.fusion epilogue
func.func @narrow(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xbf16> {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = ingot.cast %0 : tensor<8x6xf32> -> tensor<8x6xbf16>
  return %1 : tensor<8x6xbf16>
}

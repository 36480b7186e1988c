// RUN: ingot-opt %s --ingot-form-fusions="max-root-ops=3 max-ops=1 max-parts=2" | FileCheck %s

// A long chain is cut: no kernel computes more than three ops for one result.
// CHECK-LABEL: func @chain
//       CHECK: %[[FIRST:.*]] = ingot.fusion loop(%arg0)
//  CHECK-NEXT: ^bb0
//  CHECK-NEXT: ingot.sqrt
//  CHECK-NEXT: ingot.tanh
//  CHECK-NEXT: ingot.exp
//  CHECK-NEXT: ingot.yield
//       CHECK: ingot.fusion loop(%[[FIRST]])
//  CHECK-NEXT: ^bb0
//  CHECK-NEXT: ingot.tanh
//  CHECK-NEXT: ingot.neg
//  CHECK-NEXT: ingot.yield
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ingot.sqrt %x : tensor<8xf32>
  %1 = ingot.tanh %0 : tensor<8xf32>
  %2 = ingot.exp %1 : tensor<8xf32>
  %3 = ingot.tanh %2 : tensor<8xf32>
  %4 = ingot.neg %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// Many terms are added in several kernels.
// CHECK-LABEL: func @sum
//       CHECK: ingot.fusion loop(%arg2, %arg0, %arg1)
//       CHECK: ingot.yield
//       CHECK: ingot.fusion loop(
//       CHECK: ingot.yield
//       CHECK: return
func.func @sum(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ingot.add %a, %b : tensor<8xf32>
  %1 = ingot.add %0, %c : tensor<8xf32>
  %2 = ingot.add %1, %d : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Squares of squares are few ops, although the last one has many paths to the first.
// CHECK-LABEL: func @shared
// CHECK-COUNT-1: ingot.fusion loop(%arg0)
//   CHECK-NOT: ingot.fusion
//       CHECK: return
func.func @shared(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ingot.add %x, %x : tensor<8xf32>
  %1 = ingot.mul %0, %0 : tensor<8xf32>
  %2 = ingot.mul %1, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK-LABEL: func @wide
//       CHECK: ingot.concat %{{.*}}, %{{.*}} dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
//       CHECK: ingot.concat %{{.*}}, %{{.*}} dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
//       CHECK: ingot.concat %{{.*}}, %{{.*}} dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
//       CHECK: ingot.concat %{{.*}}, %{{.*}} dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
func.func @wide(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) -> tensor<5xf32> {
  %0 = ingot.concat %a, %b, %c, %d, %e dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// Each operand of a concatenation is another element: what computes it counts for each, although the values are equal.
// CHECK-LABEL: func @repeated
//       CHECK: %[[X:.+]] = ingot.fusion loop(%arg0)
//       CHECK: ingot.tanh
//       CHECK: ingot.fusion loop(%[[X]])
//  CHECK-NEXT: ^bb0
//  CHECK-NEXT: ingot.concat
func.func @repeated(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = ingot.neg %x : tensor<8xf32>
  %1 = ingot.tanh %0 : tensor<8xf32>
  %2 = ingot.concat %1, %1 dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

// RUN: ingot-opt %s --pass-pipeline="builtin.module(func.func(ingot-simplify))" | FileCheck %s

// The gradient of a weight that several steps use is one product.
// CHECK-LABEL: func.func @steps
// CHECK-SAME: (%[[A:.*]]: tensor<2x8xf32>, %[[B:.*]]: tensor<2x6xf32>, %[[C:.*]]: tensor<2x8xf32>, %[[D:.*]]: tensor<1x6xf32>, %[[E:.*]]: tensor<1x8xf32>, %[[O:.*]]: tensor<8x6xf32>, %[[F:.*]]: tensor<2x6xf32>)
func.func @steps(%a: tensor<2x8xf32>, %b: tensor<2x6xf32>, %c: tensor<2x8xf32>, %d: tensor<1x6xf32>,
                 %e: tensor<1x8xf32>, %o: tensor<8x6xf32>, %f: tensor<2x6xf32>) -> tensor<8x6xf32> {
  // CHECK: %[[L:.*]] = ingot.concat %[[A]], %[[C]], %[[E]], %[[C]] dim = 0 {{.*}} -> tensor<7x8xf32>
  // CHECK: %[[R:.*]] = ingot.concat %[[B]], %[[B]], %[[D]], %[[F]] dim = 0 {{.*}} -> tensor<7x6xf32>
  // CHECK: %[[P:.*]] = ingot.matmul %[[L]] transposed, %[[R]]
  // CHECK: %[[S:.*]] = ingot.add %[[P]], %[[O]]
  // CHECK: return %[[S]]
  %0 = ingot.matmul %a transposed, %b : (tensor<2x8xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %1 = ingot.matmul %c transposed, %b : (tensor<2x8xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %2 = ingot.matmul %e transposed, %d : (tensor<1x8xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>
  %3 = ingot.matmul %c transposed, %f : (tensor<2x8xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %4 = ingot.add %0, %1 : tensor<8x6xf32>
  %5 = ingot.add %4, %2 : tensor<8x6xf32>
  %6 = ingot.add %5, %o : tensor<8x6xf32>
  %7 = ingot.add %6, %3 : tensor<8x6xf32>
  return %7 : tensor<8x6xf32>
}

// Not where the concatenations would be larger than the sums.
// CHECK-LABEL: func.func @large
// CHECK-NOT: ingot.concat
// CHECK-COUNT-4: ingot.matmul
func.func @large(%a: tensor<9x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>, %d: tensor<9x4xf32>,
                 %e: tensor<9x4xf32>) -> tensor<4x4xf32> {
  %0 = ingot.matmul %a transposed, %b : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %1 = ingot.matmul %a transposed, %c : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %2 = ingot.matmul %a transposed, %d : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %3 = ingot.matmul %a transposed, %e : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %4 = ingot.add %0, %1 : tensor<4x4xf32>
  %5 = ingot.add %4, %2 : tensor<4x4xf32>
  %6 = ingot.add %5, %3 : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

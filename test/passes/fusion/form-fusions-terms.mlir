// RUN: ingot-opt %s --ingot-form-fusions | FileCheck %s

// Two kernels read a sum of two products, which nothing else reads. Only the sum is stored, by the call that computes
// one of them.
// CHECK-LABEL: func @sum
//       CHECK: %[[LOW:.*]] = ingot.matmul %arg2, %arg3
//  CHECK-NEXT: %[[BOTH:.*]]:2 = ingot.fusion epilogue(%[[LOW]], %arg0, %arg1)
//       CHECK:   %[[BASE:.*]] = ingot.matmul
//  CHECK-NEXT:   %[[SUM:.*]] = ingot.add %[[BASE]]
//  CHECK-NEXT:   %[[TANH:.*]] = ingot.tanh %[[SUM]]
//  CHECK-NEXT:   yield %[[SUM]], %[[TANH]]
//       CHECK: ingot.fusion epilogue(%[[BOTH]]#0, %[[BOTH]]#1, %arg4)
//       CHECK: return
func.func @sum(%x: tensor<64x32xf32>, %w: tensor<32x32xf32>, %low: tensor<64x4xf32>, %b: tensor<4x32xf32>,
               %next: tensor<32x32xf32>) -> tensor<64x32xf32> {
  %0 = ingot.matmul %x, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %1 = ingot.matmul %low, %b : (tensor<64x4xf32>, tensor<4x32xf32>) -> tensor<64x32xf32>
  %2 = ingot.add %0, %1 : tensor<64x32xf32>
  %3 = ingot.tanh %2 : tensor<64x32xf32>
  %4 = ingot.matmul %3, %next : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %5 = ingot.mul %4, %2 : tensor<64x32xf32>
  return %5 : tensor<64x32xf32>
}

// One term is read apart: the sum would be stored beside it, and is computed by both kernels.
// CHECK-LABEL: func @apart
//       CHECK: %[[LOW:.*]] = ingot.matmul %arg2, %arg3
//  CHECK-NEXT: %[[BOTH:.*]]:2 = ingot.fusion epilogue(%arg0, %arg1, %[[LOW]])
//       CHECK:   %[[BASE:.*]] = ingot.matmul
//       CHECK:   yield %[[BASE]], %{{.*}} : tensor<64x32xf32>, tensor<64x32xf32>
//       CHECK: ingot.fusion epilogue(%[[BOTH]]#1, %arg4, %[[BOTH]]#0, %[[LOW]])
func.func @apart(%x: tensor<64x32xf32>, %w: tensor<32x32xf32>, %low: tensor<64x4xf32>, %b: tensor<4x32xf32>,
                 %next: tensor<32x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %0 = ingot.matmul %x, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %1 = ingot.matmul %low, %b : (tensor<64x4xf32>, tensor<4x32xf32>) -> tensor<64x32xf32>
  %2 = ingot.add %0, %1 : tensor<64x32xf32>
  %3 = ingot.tanh %2 : tensor<64x32xf32>
  %4 = ingot.matmul %3, %next : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %5 = ingot.mul %4, %2 : tensor<64x32xf32>
  return %5, %0 : tensor<64x32xf32>, tensor<64x32xf32>
}

// RUN: ingot-opt %s --ingot-form-fusions="max-inputs=2" | FileCheck %s

// Two kernels read the last value of a chain. All of the chain would be computed again, which takes longer than to
// store the value.
// CHECK-LABEL: func @long_chain
//       CHECK: %[[SHARED:.*]] = ingot.fusion loop(%arg0)
//       CHECK: ingot.fusion reduction(%[[SHARED]])
//       CHECK: ingot.fusion reduction(%[[SHARED]])
func.func @long_chain(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.tanh %x : tensor<4x4xf32>
  %1 = ingot.tanh %0 : tensor<4x4xf32>
  %2 = ingot.tanh %1 : tensor<4x4xf32>
  %3 = ingot.tanh %2 : tensor<4x4xf32>
  %4 = ingot.tanh %3 : tensor<4x4xf32>
  %5 = ingot.tanh %4 : tensor<4x4xf32>
  %6 = ingot.reduce sum %5 dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %7 = ingot.reduce sum %5 dims = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  return %6, %7 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @short_chain
//       CHECK: ingot.fusion reduction(%arg0)
//       CHECK: ingot.fusion reduction(%arg0)
func.func @short_chain(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.neg %x : tensor<4x4xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %2 = ingot.reduce sum %0 dims = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// A kernel has at most as many results as it may have inputs.
// CHECK-LABEL: func @results
//       CHECK: %{{.*}}:2 = ingot.fusion loop(%arg0)
//       CHECK: %{{.*}} = ingot.fusion loop(%arg0)
//   CHECK-NOT: ingot.fusion
//       CHECK: return
func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.neg %x : tensor<4xf32>
  %1 = ingot.exp %x : tensor<4xf32>
  %2 = ingot.sqrt %x : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s

// CHECK-LABEL: func.func @random
func.func @random(%seed: tensor<i64>, %step: tensor<i64>, %x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  // CHECK: ingot.random_uniform %{{.*}}, %{{.*}} stream = 7 : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  %0 = ingot.random_uniform %seed, %step stream = 7 : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: ingot.dropout %{{.*}}, %{{.*}}, %{{.*}} ratio = 1.000000e-01 stream = 8 : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
  %1, %mask = ingot.dropout %x, %seed, %step ratio = 0.1 stream = 8 : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
  // CHECK: ingot.random_uniform %{{.*}}, %{{.*}} from %{{.*}} of [4, 6] stream = 9 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  %2 = ingot.random_uniform %seed, %step from %step of [4, 6] stream = 9 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: ingot.dropout %{{.*}}, %{{.*}}, %{{.*}} from %{{.*}} of [4, 6] ratio = 1.000000e-01 stream = 9
  %3, %part = ingot.dropout %x, %seed, %step from %step of [4, 6] ratio = 0.1 stream = 9 : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
  return %1, %mask : tensor<2x3xf32>, tensor<2x3xi1>
}

// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s

// CHECK-LABEL: func.func @composites
func.func @composites(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %c: tensor<3xf32>, %l: tensor<2x4xi64>) {
  // CHECK: ingot.softmax %{{.*}} dim = 1 : tensor<2x3x4xf32>
  %0 = ingot.softmax %x dim = 1 : tensor<2x3x4xf32>
  // CHECK: ingot.log_softmax %{{.*}} dim = 2 : tensor<2x3x4xf32>
  %1 = ingot.log_softmax %x dim = 2 : tensor<2x3x4xf32>
  // CHECK: ingot.layer_norm %{{.*}}, %{{.*}}, %{{.*}} dim = 1 {epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  %2:3 = ingot.layer_norm %x, %s, %s dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: ingot.layer_norm %{{.*}}, %{{.*}} dim = 1 {epsilon = 0.0{{.*}} : f64} : (tensor<2x3x4xf32>, tensor<3x4xf32>) ->
  %3:3 = ingot.layer_norm %x, %s dim = 1 {epsilon = 0.0} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: ingot.rms_norm %{{.*}}, %{{.*}} dim = 1 {epsilon = {{9.99.*E-7|1.0.*e-06}} : f64} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>)
  %4:2 = ingot.rms_norm %x, %s dim = 1 {epsilon = 1.0e-6} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>)
  // CHECK: ingot.batch_norm %{{.*}} {epsilon = 1.000000e-05 : f64, momentum = {{9|0.9}}{{.*}} : f64, unbiased} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %5:5 = ingot.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-5, momentum = 0.9, unbiased} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: ingot.cross_entropy %{{.*}}, %{{.*}} dim = 1 : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %6:2 = ingot.cross_entropy %x, %l dim = 1 : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK: ingot.cross_entropy %{{.*}}, %{{.*}} dim = 1 {ignore_index = 0 : i64} :
  %7:2 = ingot.cross_entropy %x, %l dim = 1 {ignore_index = 0} : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

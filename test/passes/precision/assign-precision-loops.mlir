// RUN: ingot-opt %s --ingot-assign-precision=precision=bf16 --ingot-simplify | FileCheck %s

// Contractions in the body of a loop are in 16 bits; what they read is converted
// once, before the loop.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[H:[a-z0-9]+]]: {{.*}}, %[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]:
// CHECK-DAG: %[[V:.*]] = ingot.cast %[[W]] : tensor<64x64xf32> -> tensor<64x64xbf16>
// CHECK-DAG: %[[Y:.*]] = ingot.cast %[[X]] : tensor<8x16x64xf32> -> tensor<8x16x64xbf16>
// CHECK: ingot.loop 8 carries(%[[H]]) slices(%[[Y]]) captures(%[[V]]) :
// CHECK-NOT: ingot.cast
// CHECK: ingot.matmul %{{.*}}, %{{.*}} : (tensor<16x64xbf16>, tensor<64x64xbf16>) -> tensor<16x64xf32>
// CHECK: return
func.func @f(%h: tensor<16x64xf32>, %x: tensor<8x16x64xf32>, %w: tensor<64x64xf32>) -> (tensor<16x64xf32>, tensor<8x16x64xf32>) {
  %0:2 = ingot.loop 8 carries(%h) slices(%x) captures(%w)
      : (tensor<16x64xf32>, tensor<8x16x64xf32>, tensor<64x64xf32>) -> (tensor<16x64xf32>, tensor<8x16x64xf32>) {
  ^body(%p: tensor<16x64xf32>, %row: tensor<16x64xf32>, %weight: tensor<64x64xf32>):
    %product = ingot.matmul %row, %weight : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %sum = ingot.add %product, %p : tensor<16x64xf32>
    %next = ingot.tanh %sum : tensor<16x64xf32>
    ingot.yield %next, %product : tensor<16x64xf32>, tensor<16x64xf32>
  }
  return %0#0, %0#1 : tensor<16x64xf32>, tensor<8x16x64xf32>
}

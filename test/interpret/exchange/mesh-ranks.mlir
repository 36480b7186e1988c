// Tests the numbers of ranks, the coordinate along tensor being the fastest, and that ranks along data have rows of the
// input of their own, which the others share.
// RUN: %python -c "import numpy as n; n.savez('%t.npz', row=n.arange(2, dtype='float32').reshape(2, 1))"
// RUN: ingot-eval %s --function forward --ranks 12 --inputs %t.npz | FileCheck %s
// RUN: not ingot-eval %s --function forward --ranks 9 --inputs %t.npz 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not ingot-eval %s --function forward --inputs %t.npz 2>&1 | FileCheck %s --check-prefix=ONE

// CHECK: rows: tensor<6x1xf32> {{\[\[}}0], [0], [0], [0], [0], [0]]
// CHECK: data: tensor<2x1xf32> {{\[\[}}0], [18]]
// CHECK: tensor: tensor<2x1xf32> {{\[\[}}0], [1]]
// CHECK: context: tensor<3x1xf32> {{\[\[}}0], [2], [4]]
// CHECK: both: tensor<6x1xf32> {{\[\[}}0], [1], [2], [3], [4], [5]]
// WRONG: 9 ranks are not those of the mesh: 6 or a multiple
// ONE: 1 ranks are not those of the mesh: 6 or a multiple
module attributes {ingot.mesh = {context = 3, tensor = 2}} {
ingot.state coordinates @coordinates : tensor<5xi64> = dense<0> : tensor<5xi64>
func.func @forward(%row: tensor<1x1xf32> {ingot.kind = "data", ingot.name = "row"},
    %c: tensor<5xi64> {ingot.state = @coordinates}) -> (tensor<6x1xf32> {ingot.name = "rows"},
    tensor<2x1xf32> {ingot.name = "data"}, tensor<2x1xf32> {ingot.name = "tensor"}, tensor<3x1xf32> {ingot.name = "context"},
    tensor<6x1xf32> {ingot.name = "both"}) {
  %at = ingot.cast %c : tensor<5xi64> -> tensor<5xf32>
  %strides = ingot.constant dense<[0.0, 6.0, 0.0, 2.0, 1.0]> : tensor<5xf32>
  %parts = ingot.mul %at, %strides : tensor<5xf32>
  %number = ingot.reduce sum %parts dims = [0] : (tensor<5xf32>) -> tensor<f32>
  %x = ingot.reshape %number : tensor<f32> -> tensor<1x1xf32>
  %rows = ingot.all_gather %row dim 0 over [context, tensor] : tensor<1x1xf32> -> tensor<6x1xf32>
  %0 = ingot.all_gather %x dim 0 over [tensor] : tensor<1x1xf32> -> tensor<2x1xf32>
  %1 = ingot.all_gather %x dim 0 over [context] : tensor<1x1xf32> -> tensor<3x1xf32>
  %2 = ingot.all_gather %x dim 0 over [context, tensor] : tensor<1x1xf32> -> tensor<6x1xf32>
  %sum = ingot.all_reduce sum %x over [data] : tensor<1x1xf32>
  %zero = ingot.sub %x, %x : tensor<1x1xf32>
  %three = ingot.constant dense<3.0> : tensor<1x1xf32>
  %triple = ingot.mul %sum, %three : tensor<1x1xf32>
  %3 = ingot.concat %zero, %triple dim = 0 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  return %rows, %3, %0, %1, %2 : tensor<6x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<3x1xf32>, tensor<6x1xf32>
}
}

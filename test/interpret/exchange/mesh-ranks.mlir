// Tests the numbers of ranks, the coordinate along tensor being the fastest: each has its row of the input.
// RUN: %python -c "import numpy as n; n.savez('%t.npz', x=n.arange(12, dtype='float32').reshape(12, 1))"
// RUN: ingot-eval %s --function forward --ranks 12 --inputs %t.npz | FileCheck %s
// RUN: not ingot-eval %s --function forward --ranks 9 --inputs %t.npz 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not ingot-eval %s --function forward --inputs %t.npz 2>&1 | FileCheck %s --check-prefix=ONE

// CHECK: data: tensor<2x1xf32> {{\[\[}}0], [18]]
// CHECK: tensor: tensor<2x1xf32> {{\[\[}}0], [1]]
// CHECK: context: tensor<3x1xf32> {{\[\[}}0], [2], [4]]
// CHECK: both: tensor<6x1xf32> {{\[\[}}0], [1], [2], [3], [4], [5]]
// WRONG: 9 ranks are not those of the mesh: 6 or a multiple
// ONE: 1 ranks are not those of the mesh: 6 or a multiple
module attributes {ingot.mesh = {context = 3, tensor = 2}} {
func.func @forward(%x: tensor<1x1xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<1x1xf32> {ingot.name = "first"},
    tensor<2x1xf32> {ingot.name = "data"}, tensor<2x1xf32> {ingot.name = "tensor"}, tensor<3x1xf32> {ingot.name = "context"},
    tensor<6x1xf32> {ingot.name = "both"}) {
  %0 = ingot.all_gather %x dim 0 over [tensor] : tensor<1x1xf32> -> tensor<2x1xf32>
  %1 = ingot.all_gather %x dim 0 over [context] : tensor<1x1xf32> -> tensor<3x1xf32>
  %2 = ingot.all_gather %x dim 0 over [context, tensor] : tensor<1x1xf32> -> tensor<6x1xf32>
  %sum = ingot.all_reduce sum %x over [data] : tensor<1x1xf32>
  %zero = ingot.sub %x, %x : tensor<1x1xf32>
  %three = ingot.constant dense<3.0> : tensor<1x1xf32>
  %triple = ingot.mul %sum, %three : tensor<1x1xf32>
  %3 = ingot.concat %zero, %triple dim = 0 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  return %x, %3, %0, %1, %2 : tensor<1x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<3x1xf32>, tensor<6x1xf32>
}
}

// Tests that the function of a rank is accepted, and that what is edited is rejected by the name of the value.
// RUN: ingot-opt %s --ingot-apply-partitions=keep-global -o %t.mlir
// RUN: ingot-opt %t.mlir --ingot-verify-partition | FileCheck %s
// A sum that is dropped, one that is a maximum, another function of what ranks have, and a function that is lost.
// RUN: sed 's/ingot.all_reduce sum \(%[0-9]*\) over .tensor. : \(.*\)/ingot.neg \1 : \2/' %t.mlir > %t.dropped.mlir
// RUN: not ingot-opt %t.dropped.mlir --ingot-verify-partition 2>&1 | FileCheck %s --check-prefix=DROPPED
// RUN: sed 's/ingot.all_reduce sum/ingot.all_reduce max/' %t.mlir > %t.max.mlir
// RUN: not ingot-opt %t.max.mlir --ingot-verify-partition 2>&1 | FileCheck %s --check-prefix=DROPPED
// RUN: sed '/func.func @forward/,$s/ingot.tanh/ingot.erf/' %t.mlir > %t.other.mlir
// RUN: not ingot-opt %t.other.mlir --ingot-verify-partition 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/func.func @forward/func.func @forwards/' %t.mlir > %t.lost.mlir
// RUN: not ingot-opt %t.lost.mlir --ingot-verify-partition 2>&1 | FileCheck %s --check-prefix=LOST

// CHECK-NOT: .global
// CHECK: func.func @forward
// CHECK: ingot.all_reduce sum
// DROPPED: error: 'ingot.add' op is not what a rank computes
// OTHER: error: 'ingot.tanh' op is not what a rank computes
// LOST: error: no rank has a function @forward
module attributes {ingot.mesh = {tensor = 2}} {
ingot.state parameter @up : tensor<4x8xf64> = dense<0.5> : tensor<4x8xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @down : tensor<8x3xf64> = dense<0.5> : tensor<8x3xf64> {ingot.partition = [{tensor}, {}]}
ingot.state parameter @bias : tensor<6x3xf64> = dense<0.5> : tensor<6x3xf64>
func.func @forward(%x: tensor<6x4xf64> {ingot.kind = "data", ingot.name = "x"}, %up: tensor<4x8xf64> {ingot.state = @up},
    %down: tensor<8x3xf64> {ingot.state = @down}, %bias: tensor<6x3xf64> {ingot.state = @bias})
    -> (tensor<6x3xf64> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %up : (tensor<6x4xf64>, tensor<4x8xf64>) -> tensor<6x8xf64>
  %1 = ingot.tanh %0 : tensor<6x8xf64>
  %2 = ingot.matmul %1, %down : (tensor<6x8xf64>, tensor<8x3xf64>) -> tensor<6x3xf64>
  %3 = ingot.add %2, %bias : tensor<6x3xf64>
  return %3 : tensor<6x3xf64>
}
}

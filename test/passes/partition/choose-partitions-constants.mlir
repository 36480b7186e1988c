// Tests that constants and what is broadcast from scalars, which unrelated states of one shape share in their updates,
// do not join the dimensions of these: the hidden units of a perceptron of square matrices are a class of their own.
// RUN: ingot-opt %s --ingot-attach-loss=loss=mse --ingot-differentiate --ingot-apply-optimizer=optimizer=adamw -o %t.mlir
// RUN: ingot-opt %t.mlir --pass-pipeline="builtin.module(func.func(ingot-simplify),ingot-choose-partitions{link-us=0 link-gbs=1000})" | FileCheck %s
// CHECK: @up : {{.+}} {ingot.partition = [{}, {tensor}]}
// CHECK: @down : {{.+}} {ingot.partition = [{tensor}, {}]}
module attributes {ingot.batch = 64 : i64, ingot.mesh = {tensor = 2}} {
  ingot.state parameter @up : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  ingot.state parameter @down : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
  func.func @forward(%x: tensor<64x64xf32> {ingot.kind = "data", ingot.name = "x"}, %up: tensor<64x64xf32> {ingot.state = @up}, %down: tensor<64x64xf32> {ingot.state = @down}) -> (tensor<64x64xf32> {ingot.name = "y"}) {
    %0 = ingot.matmul %x, %up : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = ingot.tanh %0 : tensor<64x64xf32>
    %2 = ingot.matmul %1, %down : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
}

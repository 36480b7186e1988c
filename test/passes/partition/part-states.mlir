// Tests that states that are split become as large as a rank's part of them, with the initial value of the whole tensor,
// and that a mesh of which no state has parts is warned of.
// RUN: ingot-opt %s --ingot-apply-partitions --ingot-part-states | FileCheck %s
// RUN: sed 's/ {ingot.partition = .*}$//' %s | ingot-opt --ingot-part-states 2>&1 | FileCheck %s --check-prefix=WARNS
// RUN: sed 's/tensor = 2/tensor = 1/; s/pad = 1, //' %s | ingot-opt --ingot-part-states 2>&1 | FileCheck %s --check-prefix=ONE

// CHECK: @up : tensor<4x4xf32> = dense<1.000000e+00> : tensor<4x8xf32> {ingot.partition = [{}, {tensor}], whole = tensor<4x8xf32>}
// CHECK: @wte : tensor<26x4xf32> = dense<1.000000e+00> : tensor<51x4xf32> {ingot.partition = [{pad = 1 : i64, tensor}, {}], whole = tensor<51x4xf32>}
// CHECK: @down : tensor<8x4xf32> = dense<1.000000e+00> : tensor<8x4xf32>{{$}}
// CHECK: func.func @train_step(%arg0: tensor<4x4xf32> {ingot.state = @up})
// WARNS: warning: {{.*}}no tensor is split
// ONE-NOT: warning
// ONE: @up : tensor<4x8xf32> = dense<1.000000e+00> : tensor<4x8xf32>{{$}}
module attributes {ingot.mesh = {tensor = 2}} {
  ingot.state parameter @up : tensor<4x8xf32> = dense<1.0> : tensor<4x8xf32> {ingot.partition = [{}, {tensor}]}
  ingot.state parameter @wte : tensor<51x4xf32> = dense<1.0> : tensor<51x4xf32> {ingot.partition = [{pad = 1, tensor}, {}]}
  ingot.state parameter @down : tensor<8x4xf32> = dense<1.0> : tensor<8x4xf32> {ingot.partition = [{}, {}]}
  func.func @train_step(%up: tensor<4x8xf32> {ingot.state = @up}) -> (tensor<4x8xf32> {ingot.state = @up}) {
    return %up : tensor<4x8xf32>
  }
}

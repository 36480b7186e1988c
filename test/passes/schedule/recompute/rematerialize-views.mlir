// RUN: ingot-opt %s --ingot-rematerialize=remat=recompute=both | FileCheck %s

// A kernel computes the loss of each row and the gradient. Only the backward pass reads the gradient, through a view:
// it reads a view of the copy, and nothing is left of the first one.
// CHECK-LABEL: func.func @train_step
//   CHECK-NOT: ingot.reshape
//       CHECK: %[[BOTH:.*]]:2 = ingot.fusion row(
//       CHECK: ingot.fusion reduction(%[[BOTH]]#0)
//       CHECK: %[[AGAIN:.*]]:2 = ingot.fusion row(
//       CHECK: %[[VIEW:.*]] = ingot.reshape %[[AGAIN]]#1
//       CHECK: ingot.matmul %[[VIEW]], %arg1
//   CHECK-NOT: ingot.reshape
//       CHECK: return
func.func @train_step(%x: tensor<4x16x64xf32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<64x64xf32> {ingot.kind = "data", ingot.name = "w"})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<64x64xf32> {ingot.name = "y"}) {
  %both:2 = ingot.fusion row(%x) : (tensor<4x16x64xf32>) -> (tensor<4x16xf32>, tensor<4x16x64xf32>) {
  ^bb0(%a: tensor<4x16x64xf32>):
    %0 = ingot.reduce max %a dims = [2] : (tensor<4x16x64xf32>) -> tensor<4x16xf32>
    %1 = ingot.broadcast %0 dims = [0, 1] : tensor<4x16xf32> -> tensor<4x16x64xf32>
    %2 = ingot.sub %a, %1 : tensor<4x16x64xf32>
    ingot.yield %0, %2 : tensor<4x16xf32>, tensor<4x16x64xf32>
  } loc("both")
  %loss = ingot.fusion reduction(%both#0) : (tensor<4x16xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<4x16xf32>):
    %0 = ingot.reduce sum %a dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  %view = ingot.reshape %both#1 : tensor<4x16x64xf32> -> tensor<64x64xf32>
  %y = ingot.matmul %view, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %loss, %y : tensor<f32>, tensor<64x64xf32>
}

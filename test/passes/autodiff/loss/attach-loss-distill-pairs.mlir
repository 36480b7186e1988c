// RUN: ingot-opt %s --ingot-attach-loss='loss=mse weigh distill=alpha=0,pairs=a:b,pair-weight=3' | FileCheck %s

// Pairs have means of their own. With alpha of 0 no divergence is computed, and
// the loss need not have classes. Pairs are no outputs of the model.
// CHECK:       ingot.train_metrics = ["hard_loss", "pair_loss"]
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:      -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "metric.hard_loss"}, tensor<f32> {ingot.name = "metric.hard_loss.count"}, tensor<f32> {ingot.name = "metric.pair_loss"}, tensor<f32> {ingot.name = "metric.pair_loss.count"})
// CHECK-NOT:     softmax_divergence
// CHECK:         ingot.constant dense<3.0
// CHECK:       func.func @eval_step
// CHECK-NOT:     distill
// CHECK:       func.func @predict
// CHECK-SAME:      -> (tensor<8x4xf32> {ingot.name = "y"}) {
ingot.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state frozen @"@teacher/w" : tensor<4x4xf32> = dense<0.25> : tensor<4x4xf32>
func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<8x4xf32> {ingot.name = "y"}, tensor<8x4xf32> {ingot.name = "distill.0"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = ingot.tanh %0 : tensor<8x4xf32>
  return %1, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x4xf32> {ingot.state = @"@teacher/w"})
    -> (tensor<8x4xf32> {ingot.name = "y"}, tensor<8x4xf32> {ingot.name = "distill.0"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}

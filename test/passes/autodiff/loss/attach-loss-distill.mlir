// RUN: ingot-opt %s --ingot-attach-loss='loss=cross-entropy:1,ignore=-1 distill=temperature=4,alpha=0.25' | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-loss='loss=cross-entropy:1,ignore=-1 weigh distill=temperature=4,alpha=0.25' | FileCheck %s --check-prefix=WEIGH

// The teacher is a part of the training step alone, before the model. Labels
// that are ignored do not count for the divergence either.
// CHECK:       module attributes {{.*}}ingot.train_metrics = ["hard_loss", "distill_loss"]
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:      %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK-SAME:      %[[W:[a-z0-9]+]]: tensor<4x4xf32> {ingot.state = @w}, %[[T:[a-z0-9]+]]: tensor<4x4xf32> {ingot.state = @"@teacher/w"})
// CHECK-SAME:      -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "metric.hard_loss"}, tensor<f32> {ingot.name = "metric.hard_loss.count"}, tensor<f32> {ingot.name = "metric.distill_loss"}, tensor<f32> {ingot.name = "metric.distill_loss.count"})
// CHECK:         %[[TAUGHT:.*]] = ingot.matmul %[[X]], %[[T]] :
// CHECK:         %[[LOGITS:.*]] = ingot.matmul %[[X]], %[[W]] :
// CHECK:         ingot.cross_entropy %[[LOGITS]]
// CHECK:         %[[LOSSES:.*]], %{{.*}}, %{{.*}} = ingot.softmax_divergence %[[LOGITS]] from %[[TAUGHT]] dim = 1 temperature = 4.000000e+00 : tensor<8x4xf32> -> tensor<8xf32>
// CHECK:         %[[COUNTED:.*]] = ingot.select %{{.*}}, %[[LOSSES]], %{{.*}}
// CHECK:         %[[SUM:.*]] = ingot.reduce sum %[[COUNTED]] dims = [0]
// CHECK:         ingot.div %[[SUM]],
// CHECK:       func.func @eval_step
// CHECK-NOT:     teacher
// CHECK-NOT:     softmax_divergence
// CHECK:       func.func @predict
// CHECK-SAME:      -> (tensor<8x4xf32> {ingot.name = "logits"}) {
// CHECK-NOT:   func.func @teacher

// With micro-batches both sums are divided by the weight of the step.
// WEIGH:       -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"}, tensor<f32> {ingot.name = "metric.hard_loss"}

ingot.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state frozen @"@teacher/w" : tensor<4x4xf32> = dense<0.25> : tensor<4x4xf32>
func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<8x4xf32> {ingot.name = "logits"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x4xf32> {ingot.state = @"@teacher/w"})
    -> (tensor<8x4xf32> {ingot.name = "logits"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// RUN: ingot-opt %s --ingot-attach-loss="loss=mse weigh metrics=train-mae" --ingot-differentiate --ingot-accumulate-gradients=count=2 --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd --ingot-split-micro-steps | FileCheck %s

// Tests that sums of metrics are those of all micro-batches, that only the last
// one returns them, and that they are not divided by the weight of the loss.
// CHECK: ingot.state accumulator @"metric.absolute_errors/sum" : tensor<3xf64>
// CHECK: ingot.state accumulator @"metric.rows/sum" : tensor<f32>
// CHECK-LABEL: func.func @accumulate_step
//  CHECK-SAME: -> (tensor<f32> {ingot.name = "loss"}, {{.*}}@"metric.absolute_errors/sum"}, {{.*}}@"metric.rows/sum"})
// CHECK-LABEL: func.func @train_step
//  CHECK-SAME: %[[MICRO:[a-z0-9]+]]: tensor<i64> {ingot.state = @micro_step}
//  CHECK-SAME: %[[BEFORE:[a-z0-9]+]]: tensor<3xf64> {ingot.state = @"metric.absolute_errors/sum"}
//  CHECK-SAME: -> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.state = @w}, tensor<3xf64> {ingot.name = "metric.absolute_errors"}, tensor<f32> {ingot.name = "metric.rows"}, tensor<i64> {ingot.state = @step}, tensor<i64> {ingot.state = @micro_step})
//       CHECK: %[[OWN:.*]] = ingot.reduce sum %{{.*}} dims = [0] : (tensor<8x3xf64>) -> tensor<3xf64>
//       CHECK: %[[SUM:.*]] = ingot.select %{{.*}}, %{{.*}}, %[[BEFORE]]
//       CHECK: %[[ALL:.*]] = ingot.add %[[SUM]], %[[OWN]]
//       CHECK: return %{{.*}}, %{{.*}}, %[[ALL]],
ingot.state parameter @w : tensor<4x3xf32> = dense<1.0> : tensor<4x3xf32>
func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w})
    -> (tensor<8x3xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// RUN: ingot-opt %s "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-accumulate-gradients=count=4 --ingot-simplify | FileCheck %s
// RUN: ingot-opt %s "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-accumulate-gradients=count=1 | FileCheck %s --check-prefix=ONE
// RUN: ingot-opt %s "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-accumulate-gradients=count=4 --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd --ingot-split-micro-steps | FileCheck %s --check-prefix=SPLIT

// Tests that random numbers count micro-batches, that the first micro-batch
// does not read the sums.
// CHECK-LABEL: func.func @train_step
//  CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i64> {ingot.state = @step}
//  CHECK-SAME: %[[MICRO:[a-z0-9]+]]: tensor<i64> {ingot.state = @micro_step}
//  CHECK-SAME: %[[SUM:[a-z0-9]+]]: tensor<4x3xf32> {ingot.state = @"w/sum"}
//  CHECK-SAME: tensor<4x3xf32> {ingot.gradient = @w}
//       CHECK: %[[SCALED:.*]] = ingot.mul %[[STEP]]
//       CHECK: %[[COUNTER:.*]] = ingot.add %[[SCALED]], %[[MICRO]]
//       CHECK: ingot.dropout %{{.*}}, %{{.*}}, %[[COUNTER]]
//       CHECK: ingot.compare eq %[[MICRO]]
//       CHECK: %[[G:.*]] = ingot.matmul %{{.*}} transposed
//       CHECK: %[[BEFORE:.*]] = ingot.select %{{.*}}, %{{.*}}, %[[SUM]]
//       CHECK: %[[AFTER:.*]] = ingot.add %[[BEFORE]], %[[G]]
//       CHECK: return %{{.*}}, %[[AFTER]],

// ONE-LABEL: func.func @train_step
//   ONE-NOT: accumulator

// Tests that only the last micro-batch updates, and that it stores no sums.
// SPLIT-LABEL: func.func @accumulate_step
//  SPLIT-SAME: -> (tensor<f32> {ingot.name = "loss"}, tensor<i64> {ingot.state = @micro_step}, tensor<f32> {ingot.state = @"loss/sum"}, tensor<f32> {ingot.state = @"loss_weight/sum"}, tensor<4x3xf32> {ingot.state = @"w/sum"})
// SPLIT-LABEL: func.func @train_step
//  SPLIT-SAME: -> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.state = @w}, tensor<i64> {ingot.state = @step}, tensor<i64> {ingot.state = @micro_step})
ingot.state parameter @w : tensor<4x3xf32> = dense<1.0> : tensor<4x3xf32>
ingot.state step @step : tensor<i64> = dense<0> : tensor<i64>
ingot.state seed @seed : tensor<i64> = dense<0> : tensor<i64>
func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w},
    %step: tensor<i64> {ingot.state = @step}, %seed: tensor<i64> {ingot.state = @seed})
    -> (tensor<8x3xf32> {ingot.name = "logits"}, tensor<i64> {ingot.state = @step}) {
  %y, %mask = ingot.dropout %x, %seed, %step ratio = 0.5 stream = 1 : (tensor<8x4xf32>, tensor<i64>, tensor<i64>) -> (tensor<8x4xf32>, tensor<8x4xi1>)
  %logits = ingot.matmul %y, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %one = ingot.constant dense<1> : tensor<i64>
  %next = ingot.add %step, %one : tensor<i64>
  return %logits, %next : tensor<8x3xf32>, tensor<i64>
}

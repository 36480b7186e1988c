// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy metrics=top2,train-accuracy,train-f1,train-perplexity" | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy metrics=train-perplexity" | FileCheck %s --check-prefix=LOSS
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy metrics=accuracy" | FileCheck %s --check-prefix=OFF
// RUN: not ingot-opt %s --ingot-attach-loss="loss=cross-entropy metrics=train-auc" 2>&1 | FileCheck %s --check-prefix=INVALID

// Tests that the training step counts labels that are not ignored, and those
// of them whose class is the likeliest, and that evaluations have metrics of
// their own.
// CHECK: module attributes {{{.*}}ingot.metrics = ["top2"], ingot.train_metrics = ["accuracy", "f1", "perplexity"]
// CHECK-LABEL: func.func @train_step
// CHECK-SAME:    %[[LABELS:[a-z0-9]+]]: tensor<8xi64>
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "metric.right"}, tensor<3x3xf32> {ingot.name = "metric.confusion"}, tensor<f32> {ingot.name = "metric.rows"})
// CHECK:         %[[COUNTS:.*]] = ingot.compare ne %[[LABELS]],
// CHECK:         %[[LIKELIEST:.*]] = ingot.argmax %{{.*}} dim = 1
// CHECK:         %[[HIT:.*]] = ingot.compare eq %[[LIKELIEST]], %[[LABELS]]
// CHECK:         %[[BOTH:.*]] = ingot.and %[[HIT]], %[[COUNTS]]
// CHECK:         %[[ONES:.*]] = ingot.cast %[[BOTH]]
// CHECK:         %[[RIGHT:.*]] = ingot.reduce sum %[[ONES]]
// CHECK:         %[[ROWS:.*]] = ingot.cast %[[COUNTS]]
// CHECK:         %[[COUNT:.*]] = ingot.reduce sum %[[ROWS]]
// CHECK:         return %{{.*}}, %[[RIGHT]], %{{.*}}, %[[COUNT]]
// CHECK-LABEL: func.func @eval_step
// CHECK-SAME:    {ingot.name = "correct"}, tensor<f32> {ingot.name = "metric.top2"}, tensor<f32> {ingot.name = "metric.rows"})

// Tests that what is made of the loss costs nothing.
// LOSS: ingot.train_metrics = ["perplexity"]
// LOSS-LABEL: func.func @train_step
// LOSS-SAME:    -> (tensor<f32> {ingot.name = "loss"}) {

// Tests that metrics of evaluations leave the step as it is.
// OFF-NOT: ingot.train_metrics
// OFF-LABEL: func.func @train_step
// OFF-SAME:    -> (tensor<f32> {ingot.name = "loss"}) {

// INVALID: 'train-auc' is no metric of training steps with cross-entropy:1: it has train-accuracy, train-topK, train-f1, train-perplexity
module attributes {ingot.batch = 8 : i64} {
  ingot.state parameter @w : tensor<4x3xf32> = dense<1.0> : tensor<4x3xf32>
  func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x3xf32> {ingot.state = @w})
      -> (tensor<8x3xf32> {ingot.name = "logits"}) {
    %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    return %0 : tensor<8x3xf32>
  }
}

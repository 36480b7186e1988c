// RUN: ingot-opt %s --split-input-file --ingot-attach-loss=loss=cross-entropy | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-attach-loss=loss=cross-entropy --remarks-filter=attach-loss --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] Loss | Category:attach-loss | loss=cross-entropy:1, output=logits

// CHECK:     module attributes {{{.*}}ingot.loss = "cross-entropy:1", ingot.loss_terms = [#ingot.loss_term<kind = "cross-entropy", labels = "labels", class_axis = 1>]
// CHECK-NOT: @forward
module attributes {ingot.batch = 8 : i64} {
  ingot.state parameter @w : tensor<3xf32> = dense<1.0> : tensor<3xf32>
  ingot.state running @m : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  ingot.state running @v : tensor<3xf32> = dense<1.0> : tensor<3xf32>

  func.func @forward(%x: tensor<8x3xf32> {ingot.kind = "data", ingot.name = "x"},
                     %w: tensor<3xf32> {ingot.state = @w},
                     %m: tensor<3xf32> {ingot.state = @m},
                     %v: tensor<3xf32> {ingot.state = @v})
      -> (tensor<8x3xf32> {ingot.name = "logits"},
          tensor<3xf32> {ingot.state = @m}, tensor<3xf32> {ingot.state = @v}) {
    %0, %mean, %variance, %batch_mean, %rstd =
      ingot.batch_norm %x, %w, %w, %m, %v {epsilon = 1.0e-5, momentum = 0.9}
      : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %0, %mean, %variance : tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>
  }
}

// The step returns the loss and the statistics: the mean over labels that count.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x3xf32> {ingot.kind = "data", ingot.name = "x"},
// CHECK-SAME:    %[[LABELS:[a-z0-9]+]]: tensor<8xi64> {ingot.classes = 3 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels", ingot.name = "labels"},
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<3xf32> {ingot.state = @w},
// CHECK-SAME:    {ingot.state = @m}, %{{[a-z0-9]+}}: tensor<3xf32> {ingot.state = @v})
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss"}, tensor<3xf32> {ingot.state = @m}, tensor<3xf32> {ingot.state = @v})
// CHECK:         %[[LOGITS:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]], %{{.*}}, %{{.*}} = ingot.batch_norm
// CHECK:         %[[LOSSES:.*]], %{{.*}} = ingot.cross_entropy %[[LOGITS]], %[[LABELS]] dim = 1
// CHECK:         %[[IGNORED:.*]] = ingot.constant dense<-100>
// CHECK:         %[[COUNTS:.*]] = ingot.compare ne %[[LABELS]], %[[IGNORED]]
// CHECK:         %[[SUM:.*]] = ingot.reduce sum %[[LOSSES]] dims = [0]
// CHECK:         %[[ONES:.*]] = ingot.cast %[[COUNTS]]
// CHECK:         %[[COUNT:.*]] = ingot.reduce sum %[[ONES]] dims = [0]
// CHECK:         %[[LOSS:.*]] = ingot.div %[[SUM]], %[[COUNT]]
// CHECK:         return %[[LOSS]], %[[MEAN]], %[[VARIANCE]]

// Evaluation uses the running statistics and only the samples that are valid.
// CHECK-LABEL: func.func @eval_step(
// CHECK-SAME:    %[[LABELS:[a-z0-9]+]]: tensor<8xi64> {ingot.classes = 3 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels", ingot.name = "labels"},
// CHECK-SAME:    %[[VALID:[a-z0-9]+]]: tensor<i64> {ingot.kind = "valid", ingot.name = "valid"},
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss_sum"}, tensor<f32> {ingot.name = "loss_count"}, tensor<f32> {ingot.name = "correct"})
// CHECK-NOT:     ingot.batch_norm
// CHECK:         %[[LOSSES:.*]], %{{.*}} = ingot.cross_entropy
// CHECK:         %[[COUNTS:.*]] = ingot.compare ne %[[LABELS]],
// CHECK:         %[[PREDICTED:.*]] = ingot.argmax %{{.*}} dim = 1
// CHECK:         %[[RIGHT:.*]] = ingot.compare eq %[[PREDICTED]], %[[LABELS]]
// CHECK:         %[[SAMPLE:.*]] = ingot.iota {dim = 0 : i64} : tensor<8xi64>
// CHECK:         %[[VALIDS:.*]] = ingot.broadcast %[[VALID]]
// CHECK:         %[[PRESENT:.*]] = ingot.compare lt %[[SAMPLE]], %[[VALIDS]]
// CHECK:         %[[BOTH:.*]] = ingot.and %[[PRESENT]], %[[COUNTS]]
// CHECK:         ingot.select %[[BOTH]], %[[LOSSES]],
// CHECK:         ingot.and %[[RIGHT]], %[[BOTH]]

// CHECK-LABEL: func.func @predict(
// CHECK-NOT:     labels
// CHECK-SAME:    -> (tensor<8x3xf32> {ingot.name = "logits"})
// CHECK-NOT:     ingot.batch_norm
// CHECK:         ingot.rsqrt

// -----

// Several rows per sample, as of tokens: row 5 of 2 samples of 3 belongs to the second.
// CHECK-LABEL: func.func @eval_step(
// CHECK:         %[[ROW:.*]] = ingot.iota {dim = 0 : i64} : tensor<6xi64>
// CHECK:         %[[THREE:.*]] = ingot.constant dense<3> : tensor<6xi64>
// CHECK:         %[[SAMPLE:.*]] = ingot.div %[[ROW]], %[[THREE]]
// CHECK:         ingot.compare lt %[[SAMPLE]],
module attributes {ingot.batch = 2 : i64} {
  func.func @forward(%x: tensor<6x4xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<6x4xf32> {ingot.name = "logits"}) {
    return %x : tensor<6x4xf32>
  }
}

// -----

// Half precision is no precision for a loss.
// CHECK-LABEL: func.func @train_step(
// CHECK:         %[[WIDE:.*]] = ingot.cast %{{.*}} : tensor<8x4xbf16> -> tensor<8x4xf32>
// CHECK:         ingot.cross_entropy %[[WIDE]],
func.func @forward(%x: tensor<8x4xbf16> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<8x4xbf16> {ingot.name = "logits"}) {
  return %x : tensor<8x4xbf16>
}

// -----

// An imported training graph is left alone.
// CHECK-LABEL: func.func @forward
// CHECK-LABEL: func.func @train_step
// CHECK-NEXT:    return
func.func @forward(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}

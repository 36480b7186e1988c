// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy:1,smoothing=0.25" | FileCheck %s --check-prefix=SMOOTH
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy:weights=1/2/0.5" | FileCheck %s --check-prefix=WEIGHTS
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy:focal=2" | FileCheck %s --check-prefix=FOCAL
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy@y+0.5*mse@z+output:aux" | FileCheck %s --check-prefix=TERMS
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy metrics=top2,confusion,auc" | FileCheck %s --check-prefix=METRICS

// RUN: not ingot-opt %s --ingot-attach-loss="loss=cross-entropy:weights=1/2" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ingot-opt %s --ingot-attach-loss="loss=cross-entropy:smoothing=1" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not ingot-opt %s --ingot-attach-loss="loss=cross-entropy:smoothing=0.1,focal=1" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not ingot-opt %s --ingot-attach-loss="loss=cross-entropy:alpha=1" 2>&1 | FileCheck %s --check-prefix=SETTING
// RUN: not ingot-opt %s --ingot-attach-loss="loss=x*mse" 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not ingot-opt %s --ingot-attach-loss="loss=mse metrics=f1" 2>&1 | FileCheck %s --check-prefix=METRIC

// COUNT:   the loss has 2 weights, and the output tensor<4x3xf32> has 3 classes along axis 1
// RANGE:   smoothing must be below 1, got 1
// BOTH:    smoothing and focal exclude each other
// SETTING: unknown setting 'alpha', the loss has AXIS, ignore, smoothing, weights and focal
// FACTOR:  'x' of the factor of a loss is not a number
// METRIC:  'f1' is no metric of mse: it has mae, r2

func.func @forward(%x: tensor<4x3xf32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<4x3xf32> {ingot.name = "y"}, tensor<4x3xf32> {ingot.name = "z"}, tensor<f32> {ingot.name = "aux"}) {
  %0 = ingot.reduce sum %x dims = [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  return %x, %x, %0 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>
}

// 3/4 of the loss of the label, and 1/4 of the mean over the classes.
// SMOOTH:       ingot.loss = "cross-entropy:1,smoothing=0.25"
// SMOOTH-LABEL: func.func @train_step(
// SMOOTH:         %[[LOSSES:.*]], %[[LSE:.*]] = ingot.cross_entropy
// SMOOTH:         ingot.mul %[[LOSSES]],
// SMOOTH:         %[[SUM:.*]] = ingot.reduce sum %{{.*}} dims = [1] : (tensor<4x3xf32>)
// SMOOTH:         %[[MEAN:.*]] = ingot.mul %[[SUM]],
// SMOOTH:         ingot.sub %[[LSE]], %[[MEAN]]

// The mean divides by the weights of the labels, and accuracy by their number.
// WEIGHTS:       ingot.loss = "cross-entropy:1,weights=1/2/0.5"
// WEIGHTS-LABEL: func.func @train_step(
// WEIGHTS:         %[[WEIGHT:.*]] = ingot.gather
// WEIGHTS:         %[[COUNTED:.*]] = ingot.select %{{.*}}, %[[WEIGHT]],
// WEIGHTS:         %[[TOTAL:.*]] = ingot.reduce sum %[[COUNTED]]
// WEIGHTS:         ingot.div %{{.*}}, %[[TOTAL]]
// WEIGHTS-LABEL: func.func @eval_step(
// WEIGHTS-SAME:    {ingot.name = "correct"}, tensor<f32> {ingot.name = "correct_count"})

// FOCAL-LABEL: func.func @train_step(
// FOCAL:         %[[LOSSES:.*]], %{{.*}} = ingot.cross_entropy
// FOCAL:         %[[NEGATED:.*]] = ingot.neg %[[LOSSES]]
// FOCAL:         %[[P:.*]] = ingot.exp %[[NEGATED]]
// FOCAL:         %[[REST:.*]] = ingot.sub %{{.*}}, %[[P]]
// FOCAL:         ingot.mul %[[LOSSES]],

// TERMS:       ingot.loss = "cross-entropy:1@y+0.5*mse@z+output:aux"
// TERMS-SAME:  ingot.loss_terms = [#ingot.loss_term<kind = "cross-entropy", output = "y", labels = "labels_y", class_axis = 1>,
// TERMS-SAME:  #ingot.loss_term<kind = "mse", factor = 5.000000e-01 : f64, output = "z", labels = "labels_z">,
// TERMS-SAME:  #ingot.loss_term<kind = "output", output = "aux", whole_batch = true>]
// TERMS-LABEL: func.func @train_step(
// TERMS-SAME:    tensor<4xi64> {ingot.classes = 3 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels", ingot.name = "labels_y"}
// TERMS-SAME:    tensor<4x3xf32> {ingot.kind = "labels", ingot.name = "labels_z"}
// TERMS-LABEL: func.func @eval_step(
// TERMS-SAME:    {ingot.name = "loss_sum"}
// TERMS-SAME:    {ingot.name = "loss_sum.1"}
// TERMS-SAME:    {ingot.name = "loss_sum.2"}

// METRICS:       ingot.metrics = ["top2", "confusion", "auc"]
// METRICS-LABEL: func.func @eval_step(
// METRICS-SAME:    tensor<f32> {ingot.name = "metric.top2"}
// METRICS-SAME:    tensor<3x3xf32> {ingot.name = "metric.confusion"}
// METRICS-SAME:    tensor<4x3xf64> {ingot.name = "metric.rows.scores"}
// METRICS-SAME:    tensor<4xf64> {ingot.name = "metric.rows.labels"}
// METRICS-SAME:    tensor<f32> {ingot.name = "metric.rows"}

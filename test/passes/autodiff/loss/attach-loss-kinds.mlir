// RUN: ingot-opt %s --ingot-attach-loss=loss=cross-entropy:1 | FileCheck %s --check-prefix=AXIS
// RUN: ingot-opt %s --ingot-attach-loss=loss=cross-entropy:-2 | FileCheck %s --check-prefix=AXIS
// RUN: ingot-opt %s --ingot-attach-loss=loss=mse | FileCheck %s --check-prefix=MSE
// RUN: ingot-opt %s --ingot-attach-loss=loss=bce-with-logits | FileCheck %s --check-prefix=BCE
// RUN: ingot-opt %s --ingot-attach-loss=loss=NLLLoss:1 | FileCheck %s --check-prefix=NLL
// RUN: ingot-opt %s --ingot-attach-loss=loss=L1Loss | FileCheck %s --check-prefix=L1
// RUN: ingot-opt %s --ingot-attach-loss=loss=huber:0.5 | FileCheck %s --check-prefix=HUBER
// RUN: ingot-opt %s --ingot-attach-loss=loss=smooth_l1:0.5 | FileCheck %s --check-prefix=SMOOTH
// RUN: ingot-opt %s --ingot-attach-loss="loss=KLDivLoss metrics=accuracy" | FileCheck %s --check-prefix=KL
// RUN: ingot-opt %s --ingot-attach-loss=loss=CrossEntropyLoss:1 | FileCheck %s --check-prefix=AXIS
// RUN: ingot-opt %s --ingot-attach-loss=loss=ce:1 | FileCheck %s --check-prefix=AXIS
// RUN: ingot-opt %s --ingot-attach-loss=loss=MSELoss | FileCheck %s --check-prefix=MSE
// RUN: ingot-opt %s --ingot-attach-loss=loss=output:penalty | FileCheck %s --check-prefix=OUTPUT

func.func @forward(%x: tensor<2x3x4xf32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<2x3x4xf32> {ingot.name = "y"}, tensor<1xf32> {ingot.name = "penalty"}) {
  %0 = ingot.reduce sum %x dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
  %1 = ingot.reshape %0 : tensor<f32> -> tensor<1xf32>
  return %x, %1 : tensor<2x3x4xf32>, tensor<1xf32>
}

// AXIS:       ingot.loss = "cross-entropy:1"
// AXIS-LABEL: func.func @train_step(
// AXIS-SAME:    tensor<2x4xi64> {ingot.classes = 3 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels"
// AXIS:         ingot.cross_entropy {{.*}} dim = 1
// AXIS:         ingot.reduce sum %{{.*}} dims = [0, 1] : (tensor<2x4xf32>)

// MSE-LABEL: func.func @train_step(
// MSE-SAME:    %[[X:[a-z0-9]+]]: {{[^,]*}}, {{[^,]*}}, %[[LABELS:[a-z0-9]+]]: tensor<2x3x4xf32> {ingot.kind = "labels"
// MSE:         %[[ERROR:.*]] = ingot.sub %[[X]], %[[LABELS]]
// MSE:         %[[SQUARE:.*]] = ingot.mul %[[ERROR]], %[[ERROR]]
// MSE:         %[[SUM:.*]] = ingot.reduce sum %[[SQUARE]] dims = [0, 1, 2]
// MSE:         %[[COUNT:.*]] = ingot.constant dense<2.400000e+01>
// MSE:         ingot.div %[[SUM]], %[[COUNT]]
// MSE-LABEL: func.func @eval_step(
// MSE-SAME:    -> (tensor<f32> {ingot.name = "loss_sum"}, tensor<f32> {ingot.name = "loss_count"})

// max(x, 0) - x y + log(1 + exp(-|x|))
// BCE-LABEL: func.func @train_step(
// BCE-SAME:    %[[X:[a-z0-9]+]]: {{[^,]*}}, {{[^,]*}}, %[[LABELS:[a-z0-9]+]]: tensor<2x3x4xf32> {ingot.kind = "labels"
// BCE:         %[[POSITIVE:.*]] = ingot.compare gt %[[X]],
// BCE:         %[[NEGATED:.*]] = ingot.neg %[[X]]
// BCE:         %[[MINUS_ABS:.*]] = ingot.select %[[POSITIVE]], %[[NEGATED]], %[[X]]
// BCE-DAG:     %[[MAX:.*]] = ingot.max %[[X]],
// BCE-DAG:     %[[PRODUCT:.*]] = ingot.mul %[[X]], %[[LABELS]]
// BCE-DAG:     %[[LINEAR:.*]] = ingot.sub %[[MAX]], %[[PRODUCT]]
// BCE-DAG:     %[[EXP:.*]] = ingot.exp %[[MINUS_ABS]]
// BCE-DAG:     %[[LOG:.*]] = ingot.log1p %[[EXP]]
// BCE:         ingot.add %[[LINEAR]], %[[LOG]]

// The output at the label's index.
// NLL:       ingot.loss = "nll:1"
// NLL-LABEL: func.func @train_step(
// NLL-SAME:    %[[X:[a-z0-9]+]]: {{[^,]*}}, {{[^,]*}}, %[[LABELS:[a-z0-9]+]]: tensor<2x4xi64> {ingot.classes = 3 : i64
// NLL:         %[[CLASS:.*]] = ingot.iota {dim = 1 : i64}
// NLL:         %[[SPREAD:.*]] = ingot.broadcast %[[LABELS]] dims = [0, 2]
// NLL:         %[[HIT:.*]] = ingot.compare eq %[[CLASS]], %[[SPREAD]]
// NLL:         %[[PICKED:.*]] = ingot.select %[[HIT]], %[[X]],
// NLL:         %[[SUM:.*]] = ingot.reduce sum %[[PICKED]] dims = [1]
// NLL:         ingot.neg %[[SUM]]
// NLL-LABEL: func.func @eval_step(
// NLL-SAME:    {ingot.name = "correct"}

// L1:       ingot.loss = "l1"
// L1-LABEL: func.func @train_step(
// L1:         %[[ERROR:.*]] = ingot.sub
// L1:         ingot.abs %[[ERROR]]

// HUBER:       ingot.loss = "huber:0.5"
// HUBER-LABEL: func.func @train_step(
// HUBER:         %[[ERROR:.*]] = ingot.sub
// HUBER:         %[[SIZE:.*]] = ingot.abs %[[ERROR]]
// HUBER:         ingot.min %[[SIZE]],

// SMOOTH:       ingot.loss = "smooth-l1:0.5"

// A sample has 12 elements, of which the mean over all elements becomes a sum.
// KL:       ingot.loss = "kl-div", ingot.loss_terms = [#ingot.loss_term<kind = "kl-div", labels = "labels", probabilities = true>]
// KL-LABEL: func.func @train_step(
// KL-SAME:    tensor<2x3x4xf32> {ingot.kind = "labels"
// KL:         ingot.log
// KL:         ingot.constant dense<1.200000e+01> : tensor<2x3x4xf32>
// KL-LABEL: func.func @eval_step(
// KL-SAME:    {ingot.name = "metric.right"}

// OUTPUT-LABEL: func.func @train_step(
// OUTPUT-NOT:     labels
// OUTPUT:         %[[SUM:.*]] = ingot.reduce sum
// OUTPUT:         %[[PENALTY:.*]] = ingot.reshape %[[SUM]]
// OUTPUT:         %[[LOSS:.*]] = ingot.reshape %[[PENALTY]] : tensor<1xf32> -> tensor<f32>
// OUTPUT:         return %[[LOSS]]
// OUTPUT-LABEL: func.func @eval_step(
// OUTPUT-SAME:    ingot.kind = "valid"
// OUTPUT:         %[[ONE:.*]] = ingot.constant dense<1.000000e+00> : tensor<f32>
// OUTPUT:         return %{{.*}}, %[[ONE]]
// OUTPUT-LABEL: func.func @predict(
// OUTPUT-SAME:    -> (tensor<2x3x4xf32> {ingot.name = "y"}, tensor<1xf32> {ingot.name = "penalty"})

// RUN: not ingot-opt %s --ingot-attach-loss 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ingot-opt %s --ingot-attach-loss=loss=hinge 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ingot-opt %s --ingot-attach-loss=loss=cross-entropy:x 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not ingot-opt %s --ingot-attach-loss=loss=cross-entropy:2 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not ingot-opt %s --ingot-attach-loss=loss=output:z 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not ingot-opt %s --ingot-attach-loss=loss=output:y 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not ingot-opt %s --ingot-attach-loss=loss=output:n 2>&1 | FileCheck %s --check-prefix=FLOAT
// RUN: not ingot-opt %s --ingot-attach-loss=loss=output 2>&1 | FileCheck %s --check-prefix=UNNAMED

// RUN: not ingot-opt %s --ingot-attach-loss=loss=BCELoss 2>&1 | FileCheck %s --check-prefix=BCE
// RUN: not ingot-opt %s --ingot-attach-loss=loss=huber:0 2>&1 | FileCheck %s --check-prefix=HUBER
// RUN: not ingot-opt %s --ingot-attach-loss=loss=nll:smoothing=0.1 2>&1 | FileCheck %s --check-prefix=NLL
// RUN: not ingot-opt %s --ingot-attach-loss=loss=mse:2 2>&1 | FileCheck %s --check-prefix=SETTING

// RUN: not ingot-opt %s --ingot-attach-loss=loss=cross-entropy:0 2>&1 | FileCheck %s --check-prefix=SAMPLES

// SAMPLES: axis 0 of the output tensor<2x3xf32> counts the samples, not classes
// SAMPLES: hint: choose an axis of at least two classes with --loss cross-entropy:AXIS
// NONE:    no loss is given and the model does not compute one: its outputs are 'y', 'n'
// NONE:    hint: choose with --loss cross-entropy[:AXIS], nll[:AXIS], mse, l1, smooth-l1[:BETA], huber[:DELTA], kl-div, bce-with-logits or output:NAME
// UNKNOWN: unknown loss 'hinge'
// UNKNOWN: any other loss goes into the module, as an output that output:NAME names
// BCE:     unknown loss 'BCELoss': bce-with-logits takes the output before the sigmoid
// HUBER:   DELTA must be above 0, got 0
// NLL:     unknown setting 'smoothing', the loss has AXIS, ignore and weights
// SETTING: unknown setting '2', the loss has none
// AXIS:    'x' is not an axis
// RANGE:   axis 2 of the loss is not an axis of the output tensor<2x3xf32>
// OUTPUT:  the model has no output 'z'
// OUTPUT:  hint: its outputs are 'y', 'n'
// SCALAR:  output 'y' is not a scalar but tensor<2x3xf32>
// FLOAT:   the loss needs a floating-point output, not tensor<i64>
// UNNAMED: 'output' without the name of an output

func.func @forward(%x: tensor<2x3xf32> {ingot.kind = "data", ingot.name = "x"},
                   %n: tensor<i64> {ingot.kind = "data", ingot.name = "n_in"})
    -> (tensor<2x3xf32> {ingot.name = "y"}, tensor<i64> {ingot.name = "n"}) {
  return %x, %n : tensor<2x3xf32>, tensor<i64>
}

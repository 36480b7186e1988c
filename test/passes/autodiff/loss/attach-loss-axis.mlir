// RUN: not ingot-opt %s --split-input-file --ingot-attach-loss=loss=cross-entropy 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAID <%t

// The axis of classes where the option has none: the one without which the output has the shape of an input.

// Tokens.
// CHECK: ingot.loss = "cross-entropy:2"
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<2x5xi64> {ingot.classes = 7 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels"
module {
  // SAID: cross-entropy over axis 2 of 'y': 'tensor<2x5x7xf32>' has labels 'tensor<2x5xi64>'; cross-entropy:AXIS names another one
  func.func @forward(%t: tensor<2x5xi64> {ingot.kind = "data", ingot.name = "t"})
      -> (tensor<2x5x7xf32> {ingot.name = "y"}) {
    %0 = ingot.cast %t : tensor<2x5xi64> -> tensor<2x5xf32>
    %1 = ingot.broadcast %0 dims = [0, 1] : tensor<2x5xf32> -> tensor<2x5x7xf32>
    return %1 : tensor<2x5x7xf32>
  }
}

// -----

// Images: [N, 3, H, W] without axis 1 is [N, H, W].
// CHECK: ingot.loss = "cross-entropy:1"
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: tensor<2x4x6xi64> {ingot.classes = 5 : i64, ingot.ignored = -100 : i64, ingot.kind = "labels"
module {
  // SAID: cross-entropy over axis 1
  func.func @forward(%x: tensor<2x3x4x6xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<2x5x4x6xf32> {ingot.name = "y"}) {
    %0 = ingot.reduce sum %x dims = [1] : (tensor<2x3x4x6xf32>) -> tensor<2x4x6xf32>
    %1 = ingot.broadcast %0 dims = [0, 2, 3] : tensor<2x4x6xf32> -> tensor<2x5x4x6xf32>
    return %1 : tensor<2x5x4x6xf32>
  }
}

// -----

// Embedded tokens: [N, T, D] without axis 2 is [N, T].
// CHECK: ingot.loss = "cross-entropy:2"
module {
  // SAID: cross-entropy over axis 2 of 'y': 'tensor<2x4x9xf32>'
  func.func @forward(%x: tensor<2x4x6xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<2x4x9xf32> {ingot.name = "y"}) {
    %0 = ingot.reduce sum %x dims = [2] : (tensor<2x4x6xf32>) -> tensor<2x4xf32>
    %1 = ingot.broadcast %0 dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4x9xf32>
    return %1 : tensor<2x4x9xf32>
  }
}

// -----

// No input tells: the last axis, and labels of another shape will not pass.
// CHECK: ingot.loss = "cross-entropy:2"
module {
  // SAID: cross-entropy over axis 2
  func.func @forward(%x: tensor<2x6xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<2x2x3xf32> {ingot.name = "y"}) {
    %0 = ingot.reshape %x : tensor<2x6xf32> -> tensor<2x2x3xf32>
    return %0 : tensor<2x2x3xf32>
  }
}

// -----

// Labels of one shape fit either axis.
module {
  // SAID: the classes of the output tensor<2x8x8xf32> may be along axes 1 and 2
  // SAID: hint: choose with --loss cross-entropy:AXIS: PyTorch's is cross-entropy:1, that of tokens cross-entropy:2
  func.func @forward(%x: tensor<2x8xi64> {ingot.kind = "data", ingot.name = "x"},
                     %y: tensor<2x8x8xf32> {ingot.kind = "data", ingot.name = "e"})
      -> (tensor<2x8x8xf32> {ingot.name = "y"}) {
    return %y : tensor<2x8x8xf32>
  }
}

// -----

// The same where no input tells.
module {
  // SAID: may be along axes 1 and 2
  // SAID: hint
  func.func @forward(%x: tensor<2x64xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<2x8x8xf32> {ingot.name = "y"}) {
    %0 = ingot.reshape %x : tensor<2x64xf32> -> tensor<2x8x8xf32>
    return %0 : tensor<2x8x8xf32>
  }
}

// -----

module {
  // SAID: the output tensor<2x1xf32> has one class along axis 1, so that the loss is always 0
  // SAID: hint: use bce-with-logits for one logit per sample
  func.func @forward(%x: tensor<2x1xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<2x1xf32> {ingot.name = "y"}) {
    return %x : tensor<2x1xf32>
  }
}

// -----

// One value per sample is no set of classes.
module {
  // SAID: axis 0 of the output tensor<2xf32> counts the samples, not classes
  // SAID: hint: cross-entropy takes an output [samples, classes]
  func.func @forward(%x: tensor<2xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<2xf32> {ingot.name = "y"}) {
    return %x : tensor<2xf32>
  }
}

// RUN: ingot-opt %s --split-input-file --ingot-check-tokens=loss=cross-entropy 2>&1 >/dev/null | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-check-tokens=loss=output:y 2>/dev/null | FileCheck %s --check-prefix=MARKED

// Labels of which the first token is not read: padded at the end, or cut.

// CHECK: note: the model shifts 'labels' itself
// MARKED: module attributes {{.*}}ingot.shifted_labels = ["labels"]
module attributes {ingot.batch = 2 : i64} {
  func.func @forward(%ids: tensor<2x8xi64> {ingot.name = "input_ids", ingot.kind = "data"},
                     %labels: tensor<2x8xi64> {ingot.name = "labels", ingot.kind = "data"})
      -> (tensor<2x8xi64> {ingot.name = "y"}, tensor<2x8xi64> {ingot.name = "z"}) {
    %0 = ingot.pad %labels low = [0, 0] high = [0, 1] interior = [0, 0] value = -1.0e2
        : (tensor<2x8xi64>) -> tensor<2x9xi64>
    %1 = ingot.slice %0 starts = [0, 1] limits = [2, 9] strides = [1, 1] : (tensor<2x9xi64>) -> tensor<2x8xi64>
    return %1, %ids : tensor<2x8xi64>, tensor<2x8xi64>
  }
}

// -----

// All tokens are read somewhere.

// MARKED-NOT: shifted_labels
// MARKED: module
module attributes {ingot.batch = 2 : i64} {
  func.func @forward(%ids: tensor<2x8xi64> {ingot.name = "input_ids", ingot.kind = "data"},
                     %labels: tensor<2x8xi64> {ingot.name = "labels", ingot.kind = "data"})
      -> (tensor<2x8xi64> {ingot.name = "y"}, tensor<2x7xi64> {ingot.name = "z"}) {
    %0 = ingot.add %ids, %labels : tensor<2x8xi64>
    %1 = ingot.slice %labels starts = [0, 1] limits = [2, 8] strides = [1, 1] : (tensor<2x8xi64>) -> tensor<2x7xi64>
    return %0, %1 : tensor<2x8xi64>, tensor<2x7xi64>
  }
}

// -----

// Logits of the last position.

// CHECK: warning: {{.*}}output 'logits' is of one position of each sequence, and input 'idx' has 8
// CHECK: hint: export the model with targets
// CHECK-NOT: {{warning|note}}
module attributes {ingot.batch = 2 : i64} {
  func.func @forward(%idx: tensor<2x8xi64> {ingot.name = "idx", ingot.kind = "data"},
                     %table: tensor<20x4xf32> {ingot.state = @table}) -> (tensor<2x1x4xf32> {ingot.name = "logits"}) {
    %0 = ingot.gather %table[%idx] dim = 0 : (tensor<20x4xf32>, tensor<2x8xi64>) -> tensor<2x8x4xf32>
    %1 = ingot.slice %0 starts = [0, 7, 0] limits = [2, 8, 4] strides = [1, 1, 1]
        : (tensor<2x8x4xf32>) -> tensor<2x1x4xf32>
    return %1 : tensor<2x1x4xf32>
  }
  ingot.state parameter @table : tensor<20x4xf32> = dense<0.0> : tensor<20x4xf32>
}

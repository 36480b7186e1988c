// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{vera@up}}' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@up,dwon}}' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@/u/}}' 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@up},{lora:r=4@/u.*/}}' 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@up},{lora:bias=all@head}}' 2>&1 | FileCheck %s --check-prefix=BIASES
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@up},{dora@head}}' 2>&1 | FileCheck %s --check-prefix=KINDS
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@tied}}' 2>&1 | FileCheck %s --check-prefix=TIED
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@up}} adapter-train=tail' 2>&1 | FileCheck %s --check-prefix=TRAIN
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@up}} adapter-train=up' 2>&1 | FileCheck %s --check-prefix=LEFT

// KIND:        error: --adapter: unknown kind of adapter 'vera'
// KIND-NEXT:   hint: choose lora, rslora or dora
// NAME:        'dwon' matches no layer of the model
// NAME-NEXT:   hint: it has 'up', 'tied', 'head'; a name is the end of a path
// REGEX:       'lora@/u/' matches no layer of the model
// TAKEN:       'lora:r=4@/u.*/' takes no layer that is left
// BIASES:      rules train different biases
// KINDS:       some rules are dora, and others not
// TIED:        the weight of 'tied' is read by '{{.*}}' as well, so that no weight could be exported with an adapter
// TRAIN:       'tail' matches no parameter of the model
// LEFT:        'lora@up' takes no layer that is left
ingot.state parameter @up.weight : tensor<8x4xf32> = dense<0.5> : tensor<8x4xf32>
ingot.state parameter @tied.weight : tensor<8x8xf32> = dense<0.5> : tensor<8x8xf32>
ingot.state parameter @head.weight : tensor<8x3xf32> = dense<0.5> : tensor<8x3xf32>
func.func @forward(%x: tensor<16x4xf32> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<8x4xf32> {ingot.state = @up.weight}, %t: tensor<8x8xf32> {ingot.state = @tied.weight},
                   %h: tensor<8x3xf32> {ingot.state = @head.weight})
    -> (tensor<16x3xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w transposed : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
  %1 = ingot.matmul %0, %t transposed : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %2 = ingot.tanh %t : tensor<8x8xf32>
  %3 = ingot.matmul %1, %2 : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %4 = ingot.matmul %3, %h : (tensor<16x8xf32>, tensor<8x3xf32>) -> tensor<16x3xf32>
  return %4 : tensor<16x3xf32>
}

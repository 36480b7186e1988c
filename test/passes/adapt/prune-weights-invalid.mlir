// RUN: not ingot-opt %s --ingot-prune-weights=prune=1.5 2>&1 | FileCheck %s --check-prefix=SHARE
// RUN: not ingot-opt %s --ingot-prune-weights=prune=4:2 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not ingot-opt %s --ingot-prune-weights=prune=block:4 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{block:4x4,share=0}}' 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{0.5,schedule=5:3:1}}' 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{2:4,schedule=0:3:1}}' 2>&1 | FileCheck %s --check-prefix=ONCE
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{0.5,rows=2}}' 2>&1 | FileCheck %s --check-prefix=SETTING
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{0.5@up.wieght}}' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{3:4@up}}' 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not ingot-opt %s --ingot-prune-weights='prune={{2:3@bias}}' 2>&1 | FileCheck %s --check-prefix=LAYER
// RUN: not ingot-opt %s --ingot-prune-weights=prune=0.5,0.25@up 2>&1 | FileCheck %s --check-prefix=LEFT

// SHARE:         error: --prune: '1.5' says not how much is pruned
// SHARE-NEXT:    hint: give a share between 0 and 1, N:M or blocks: 0.5, 2:4 or block:4x4,share=0.5
// GROUP:         error: --prune: '4:2' leaves no part of groups
// BLOCK:         error: --prune: '4' is no size of blocks
// PART:          error: --prune: share of '0' is none
// SCHEDULE:      error: --prune: '5:3:1' is no schedule
// SCHEDULE-NEXT: hint: give a step as in schedule=100, or BEGIN:END:EVERY as in schedule=0:1000:100
// ONCE:          error: --prune: groups are pruned at once
// ONCE-NEXT:     hint: give the step, as in 2:4,schedule=0
// SETTING:       error: --prune: unknown setting 'rows=2'
// NAME:          error: {{.*}}'up.wieght' matches no parameter of the model
// NAME-NEXT:     hint: it has 'up.weight', 'bias'; the expression is found anywhere in the name of a layer's weight, and is the whole name of another parameter
// MULTIPLE:      error: {{.*}}'3:4@up' can take no weight: 'up.weight': 6 inputs are no multiple of 4
// LAYER:         error: {{.*}}'2:3@bias' can take no weight: 'bias': it has no outputs and inputs: it is the weight of no linear layer or convolution
// LEFT:          error: {{.*}}'0.25@up' takes no weight
// LEFT-NEXT:     hint: rules before it have all that it names
ingot.state parameter @up.weight : tensor<8x6xf32> = dense<1.0> : tensor<8x6xf32>
ingot.state parameter @bias : tensor<8xf32> = dense<1.0> : tensor<8xf32>
func.func @forward(%x: tensor<2x6xf32> {ingot.kind = "data", ingot.name = "x"}, %up: tensor<8x6xf32> {ingot.state = @up.weight},
                   %bias: tensor<8xf32> {ingot.state = @bias}) -> (tensor<2x8xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %up transposed : (tensor<2x6xf32>, tensor<8x6xf32>) -> tensor<2x8xf32>
  %1 = ingot.broadcast %bias dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %2 = ingot.add %0, %1 : tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// RUN: ingot-opt %s --ingot-attach-target="target=cuda" --ingot-place-steps | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target="target=cuda options=library-workspace=1MiB" --ingot-place-steps | FileCheck %s --check-prefix=SMALL
// RUN: not ingot-opt %s --ingot-attach-target="target=cuda options=library-workspace=much" 2>&1 | FileCheck %s --check-prefix=WRONG

// The memory in which libraries choose their algorithms, and 1,536 bytes in which
// inputs are staged.
// CHECK: workspace = 33555968
// SMALL: workspace = 1050112
// WRONG: invalid size 'much'
func.func @predict(%x: tensor<8x16xf32> {ingot.name = "x", ingot.kind = "data"},
                   %y: tensor<16x4xf32> {ingot.name = "y", ingot.kind = "data"}) -> (tensor<8x4xf32> {ingot.name = "z"}) {
  %0 = ingot.matmul %x, %y : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// RUN: ingot-opt %s --ingot-prune-weights=prune=0.2 | FileCheck %s
// RUN: ingot-opt %s --ingot-prune-weights=prune=0.2 --remarks-filter=prune-weights --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-prune-weights='prune={{2:4,schedule=7}}' | FileCheck %s --check-prefix=GROUPS
// RUN: ingot-opt %s --ingot-prune-weights='prune={{block:4x2,share=0.25,schedule=10:50:10@filter}} prune=0.5@^down,0.125@bias,0.9@^table$' | FileCheck %s --check-prefix=NAMED

// Trained weights of layers that nothing else reads are pruned, in either
// layout; a frozen weight, a table that is looked up in and a bias stay.
// CHECK:       ingot.state parameter @up.weight {{.*}} {ingot.pruning = {begin = 0 : i64, blocks = 64 : i64, end = 0 : i64, every = 1 : i64, share = 2.000000e-01 : f64, weight = @up.weight}}
// CHECK:       ingot.state parameter @down.weight {{.*}} {ingot.pruning = {{.*}} weight = @down.weight}}
// CHECK:       ingot.state parameter @filter.weight {{.*}} {ingot.pruning = {{.*}} weight = @filter.weight}}
// CHECK-NOT:   ingot.pruning
// REMARK:      remark: [Passed] PrunedWeight | {{.*}} elements=64, module=up, rule=0.2, share=2.{{.*}}, weight=up.weight
// REMARK:      remark: [Passed] PrunedWeight | {{.*}} weight=down.weight
// REMARK:      remark: [Passed] PrunedWeight | {{.*}} weight=filter.weight
// REMARK:      remark: [Missed] PrunedWeight | {{.*}} Reason="it is not trained", weight=frozen.weight
// REMARK:      remark: [Missed] PrunedWeight | {{.*}} Reason="something else than layers reads it, such as a lookup", weight=table

// Groups are along the dimension that a product reduces: the last dimension, the
// first one, and the channels of inputs. Six of these are no multiple of four.
// GROUPS:      @up.weight {{.*}}blocks = 64 : i64, columns = 1 : i64, end = 7 : i64, every = 1 : i64, group = 4 : i64, input_dim = 1 : i64, output_dim = 0 : i64, rows = 1 : i64, share = 5.000000e-01
// GROUPS:      @down.weight {{.*}}group = 4 : i64, input_dim = 0 : i64, output_dim = 1 : i64
// GROUPS-NOT:  ingot.pruning

// The expression for a layer does not find its bias, but its whole name does.
// NAMED:       @up.weight : tensor<8x8xf32> = dense<1.000000e+00> : tensor<8x8xf32>{{$}}
// NAMED:       @down.weight {{.*}} share = 5.000000e-01
// NAMED:       @filter.weight {{.*}}{begin = 10 : i64, blocks = 27 : i64, columns = 2 : i64, end = 50 : i64, every = 10 : i64, group = 0 : i64, input_dim = 1 : i64, output_dim = 0 : i64, rows = 4 : i64, share = 2.500000e-01
// NAMED:       @table {{.*}} share = 9.0
// NAMED:       @bias {{.*}} share = 1.250000e-01
ingot.state parameter @up.weight : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @down.weight : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @filter.weight : tensor<4x6x3x3xf32> = dense<1.0> : tensor<4x6x3x3xf32>
ingot.state frozen @frozen.weight : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @table : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @bias : tensor<8xf32> = dense<1.0> : tensor<8xf32>
func.func @forward(%x: tensor<2x8xf32> {ingot.kind = "data", ingot.name = "x"},
                   %p: tensor<2x6x5x5xf32> {ingot.kind = "data", ingot.name = "p"},
                   %up: tensor<8x8xf32> {ingot.state = @up.weight}, %down: tensor<8x8xf32> {ingot.state = @down.weight},
                   %filter: tensor<4x6x3x3xf32> {ingot.state = @filter.weight},
                   %frozen: tensor<8x8xf32> {ingot.state = @frozen.weight}, %table: tensor<8x8xf32> {ingot.state = @table},
                   %bias: tensor<8xf32> {ingot.state = @bias})
    -> (tensor<2x8xf32> {ingot.name = "y"}, tensor<2x4x3x3xf32> {ingot.name = "q"}) {
  %0 = ingot.matmul %x, %up transposed : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = ingot.broadcast %bias dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %2 = ingot.add %0, %1 : tensor<2x8xf32>
  %3 = ingot.matmul %2, %down : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %4 = ingot.matmul %3, %frozen transposed : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %5 = ingot.matmul %4, %table transposed : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %6 = ingot.reduce sum %table dims = [0] : (tensor<8x8xf32>) -> tensor<8xf32>
  %7 = ingot.broadcast %6 dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %8 = ingot.add %5, %7 : tensor<2x8xf32>
  %9 = ingot.conv %p, %filter {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x5x5xf32>, tensor<4x6x3x3xf32>) -> tensor<2x4x3x3xf32>
  return %8, %9 : tensor<2x8xf32>, tensor<2x4x3x3xf32>
}

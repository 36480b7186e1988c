// Tests that the mesh of ranks is stated, and the partitions of states that rules name: with padding where a dimension
// does not divide, and whole.
// RUN: ingot-opt %s "--ingot-attach-mesh=mesh=tensor=2 partition=up=1:tensor,wte=0:tensor,down=whole" | FileCheck %s
// RUN: not ingot-opt %s "--ingot-attach-mesh=mesh=tensor=2,tensor=4" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ingot-opt %s "--ingot-attach-mesh=mesh=tensor=2 partition=other=0:tensor" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ingot-opt %s "--ingot-attach-mesh=mesh=tensor=2 partition=b=1:tensor" 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not ingot-opt %s "--ingot-attach-mesh=mesh=rows=2" 2>&1 | FileCheck %s --check-prefix=AXIS

// CHECK: module attributes {ingot.mesh = {tensor = 2 : i64}}
// CHECK: @wte {{.+}} {ingot.partition = [{pad = 1 : i64, tensor}, {}]}
// CHECK: @up {{.+}} {ingot.partition = [{}, {tensor}]}
// CHECK: @b : tensor<8xf32> = dense<0.000000e+00> : tensor<8xf32>{{$}}
// CHECK: @down {{.+}} {ingot.partition = [{}, {}]}
// TWICE: 'tensor' is given twice
// NAME: 'other=0:tensor': no state has such a name
// DIM: 'b=1:tensor': 'b' has 1 dimensions
// AXIS: 'rows=2' is no axis with its ranks
module {
  ingot.state parameter @wte : tensor<51x4xf32> = dense<0.0> : tensor<51x4xf32>
  ingot.state parameter @up : tensor<4x8xf32> = dense<0.0> : tensor<4x8xf32>
  ingot.state parameter @b : tensor<8xf32> = dense<0.0> : tensor<8xf32>
  ingot.state parameter @down : tensor<8x4xf32> = dense<0.0> : tensor<8x4xf32>
}

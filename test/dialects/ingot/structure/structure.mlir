// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s
// States, the attributes of functions, barriers and fusions survive printing.

// CHECK: ingot.state parameter @"fc1 weight" : tensor<2x3xf32> = dense<
ingot.state parameter @"fc1 weight" : tensor<2x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
// CHECK: ingot.state frozen @table : tensor<4xi32> = dense<7>
ingot.state frozen @table : tensor<4xi32> = dense<7> : tensor<4xi32>
// CHECK: ingot.state running @bn.mean : tensor<3xf32> = dense<0.0{{.*}}>
ingot.state running @bn.mean : tensor<3xf32> = dense<0.0> : tensor<3xf32>
// CHECK: ingot.state moment @"fc1 weight/exp_avg" : tensor<2x3xf32>
ingot.state moment @"fc1 weight/exp_avg" : tensor<2x3xf32> = dense<0.0> : tensor<2x3xf32>
// CHECK: ingot.state step @step : tensor<i64> = dense<0>
ingot.state step @step : tensor<i64> = dense<0> : tensor<i64>
// CHECK: ingot.state seed @seed : tensor<i64> = dense<42>
ingot.state seed @seed : tensor<i64> = dense<42> : tensor<i64>

// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<8x3xf32> {ingot.kind = "data", ingot.name = "x"}
// CHECK-SAME: tensor<2x3xf32> {ingot.state = @"fc1 weight"}
// CHECK-SAME: -> (tensor<8x2xf32> {ingot.name = "y"}, tensor<2x3xf32> {ingot.state = @"fc1 weight"})
func.func @forward(%x: tensor<8x3xf32> {ingot.name = "x", ingot.kind = "data"},
                   %w: tensor<2x3xf32> {ingot.state = @"fc1 weight"})
    -> (tensor<8x2xf32> {ingot.name = "y"},
        tensor<2x3xf32> {ingot.state = @"fc1 weight"}) {
  %0 = ingot.matmul %x, %w transposed : (tensor<8x3xf32>, tensor<2x3xf32>) -> tensor<8x2xf32>
  return %0, %w : tensor<8x2xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @barrier
func.func @barrier(%a: tensor<2xf32>, %b: tensor<i64>) -> (tensor<2xf32>, tensor<i64>) {
  // CHECK: %{{.*}}:2 = ingot.barrier %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<i64>)
  %0:2 = ingot.barrier %a, %b : (tensor<2xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<i64>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<i64>
}

// CHECK-LABEL: func.func @loop
func.func @loop(%a: tensor<4x2xf32>, %b: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xi1>) {
  // CHECK: ingot.fusion loop(%{{.*}}, %{{.*}}) : (tensor<4x2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xi1>) {
  // CHECK: ingot.yield %{{.*}}, %{{.*}} : tensor<4x2xf32>, tensor<4x2xi1>
  %0:2 = ingot.fusion loop (%a, %b) : (tensor<4x2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xi1>) {
  ^bb0(%x: tensor<4x2xf32>, %y: tensor<2xf32>):
    %1 = ingot.broadcast %y dims = [1] : tensor<2xf32> -> tensor<4x2xf32>
    %2 = ingot.add %x, %1 : tensor<4x2xf32>
    %3 = ingot.compare lt %2, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1>
    ingot.yield %2, %3 : tensor<4x2xf32>, tensor<4x2xi1>
  }
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4x2xi1>
}

// CHECK-LABEL: func.func @reduction
func.func @reduction(%a: tensor<4x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: ingot.fusion reduction(%{{.*}})
  %0:2 = ingot.fusion reduction (%a) : (tensor<4x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%x: tensor<4x2xf32>):
    %1 = ingot.mul %x, %x : tensor<4x2xf32>
    %2 = ingot.reduce sum %1 dims = [0] : (tensor<4x2xf32>) -> tensor<2xf32>
    %3 = ingot.reduce max %x dims = [0] : (tensor<4x2xf32>) -> tensor<2xf32>
    ingot.yield %2, %3 : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @rows
func.func @rows(%a: tensor<2x2x3xf32>) -> (tensor<4x3xf32>, tensor<2x2xf32>) {
  // Rows may be numbered by one dimension here and by two there.
  // CHECK: ingot.fusion row(%{{.*}})
  %0:2 = ingot.fusion row (%a) : (tensor<2x2x3xf32>) -> (tensor<4x3xf32>, tensor<2x2xf32>) {
  ^bb0(%x: tensor<2x2x3xf32>):
    %1 = ingot.reduce max %x dims = [2] : (tensor<2x2x3xf32>) -> tensor<2x2xf32>
    %2 = ingot.broadcast %1 dims = [0, 1] : tensor<2x2xf32> -> tensor<2x2x3xf32>
    %3 = ingot.sub %x, %2 : tensor<2x2x3xf32>
    %4 = ingot.reshape %3 : tensor<2x2x3xf32> -> tensor<4x3xf32>
    ingot.yield %4, %1 : tensor<4x3xf32>, tensor<2x2xf32>
  }
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @custom
func.func @custom(%i: tensor<3xi64>, %u: tensor<3x2xf32>) -> tensor<5x2xf32> {
  // CHECK: ingot.fusion custom(%{{.*}}, %{{.*}})
  %0 = ingot.fusion custom (%i, %u) : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf32> {
  ^bb0(%x: tensor<3xi64>, %y: tensor<3x2xf32>):
    %1 = ingot.scatter_add %y[%x] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf32>
    ingot.yield %1 : tensor<5x2xf32>
  }
  return %0 : tensor<5x2xf32>
}

// An argument may be several operands of a custom op.
// CHECK-LABEL: func.func @repeated
func.func @repeated(%x: tensor<3xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  // CHECK: ingot.fusion custom
  %0 = ingot.fusion custom (%x, %i) : (tensor<3xf32>, tensor<3xi64>) -> tensor<3xf32> {
  ^bb0(%y: tensor<3xf32>, %j: tensor<3xi64>):
    %1 = ingot.scatter add %y[%j] into %y dim = 0 : tensor<3xf32>, tensor<3xi64>, tensor<3xf32>
    ingot.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

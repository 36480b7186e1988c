// RUN: ingot-opt %s --ingot-simplify | FileCheck %s

// The gradient of a weight is one matmul of what the iterations read.
// CHECK-LABEL: func @weight
// CHECK-NOT: ingot.loop
// CHECK-DAG: %[[G:.*]] = ingot.reshape %arg0 : tensor<3x2x4xf32> -> tensor<6x4xf32>
// CHECK-DAG: %[[H:.*]] = ingot.reshape %arg1 : tensor<3x2x5xf32> -> tensor<6x5xf32>
// CHECK: %[[W:.*]] = ingot.matmul %[[G]] transposed, %[[H]] :
// CHECK-NEXT: return %[[W]]
func.func @weight(%g: tensor<3x2x4xf32>, %h: tensor<3x2x5xf32>) -> tensor<4x5xf32> {
  %zero = ingot.constant dense<0.0> : tensor<4x5xf32>
  %0 = ingot.loop 3 carries(%zero) slices(%g, %h)
      : (tensor<4x5xf32>, tensor<3x2x4xf32>, tensor<3x2x5xf32>) -> tensor<4x5xf32> {
  ^body(%sum: tensor<4x5xf32>, %a: tensor<2x4xf32>, %b: tensor<2x5xf32>):
    %term = ingot.matmul %a transposed, %b : (tensor<2x4xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
    %next = ingot.add %sum, %term : tensor<4x5xf32>
    ingot.yield %next : tensor<4x5xf32>
  }
  return %0 : tensor<4x5xf32>
}

// That of a bias is one reduction, of what the loop stacks anyway.
// CHECK-LABEL: func @bias
// CHECK: %[[Y:.*]] = ingot.loop 3 reverse slices(%arg0) : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
// CHECK: %[[B:.*]] = ingot.reduce sum %[[Y]] dims = [0, 1]
// CHECK: return %[[B]], %[[Y]]
func.func @bias(%g: tensor<3x2x4xf32>) -> (tensor<4xf32>, tensor<3x2x4xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4xf32>
  %0:2 = ingot.loop 3 reverse carries(%zero) slices(%g)
      : (tensor<4xf32>, tensor<3x2x4xf32>) -> (tensor<4xf32>, tensor<3x2x4xf32>) {
  ^body(%sum: tensor<4xf32>, %a: tensor<2x4xf32>):
    %b = ingot.tanh %a : tensor<2x4xf32>
    %term = ingot.reduce sum %b dims = [0] : (tensor<2x4xf32>) -> tensor<4xf32>
    %next = ingot.add %term, %sum : tensor<4xf32>
    ingot.yield %next, %b : tensor<4xf32>, tensor<2x4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<3x2x4xf32>
}

// Not what would take more memory than it saves, or begins with a value.
// CHECK-LABEL: func @kept
// CHECK: ingot.loop 3 carries(%arg1, %{{.*}}) slices(%arg0) :
// CHECK-NOT: ingot.matmul
// CHECK: return
func.func @kept(%g: tensor<3x64x4xf32>, %first: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4xf32>
  %0:2 = ingot.loop 3 carries(%first, %zero) slices(%g)
      : (tensor<4xf32>, tensor<4xf32>, tensor<3x64x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^body(%p: tensor<4xf32>, %q: tensor<4xf32>, %a: tensor<64x4xf32>):
    %t0 = ingot.reduce sum %a dims = [0] : (tensor<64x4xf32>) -> tensor<4xf32>
    %n0 = ingot.add %p, %t0 : tensor<4xf32>
    %b = ingot.tanh %a : tensor<64x4xf32>
    %t1 = ingot.reduce sum %b dims = [0] : (tensor<64x4xf32>) -> tensor<4xf32>
    %n1 = ingot.add %q, %t1 : tensor<4xf32>
    ingot.yield %n0, %n1 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

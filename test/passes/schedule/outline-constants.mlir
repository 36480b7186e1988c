// RUN: ingot-opt %s --ingot-outline-constants --split-input-file | FileCheck %s

// Tests that equal constants share a state, also across functions, that
// each function has one argument for it, after its own, and that another value
// or another type is another state.
//   CHECK-DAG: ingot.state frozen @"constant/0" : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
//   CHECK-DAG: ingot.state frozen @"constant/1" : tensor<2xf32> = dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
//   CHECK-NOT: ingot.state frozen
// CHECK-LABEL: func.func @forward(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: tensor<2xf32>, %[[A:[a-z0-9]+]]: tensor<2xf32> {ingot.state = @"constant/0"}, %[[B:[a-z0-9]+]]: tensor<2xf32> {ingot.state = @"constant/1"})
//  CHECK-NEXT:   %[[Y:.*]] = ingot.add %[[X]], %[[A]]
//  CHECK-NEXT:   %[[Z:.*]] = ingot.mul %[[Y]], %[[A]]
//  CHECK-NEXT:   ingot.sub %[[Z]], %[[B]]
//       CHECK: ingot.state frozen @"constant/2" : tensor<2xi64> = dense<[1, 2]> : tensor<2xi64>
//   CHECK-NOT: ingot.state frozen
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   %[[C:[a-z0-9]+]]: tensor<2xi64> {ingot.state = @"constant/2"}, %[[A:[a-z0-9]+]]: tensor<2xf32> {ingot.state = @"constant/0"})
//  CHECK-NEXT:   return %[[C]], %[[A]] :
module {
  func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
    %a = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = ingot.add %x, %a : tensor<2xf32>
    %again = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = ingot.mul %0, %again : tensor<2xf32>
    %b = ingot.constant dense<[1.0, 3.0]> : tensor<2xf32>
    %2 = ingot.sub %1, %b : tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func @train_step() -> (tensor<2xi64>, tensor<2xf32>) {
    %c = ingot.constant dense<[1, 2]> : tensor<2xi64>
    %a = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
    return %c, %a : tensor<2xi64>, tensor<2xf32>
  }
}

// -----

// Tests that constants in fusions, which take no memory, stay where they are,
// and that declarations have none.
//   CHECK-NOT: ingot.state
// CHECK-LABEL: func.func private @declared(tensor<2xf32>)
// CHECK-LABEL: func.func @forward(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: tensor<2xf32>) ->
//       CHECK:   ingot.fusion
//       CHECK:     ingot.constant dense<1.000000e+00>
module {
  func.func private @declared(tensor<2xf32>)
  func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = ingot.fusion loop(%x) : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%a: tensor<2xf32>):
      %one = ingot.constant dense<1.0> : tensor<2xf32>
      %1 = ingot.add %a, %one : tensor<2xf32>
      ingot.yield %1 : tensor<2xf32>
    }
    return %0 : tensor<2xf32>
  }
}

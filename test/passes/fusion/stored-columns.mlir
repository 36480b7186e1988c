// RUN: ingot-opt %s --ingot-form-fusions --split-input-file | FileCheck %s

// Tests that on a GPU the deviation of a channel is computed once, and stored,
// where all elements would compute it; and on a CPU, whose kernels compute it
// once per column, by what reads it.
// CHECK-LABEL: func.func @channels
//       CHECK: ingot.fusion loop(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
//       CHECK:   ingot.rsqrt
//       CHECK: ingot.fusion loop({{.*}}) : (tensor<1048576x64xf32>, tensor<64xf32>) -> tensor<1048576x64xf32>
//   CHECK-NOT:   ingot.rsqrt
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @channels(%x: tensor<1048576x64xf32> {ingot.name = "x", ingot.kind = "data"}, %v: tensor<64xf32> {ingot.name = "v", ingot.kind = "data"})
      -> (tensor<1048576x64xf32> {ingot.name = "y"}) {
    %n = ingot.constant dense<3.0> : tensor<64xf32>
    %0 = ingot.div %v, %n : tensor<64xf32>
    %1 = ingot.rsqrt %0 : tensor<64xf32>
    %2 = ingot.broadcast %1 dims = [1] : tensor<64xf32> -> tensor<1048576x64xf32>
    %3 = ingot.mul %x, %2 : tensor<1048576x64xf32>
    return %3 : tensor<1048576x64xf32>
  }
}

// -----

// A few elements do not pay for a launch.
// CHECK-LABEL: func.func @few
//       CHECK: ingot.fusion loop({{.*}}) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @few(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"}, %v: tensor<64xf32> {ingot.name = "v", ingot.kind = "data"})
      -> (tensor<64x64xf32> {ingot.name = "y"}) {
    %1 = ingot.rsqrt %v : tensor<64xf32>
    %2 = ingot.broadcast %1 dims = [1] : tensor<64xf32> -> tensor<64x64xf32>
    %3 = ingot.mul %x, %2 : tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}

// -----

// What a row has in common belongs to the kernel of its rows.
// CHECK-LABEL: func.func @rows
//       CHECK: ingot.fusion row(
//   CHECK-NOT: ingot.fusion
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @rows(%x: tensor<1048576x64xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<1048576x64xf32> {ingot.name = "y"}) {
    %0 = ingot.reduce sum %x dims = [1] : (tensor<1048576x64xf32>) -> tensor<1048576xf32>
    %1 = ingot.rsqrt %0 : tensor<1048576xf32>
    %2 = ingot.broadcast %1 dims = [0] : tensor<1048576xf32> -> tensor<1048576x64xf32>
    %3 = ingot.mul %x, %2 : tensor<1048576x64xf32>
    return %3 : tensor<1048576x64xf32>
  }
}

// -----

// CHECK-LABEL: func.func @processor
//       CHECK: ingot.fusion loop({{.*}}) : (tensor<1048576x64xf32>, tensor<64xf32>) -> tensor<1048576x64xf32>
//   CHECK-NOT: ingot.fusion
func.func @processor(%x: tensor<1048576x64xf32> {ingot.name = "x", ingot.kind = "data"}, %v: tensor<64xf32> {ingot.name = "v", ingot.kind = "data"})
    -> (tensor<1048576x64xf32> {ingot.name = "y"}) {
  %1 = ingot.rsqrt %v : tensor<64xf32>
  %2 = ingot.broadcast %1 dims = [1] : tensor<64xf32> -> tensor<1048576x64xf32>
  %3 = ingot.mul %x, %2 : tensor<1048576x64xf32>
  return %3 : tensor<1048576x64xf32>
}

// RUN: ingot-opt %s --split-input-file --ingot-rematerialize=memory-budget=120000 | FileCheck %s

// Tests that plans follow the module's machine: where elementwise work is
// slower than products, the product runs again.
// CHECK-LABEL: module
//       CHECK: ingot.exp
//   CHECK-NOT: ingot.exp
module attributes {ingot.machine = {vector_f32 = 1.0e+3 : f64, matmul_f32 = 1.0e+12 : f64}} {
  func.func @train_step(%x: tensor<64x64xf32> {ingot.kind = "data", ingot.name = "x"})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<64x64xf32> {ingot.name = "y"}) {
    %cheap = ingot.fusion loop(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>):
      %0 = ingot.exp %a : tensor<64x64xf32> loc("cheap")
      ingot.yield %0 : tensor<64x64xf32>
    } loc("cheap")
    %dear = ingot.matmul %x, %cheap : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("dear")
    %sum = ingot.fusion loop(%dear, %cheap) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
      %0 = ingot.add %a, %b : tensor<64x64xf32>
      ingot.yield %0 : tensor<64x64xf32>
    }
    %wide = ingot.fusion loop(%sum) : (tensor<64x64xf32>) -> tensor<4x64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>):
      %0 = ingot.broadcast %a dims = [1, 2] : tensor<64x64xf32> -> tensor<4x64x64xf32>
      ingot.yield %0 : tensor<4x64x64xf32>
    }
    %loss = ingot.fusion reduction(%wide) : (tensor<4x64x64xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<4x64x64xf32>):
      %0 = ingot.reduce sum %a dims = [0, 1, 2] : (tensor<4x64x64xf32>) -> tensor<f32>
      ingot.yield %0 : tensor<f32>
    }
    %y = ingot.fusion loop(%dear, %cheap, %loss) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<f32>):
      %0 = ingot.mul %a, %b : tensor<64x64xf32>
      %1 = ingot.broadcast %c dims = [] : tensor<f32> -> tensor<64x64xf32>
      %2 = ingot.mul %0, %1 : tensor<64x64xf32>
      ingot.yield %2 : tensor<64x64xf32>
    }
    return %loss, %y : tensor<f32>, tensor<64x64xf32>
  }
}

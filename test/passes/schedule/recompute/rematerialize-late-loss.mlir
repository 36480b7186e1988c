// RUN: ingot-opt %s --split-input-file --ingot-rematerialize=memory-budget=120000 | FileCheck %s

// The loss stands behind the backward pass, which does not need it, as losses that are computed in chunks do. What
// lives across the peak runs again, as if the loss stood where it could.
// CHECK-LABEL: func.func @train_step
//       CHECK: %[[PEAK:.*]] = ingot.fusion reduction({{.*}}) : (tensor<4x64x64xf32>)
//       CHECK: %[[AGAIN:.*]] = ingot.fusion loop(%{{.*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
//  CHECK-NEXT: ^bb0
//  CHECK-NEXT: ingot.exp
//       CHECK: ingot.fusion loop({{.*}}%[[AGAIN]]
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
  %peak = ingot.fusion reduction(%wide) : (tensor<4x64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<4x64x64xf32>):
    %0 = ingot.reduce sum %a dims = [0] : (tensor<4x64x64xf32>) -> tensor<64x64xf32>
    ingot.yield %0 : tensor<64x64xf32>
  }
  %y = ingot.fusion loop(%dear, %cheap, %peak) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>):
    %0 = ingot.mul %a, %b : tensor<64x64xf32>
    %1 = ingot.mul %0, %c : tensor<64x64xf32>
    ingot.yield %1 : tensor<64x64xf32>
  }
  %loss = ingot.fusion reduction(%peak) : (tensor<64x64xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<64x64xf32>):
    %0 = ingot.reduce sum %a dims = [0, 1] : (tensor<64x64xf32>) -> tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  return %loss, %y : tensor<f32>, tensor<64x64xf32>
}

// -----

// A sum over micro-batches, which is in a state, is between the forward pass and the loss: the loss still comes after
// it, and as early as it can.
// CHECK-LABEL: func.func @train_step
//       CHECK: %[[PEAK:.*]] = ingot.fusion reduction({{.*}}) : (tensor<4x64x64xf32>)
//       CHECK: %[[AGAIN:.*]] = ingot.fusion loop(%{{.*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
//  CHECK-NEXT: ^bb0
//  CHECK-NEXT: ingot.exp
//       CHECK: ingot.fusion loop({{.*}}%[[AGAIN]]
ingot.state accumulator @loss_sum : tensor<f32> = dense<0.0> : tensor<f32>
func.func @train_step(%x: tensor<64x64xf32> {ingot.kind = "data", ingot.name = "x"},
                      %before: tensor<f32> {ingot.state = @loss_sum})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.state = @loss_sum}, tensor<64x64xf32> {ingot.name = "y"}) {
  %scale = ingot.fusion reduction(%x) : (tensor<64x64xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<64x64xf32>):
    %0 = ingot.reduce max %a dims = [0, 1] : (tensor<64x64xf32>) -> tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
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
  %peak = ingot.fusion reduction(%wide) : (tensor<4x64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<4x64x64xf32>):
    %0 = ingot.reduce sum %a dims = [0] : (tensor<4x64x64xf32>) -> tensor<64x64xf32>
    ingot.yield %0 : tensor<64x64xf32>
  }
  %sum_of_losses = ingot.fusion reduction(%peak) : (tensor<64x64xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<64x64xf32>):
    %0 = ingot.reduce sum %a dims = [0, 1] : (tensor<64x64xf32>) -> tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  %after = ingot.fusion loop(%before, %sum_of_losses) : (tensor<f32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = ingot.add %a, %b : tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  %y = ingot.fusion loop(%scale, %dear, %cheap, %peak) : (tensor<f32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%s: tensor<f32>, %a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>):
    %0 = ingot.mul %a, %b : tensor<64x64xf32>
    %1 = ingot.mul %0, %c : tensor<64x64xf32>
    %2 = ingot.broadcast %s dims = [] : tensor<f32> -> tensor<64x64xf32>
    %3 = ingot.mul %1, %2 : tensor<64x64xf32>
    ingot.yield %3 : tensor<64x64xf32>
  }
  %loss = ingot.fusion loop(%after, %scale) : (tensor<f32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = ingot.mul %a, %b : tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  return %loss, %after, %y : tensor<f32>, tensor<f32>, tensor<64x64xf32>
}

// RUN: ingot-opt %s --ingot-rematerialize=memory-budget=120000 | FileCheck %s
// RUN: ingot-opt %s --ingot-rematerialize=memory-budget=100% | FileCheck %s --check-prefix=ALL
// RUN: not ingot-opt %s --ingot-rematerialize=memory-budget=1000 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: ingot-opt %s --ingot-rematerialize=memory-budget=at-least:120000 | FileCheck %s
// RUN: ingot-opt %s --ingot-rematerialize=memory-budget=at-least:1000 | FileCheck %s --check-prefix=LEAST
// RUN: not ingot-opt %s --ingot-rematerialize=memory-budget=at-least:1K 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: ingot-opt %s --ingot-rematerialize=remat=recompute=dear | FileCheck %s --check-prefix=NAMED
// RUN: not ingot-opt %s "--ingot-rematerialize=memory-budget=120000 remat=save=cheap|dear" 2>&1 | FileCheck %s --check-prefix=SMALL

// Both %cheap and %dear live from the forward to the backward pass, while
// %wide makes the peak. The kernel of %cheap runs again, the product does not.
// CHECK-LABEL: func.func @train_step
//       CHECK: ingot.matmul
//       CHECK: ingot.fusion loop
//       CHECK: %[[LOSS:.*]] = ingot.fusion reduction
//       CHECK: %[[AGAIN:.*]] = ingot.fusion loop(%{{.*}}) : (tensor<64x64xf32>) -> tensor<64x64xf32>
//  CHECK-NEXT: ^bb0
//  CHECK-NEXT: ingot.exp
//       CHECK: ingot.fusion loop({{.*}}%[[AGAIN]]
//   CHECK-NOT: ingot.matmul

// Nothing runs again that does not have to.
// ALL-LABEL: func.func @train_step
// ALL-COUNT-1: ingot.exp
//   ALL-NOT: ingot.exp

// SMALL: error: {{.*}}the step does not fit; the smallest possible is {{[0-9]+}} bytes

// LEAST-LABEL: func.func @train_step
// LEAST-COUNT-2: ingot.exp

// SIZE: error: {{.*}}invalid size 'at-least:1K'

// NAMED-LABEL: func.func @train_step
// NAMED-COUNT-2: ingot.matmul
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

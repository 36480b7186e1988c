// Tests which blocks are found and left: of five layers two, with what reads the last one; not those whose inner values
// are read behind them, not two alone, and not ops without states of their own.
// RUN: ingot-opt %s --split-input-file --ingot-keep-blocks | FileCheck %s
// RUN: not ingot-opt %s --split-input-file --ingot-keep-blocks=count=1 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: 'count' is at least 2

// CHECK: ingot.state parameter @w1
// CHECK-NOT: ingot.state parameter @w2
// CHECK: ingot.state parameter @head
// CHECK: func.func @forward(%[[X:.*]]: tensor<4x8xf32> {ingot.name = "x"}, %[[W0:.*]]: tensor<8x8xf32> {ingot.state = @w0}, %[[W1:.*]]: tensor<8x8xf32> {ingot.state = @w1}, %[[HEAD:.*]]: tensor<8x2xf32>
// CHECK-NEXT: %[[IN:.*]] = ingot.tanh %[[X]]
// CHECK-NEXT: %[[A:.*]] = ingot.matmul %[[IN]], %[[W0]]
// CHECK-NEXT: %[[B:.*]] = ingot.exp %[[A]]
// CHECK-NEXT: %[[C:.*]] = ingot.add %[[B]], %[[IN]]
// CHECK-NEXT: %[[D:.*]] = ingot.matmul %[[C]], %[[W1]]
// CHECK-NEXT: %[[E:.*]] = ingot.exp %[[D]]
// CHECK-NEXT: %[[F:.*]] = ingot.add %[[E]], %[[C]]
// CHECK-NEXT: %[[G:.*]] = ingot.matmul %[[F]], %[[HEAD]]
// CHECK-NEXT: return %[[G]]
ingot.state parameter @w0 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w1 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w2 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w3 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w4 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @head : tensor<8x2xf32> = dense<1.0> : tensor<8x2xf32>
func.func @forward(%x: tensor<4x8xf32> {ingot.name = "x"}, %w0: tensor<8x8xf32> {ingot.state = @w0}, %w1: tensor<8x8xf32> {ingot.state = @w1}, %w2: tensor<8x8xf32> {ingot.state = @w2}, %w3: tensor<8x8xf32> {ingot.state = @w3}, %w4: tensor<8x8xf32> {ingot.state = @w4}, %head: tensor<8x2xf32> {ingot.state = @head}) -> (tensor<4x2xf32> {ingot.name = "y"}) {
  %in = ingot.tanh %x : tensor<4x8xf32>
  %a0 = ingot.matmul %in, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b0 = ingot.exp %a0 : tensor<4x8xf32>
  %c0 = ingot.add %b0, %in : tensor<4x8xf32>
  %a1 = ingot.matmul %c0, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b1 = ingot.exp %a1 : tensor<4x8xf32>
  %c1 = ingot.add %b1, %c0 : tensor<4x8xf32>
  %a2 = ingot.matmul %c1, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b2 = ingot.exp %a2 : tensor<4x8xf32>
  %c2 = ingot.add %b2, %c1 : tensor<4x8xf32>
  %a3 = ingot.matmul %c2, %w3 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b3 = ingot.exp %a3 : tensor<4x8xf32>
  %c3 = ingot.add %b3, %c2 : tensor<4x8xf32>
  %a4 = ingot.matmul %c3, %w4 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b4 = ingot.exp %a4 : tensor<4x8xf32>
  %c4 = ingot.add %b4, %c3 : tensor<4x8xf32>
  %y = ingot.matmul %c4, %head : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

// -----

// What the third block computes is read behind the fourth.
// CHECK: func.func @forward
// CHECK-COUNT-4: ingot.matmul
// CHECK: return
ingot.state parameter @w0 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w1 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w2 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w3 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
func.func @forward(%x: tensor<4x8xf32> {ingot.name = "x"}, %w0: tensor<8x8xf32> {ingot.state = @w0}, %w1: tensor<8x8xf32> {ingot.state = @w1}, %w2: tensor<8x8xf32> {ingot.state = @w2}, %w3: tensor<8x8xf32> {ingot.state = @w3}) -> (tensor<4x8xf32> {ingot.name = "y"}) {
  %a0 = ingot.matmul %x, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a1 = ingot.matmul %a0, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a2 = ingot.matmul %a1, %w2 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a3 = ingot.matmul %a2, %w3 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = ingot.sub %a3, %a2 : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Repeated ops without states of their own, and two blocks.
// CHECK: func.func @forward
// CHECK-COUNT-2: ingot.matmul
// CHECK-COUNT-4: ingot.tanh
// CHECK: return
ingot.state parameter @w0 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
ingot.state parameter @w1 : tensor<8x8xf32> = dense<1.0> : tensor<8x8xf32>
func.func @forward(%x: tensor<4x8xf32> {ingot.name = "x"}, %w0: tensor<8x8xf32> {ingot.state = @w0}, %w1: tensor<8x8xf32> {ingot.state = @w1}) -> (tensor<4x8xf32> {ingot.name = "y"}) {
  %a0 = ingot.matmul %x, %w0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a1 = ingot.matmul %a0, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b0 = ingot.tanh %a1 : tensor<4x8xf32>
  %b1 = ingot.tanh %b0 : tensor<4x8xf32>
  %b2 = ingot.tanh %b1 : tensor<4x8xf32>
  %b3 = ingot.tanh %b2 : tensor<4x8xf32>
  return %b3 : tensor<4x8xf32>
}

// Label smoothing reads the logits besides the cross entropy: chunks hold both,
// and give what the whole gives.
// RUN: %arrays make %t.in.npz labels=4x6:labels=48 x=4x6x8 w=8x48
// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy:2,smoothing=0.1" --ingot-differentiate --ingot-simplify -o %t.whole.mlir
// RUN: ingot-opt %t.whole.mlir --ingot-chunk-loss="min-rows=4 min-bytes=-100000" -o %t.parts.mlir
// RUN: FileCheck %s < %t.parts.mlir
// RUN: ingot-eval %t.whole.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.got.npz
// RUN: %arrays compare --rtol 1e-5 --atol 1e-6 --count 2 %t.expected.npz %t.got.npz

// CHECK-LABEL: func @train_step
// CHECK:       ingot.barrier
// CHECK-NOT:   tensor<4x6x48xf32>
// CHECK-LABEL: func @eval_step

ingot.state parameter @w : tensor<8x48xf32> = dense<0.0> : tensor<8x48xf32>
func.func @forward(%x: tensor<4x6x8xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<8x48xf32> {ingot.state = @w})
    -> (tensor<4x6x48xf32> {ingot.name = "logits"}) {
  %rows = ingot.reshape %x : tensor<4x6x8xf32> -> tensor<24x8xf32>
  %0 = ingot.matmul %rows, %w : (tensor<24x8xf32>, tensor<8x48xf32>) -> tensor<24x48xf32>
  %1 = ingot.reshape %0 : tensor<24x48xf32> -> tensor<4x6x48xf32>
  return %1 : tensor<4x6x48xf32>
}

// Label smoothing, and class weights with it, of padded classes: the classes of
// the model count alone, interpreted and compiled, in one piece and in chunks,
// as PyTorch's formula has it.
// RUN: %arrays make %t.in.npz labels=4x16:labels=67 x=4x16x32 w=67x32 bias=67

// RUN: ingot-opt %s --ingot-attach-loss="loss=cross-entropy:2,smoothing=0.1" -o %t.loss.mlir
// RUN: ingot-opt %t.loss.mlir --ingot-differentiate --ingot-simplify -o %t.whole.mlir
// RUN: sed 's/^module attributes {/module attributes {ingot.machine = {}, /' %t.loss.mlir | ingot-opt --ingot-attach-target=target=cuda --ingot-pad-classes=precision=bf16 --ingot-differentiate --ingot-simplify -o %t.padded.mlir
// RUN: FileCheck %s < %t.padded.mlir
// RUN: ingot-opt %t.padded.mlir --ingot-chunk-loss="min-rows=16 min-bytes=-1000000 memory-budget=1GiB" -o %t.parts.mlir
// RUN: FileCheck %s --check-prefix=CHUNKS < %t.parts.mlir
// RUN: ingot-eval %t.whole.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %t.padded.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.got.npz
// RUN: ingot-eval %t.padded.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.compiled.npz --compiled
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.chunks.npz
// RUN: %arrays compare --rtol 1e-5 --atol 1e-6 --count 3 %t.expected.npz %t.got.npz %t.compiled.npz %t.chunks.npz
// RUN: %python %S/Inputs/smoothing.py %t.in.npz %t.got.npz

// CHECK-LABEL: func @train_step
// CHECK:       ingot.matmul {{.*}} -> tensor<64x128xf32>
// CHECK:       ingot.cross_entropy {{.*}} : (tensor<4x16x128xf32>, tensor<4x16xi64>)
// CHECK-LABEL: func @eval_step

// CHUNKS-LABEL: func @train_step
// CHUNKS:       ingot.barrier
// CHUNKS-NOT:   tensor<4x16x128xf32>
// CHUNKS-LABEL: func @eval_step

ingot.state parameter @w : tensor<67x32xf32> = dense<0.0> : tensor<67x32xf32>
ingot.state parameter @bias : tensor<67xf32> = dense<0.0> : tensor<67xf32>
func.func @forward(%x: tensor<4x16x32xf32> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<67x32xf32> {ingot.state = @w}, %bias: tensor<67xf32> {ingot.state = @bias})
    -> (tensor<4x16x67xf32> {ingot.name = "logits"}) {
  %rows = ingot.reshape %x : tensor<4x16x32xf32> -> tensor<64x32xf32>
  %0 = ingot.matmul %rows, %w transposed : (tensor<64x32xf32>, tensor<67x32xf32>) -> tensor<64x67xf32>
  %1 = ingot.reshape %0 : tensor<64x67xf32> -> tensor<4x16x67xf32>
  %2 = ingot.broadcast %bias dims = [2] : tensor<67xf32> -> tensor<4x16x67xf32>
  %3 = ingot.add %1, %2 : tensor<4x16x67xf32>
  return %3 : tensor<4x16x67xf32>
}

// A step in parts gives what the whole gives, interpreted and compiled: weights
// that are read transposed or not, labels that do not count.
// RUN: %arrays make %t.in.npz labels=4x6:labels=48 x=4x6x8 first=48x8 second=8x48 bias=48
// RUN: ingot-opt %s --ingot-attach-loss=loss=output:loss --ingot-differentiate --ingot-simplify -o %t.whole.mlir
// RUN: ingot-opt %t.whole.mlir --ingot-chunk-loss="min-rows=4 min-bytes=-100000" -o %t.parts.mlir
// RUN: FileCheck %s < %t.parts.mlir
// RUN: ingot-eval %t.whole.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.got.npz
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.compiled.npz --compiled
// RUN: %arrays compare --rtol 1e-5 --atol 1e-6 --count 4 %t.expected.npz %t.got.npz %t.compiled.npz

// CHECK-LABEL:   func @train_step
// CHECK-COUNT-6: ingot.barrier
// CHECK-NOT:     tensor<4x6x48xf32>

ingot.state parameter @first : tensor<48x8xf32> = dense<0.0> : tensor<48x8xf32>
ingot.state parameter @second : tensor<8x48xf32> = dense<0.0> : tensor<8x48xf32>
ingot.state parameter @bias : tensor<48xf32> = dense<0.0> : tensor<48xf32>
func.func @forward(%x: tensor<4x6x8xf32> {ingot.kind = "data", ingot.name = "x"}, %labels: tensor<4x6xi64> {ingot.kind = "data", ingot.name = "labels"},
                   %first: tensor<48x8xf32> {ingot.state = @first}, %second: tensor<8x48xf32> {ingot.state = @second}, %bias: tensor<48xf32> {ingot.state = @bias})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %rows = ingot.reshape %x : tensor<4x6x8xf32> -> tensor<24x8xf32>
  %0 = ingot.matmul %rows, %first transposed : (tensor<24x8xf32>, tensor<48x8xf32>) -> tensor<24x48xf32>
  %1 = ingot.broadcast %bias dims = [1] : tensor<48xf32> -> tensor<24x48xf32>
  %2 = ingot.add %0, %1 : tensor<24x48xf32>
  %3 = ingot.reshape %2 : tensor<24x48xf32> -> tensor<4x6x48xf32>
  %losses, %lse = ingot.cross_entropy %3, %labels dim = 2 : (tensor<4x6x48xf32>, tensor<4x6xi64>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %4 = ingot.matmul %rows, %second : (tensor<24x8xf32>, tensor<8x48xf32>) -> tensor<24x48xf32>
  %5 = ingot.reshape %4 : tensor<24x48xf32> -> tensor<4x6x48xf32>
  %losses2, %lse2 = ingot.cross_entropy %5, %labels dim = 2 : (tensor<4x6x48xf32>, tensor<4x6xi64>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %6 = ingot.add %losses, %losses2 : tensor<4x6xf32>
  %7 = ingot.reduce sum %6 dims = [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  return %7 : tensor<f32>
}

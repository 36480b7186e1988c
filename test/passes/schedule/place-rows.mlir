// RUN: ingot-opt %s --ingot-decompose --ingot-simplify --ingot-form-fusions --ingot-place-steps --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-decompose --ingot-simplify --ingot-form-fusions --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=SHARED

// Tests that a kernel over rows updates a state in place: the loss of a label
// is read before the row's elements are written, by one thread. Threads that
// share a short row do not wait for each other.
// CHECK:      exec.kernel "row" @{{.*}} aliases = [1, -1]
// CHECK:      exec.step @train_step
// CHECK-NOT:  exec.call @ingot_copy
// SHARED:     exec.kernel "row" @{{.*}} aliases = [-1, -1]
// SHARED:     exec.call @ingot_copy
func.func @train_step(%logits: tensor<64x100xf32> {ingot.state = @logits},
                      %labels: tensor<64xi64> {ingot.name = "labels", ingot.kind = "data"})
    -> (tensor<64xf32> {ingot.name = "losses"}, tensor<64x100xf32> {ingot.state = @logits}) {
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<64x100xf32>, tensor<64xi64>) -> (tensor<64xf32>, tensor<64xf32>)
  %lses = ingot.broadcast %lse dims = [0] : tensor<64xf32> -> tensor<64x100xf32>
  %shifted = ingot.sub %logits, %lses : tensor<64x100xf32>
  %p = ingot.exp %shifted : tensor<64x100xf32>
  %new = ingot.sub %logits, %p : tensor<64x100xf32>
  return %losses, %new : tensor<64xf32>, tensor<64x100xf32>
}
ingot.state parameter @logits : tensor<64x100xf32> = dense<0.0> : tensor<64x100xf32>

// -----

// Tests that a row that others are computed of is not overwritten, also where
// threads wait for each other: the sum of the next row reads this one.
// CHECK:      exec.kernel "row" @{{.*}} aliases = [-1]
// CHECK:      exec.call @ingot_copy
// SHARED:     exec.kernel "row" @{{.*}} aliases = [-1]
// SHARED:     exec.call @ingot_copy
func.func @train_step(%x: tensor<64x2000xf32> {ingot.state = @x}) -> (tensor<64x2000xf32> {ingot.state = @x}) {
  %first = ingot.slice %x starts = [0, 0] limits = [63, 2000] strides = [1, 1] : (tensor<64x2000xf32>) -> tensor<63x2000xf32>
  %before = ingot.pad %first low = [1, 0] high = [0, 0] interior = [0, 0] value = 0.0 : (tensor<63x2000xf32>) -> tensor<64x2000xf32>
  %sum = ingot.reduce sum %before dims = [1] : (tensor<64x2000xf32>) -> tensor<64xf32>
  %sums = ingot.broadcast %sum dims = [0] : tensor<64xf32> -> tensor<64x2000xf32>
  %new = ingot.sub %x, %sums : tensor<64x2000xf32>
  return %new : tensor<64x2000xf32>
}
ingot.state parameter @x : tensor<64x2000xf32> = dense<0.0> : tensor<64x2000xf32>

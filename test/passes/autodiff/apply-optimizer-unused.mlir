// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=muon 2>&1 | FileCheck %s
// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=adamw 2>&1 | FileCheck %s --check-prefix=QUIET

// Where only vectors are trained, as with the biases beside a frozen model, another optimizer has all of them.
// CHECK:     warning: {{.*}}no parameter is of a kind that the optimizer 'muon' updates: adamw trains all of them
// CHECK:     hint: choose --optimizer adamw, or see docs/guide/optimizers.md
// CHECK:     ingot.state moment @"bias/exp_avg_sq"
// QUIET-NOT: warning
ingot.state frozen @hidden : tensor<4x5xf32> = dense<1.0> : tensor<4x5xf32>
ingot.state parameter @bias : tensor<5xf32> = dense<1.0> : tensor<5xf32>
func.func @train_step(%x: tensor<2x4xf32> {ingot.kind = "data", ingot.name = "x"},
                      %hidden: tensor<4x5xf32> {ingot.state = @hidden}, %bias: tensor<5xf32> {ingot.state = @bias})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<5xf32> {ingot.gradient = @bias}) {
  %0 = ingot.matmul %x, %hidden : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  %1 = ingot.broadcast %bias dims = [1] : tensor<5xf32> -> tensor<2x5xf32>
  %2 = ingot.add %0, %1 : tensor<2x5xf32>
  %3 = ingot.reduce sum %2 dims = [0, 1] : (tensor<2x5xf32>) -> tensor<f32>
  return %3, %bias : tensor<f32>, tensor<5xf32>
}

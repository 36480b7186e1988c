// RUN: ingot-opt %s --ingot-add-teacher | FileCheck %s
// RUN: ingot-opt %s --ingot-add-teacher='distill=temperature=2,alpha=0.25,pairs=a:b' --remarks-filter=add-teacher --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// States of the teacher are frozen, batch normalizations use their running
// statistics and do not update them, dropouts are gone with the states that
// they read. The student stays as it is.
// CHECK:     ingot.state parameter @w
// CHECK-NOT: @"@teacher/seed"
// CHECK-NOT: @"@teacher/step"
// CHECK:     ingot.state frozen @"@teacher/w"
// CHECK:     ingot.state frozen @"@teacher/mean"
// CHECK:     ingot.state frozen @"@teacher/variance"
// CHECK-NOT: @"@teacher/seed"
// CHECK:     func.func @forward
// CHECK-SAME: {ingot.name = "distill.0"}
// CHECK:     func.func @teacher
// CHECK-SAME: -> (tensor<8x4xf32> {ingot.name = "logits"}, tensor<8x4xf32> {ingot.name = "distill.0"}) {
// CHECK-NOT: ingot.batch_norm
// CHECK-NOT: ingot.dropout
// CHECK:     return
// REMARK:    remark: [Passed] Teacher | {{.*}}alpha=2.500000e-01, bytes=128, elements=32, pairs=1, temperature=2.000000e+00, weights=5
ingot.state parameter @w : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state frozen @"@teacher/w" : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state parameter @"@teacher/scale" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
ingot.state parameter @"@teacher/bias" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
ingot.state running @"@teacher/mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
ingot.state running @"@teacher/variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
ingot.state seed @"@teacher/seed" : tensor<i64> = dense<0> : tensor<i64>
ingot.state step @"@teacher/step" : tensor<i64> = dense<0> : tensor<i64>
func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<8x4xf32> {ingot.name = "logits"}, tensor<8x4xf32> {ingot.name = "distill.0"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = ingot.exp %0 : tensor<8x4xf32>
  return %1, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<4x4xf32> {ingot.state = @"@teacher/w"}, %scale: tensor<4xf32> {ingot.state = @"@teacher/scale"},
                   %bias: tensor<4xf32> {ingot.state = @"@teacher/bias"}, %mean: tensor<4xf32> {ingot.state = @"@teacher/mean"},
                   %variance: tensor<4xf32> {ingot.state = @"@teacher/variance"},
                   %seed: tensor<i64> {ingot.state = @"@teacher/seed"}, %step: tensor<i64> {ingot.state = @"@teacher/step"})
    -> (tensor<8x4xf32> {ingot.name = "logits"}, tensor<8x4xf32> {ingot.name = "distill.0"},
        tensor<4xf32> {ingot.state = @"@teacher/mean"}, tensor<4xf32> {ingot.state = @"@teacher/variance"}) {
  %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1:5 = ingot.batch_norm %0, %scale, %bias, %mean, %variance {epsilon = 1.0e-5, momentum = 0.9} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %2:2 = ingot.dropout %1#0, %seed, %step ratio = 0.5 stream = 0 : (tensor<8x4xf32>, tensor<i64>, tensor<i64>) -> (tensor<8x4xf32>, tensor<8x4xi1>)
  return %2#0, %1#0, %1#1, %1#2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

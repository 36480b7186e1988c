// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=adamw optimizer-precision=bf16" | FileCheck %s
// RUN: not ingot-opt %s --ingot-apply-optimizer="optimizer-precision=fp16" 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: --optimizer-precision{{.*}}unknown optimizer-precision 'fp16'
// ERROR: choose fp32, bf16 or dyn8

// Only updates in f32 have moments to shorten.
// CHECK-NOT:  ingot.state seed
// CHECK:      ingot.state moment @"w/exp_avg" : tensor<4xbf16> = dense<0.000000e+00>
// CHECK-NEXT: ingot.state moment @"w/exp_avg_sq" : tensor<4xbf16>
// CHECK-NEXT: ingot.state moment @"v/exp_avg" : tensor<2xbf16>
// CHECK-NEXT: ingot.state moment @"v/exp_avg_sq" : tensor<2xbf16>
// CHECK-NEXT: ingot.state moment @"d/exp_avg" : tensor<2xf64>
ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
ingot.state parameter @v : tensor<2xf32> = dense<1.0> : tensor<2xf32>
ingot.state parameter @d : tensor<2xf64> = dense<1.0> : tensor<2xf64>

// CHECK-LABEL: func.func @train_step(
// CHECK-DAG:     %[[M:.*]] = ingot.cast %{{.*}} : tensor<4xbf16> -> tensor<4xf32>
// One number an element, and a stream for each parameter.
// CHECK:         %[[SEED:.*]] = ingot.constant dense<0> : tensor<i64>
// CHECK-NEXT:    %[[U:.*]] = ingot.random_uniform %[[SEED]], %[[STEP:[a-z0-9]+]] stream = [[STREAM:[0-9]+]] :
// CHECK-SAME:      -> tensor<4xf32>
// CHECK:         ingot.stochastic_round %{{.*}}, %[[U]] :
// CHECK:         ingot.stochastic_round %{{.*}}, %[[U]] :
// CHECK-NOT:     stream = [[STREAM]]
// CHECK:         ingot.random_uniform %{{.*}}, %[[STEP]] stream =
// CHECK-SAME:      -> tensor<2xf32>
// CHECK-NOT:     ingot.random_uniform
// CHECK:         return
func.func @train_step(%w: tensor<4xf32> {ingot.state = @w}, %v: tensor<2xf32> {ingot.state = @v},
                      %d: tensor<2xf64> {ingot.state = @d})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @w},
        tensor<2xf32> {ingot.gradient = @v}, tensor<2xf64> {ingot.gradient = @d}) {
  %loss = ingot.constant dense<0.0> : tensor<f32>
  func.return %loss, %w, %v, %d : tensor<f32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf64>
}

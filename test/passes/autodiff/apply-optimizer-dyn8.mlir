// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=adamw optimizer-precision=dyn8" | FileCheck %s
// RUN: not ingot-opt %s --ingot-apply-optimizer="optimizer=lamb optimizer-precision=dyn8" 2>&1 | FileCheck %s --check-prefix=LAMB

// LAMB: --optimizer-precision{{.*}}dyn8: the optimizer 'lamb' needs norms of whole updates

// Means of squares have no sign. Small parameters stay in f32, and so do those that are updated in f64.
// CHECK:      ingot.state moment @"w/exp_avg" : tensor<3x1400xf32> = dense<0.000000e+00>
// CHECK-SAME:   ingot.encoding = {block = 256 : i64, kind = "dyn8", parts = [@"w/exp_avg/codes", @"w/exp_avg.absmax"]}
// CHECK-NEXT: ingot.state moment @"w/exp_avg/codes" : tensor<4200xui8> = dense<127>
// CHECK-NEXT: ingot.state moment @"w/exp_avg.absmax" : tensor<17xf32> = dense<0.000000e+00> : tensor<17xf32> {ingot.block = 256 : i64}
// CHECK-NEXT: ingot.state moment @"w/exp_avg_sq" : tensor<3x1400xf32>
// CHECK-SAME:   kind = "udyn8"
// CHECK-NEXT: ingot.state moment @"w/exp_avg_sq/codes" : tensor<4200xui8> = dense<0>
// CHECK-NEXT: ingot.state moment @"w/exp_avg_sq.absmax" : tensor<17xf32>
// CHECK-NEXT: ingot.state moment @"v/exp_avg" : tensor<4095xf32>
// CHECK-NEXT: ingot.state moment @"v/exp_avg_sq" : tensor<4095xf32>
// CHECK-NEXT: ingot.state moment @"d/exp_avg" : tensor<4096xf64>
ingot.state parameter @w : tensor<3x1400xf32> = dense<1.0> : tensor<3x1400xf32>
ingot.state parameter @v : tensor<4095xf32> = dense<1.0> : tensor<4095xf32>
ingot.state parameter @d : tensor<4096xf64> = dense<1.0> : tensor<4096xf64>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    tensor<4200xui8> {ingot.state = @"w/exp_avg/codes"}
// CHECK:         %[[M:.*]] = ingot.decode_blocks %{{.*}}[%{{.*}}] by %{{.*}} as "dyn8" block 256
// CHECK:         ingot.decode_blocks %{{.*}}[%{{.*}}] by %{{.*}} as "udyn8" block 256
// CHECK:         %[[MOST:.*]] = ingot.block_max %[[NEXT:.*]] block 256
// CHECK:         %[[SCALE:.*]] = ingot.select
// CHECK:         ingot.encode_blocks %[[NEXT]][%{{.*}}, %{{.*}}] by %[[SCALE]] as "dyn8" block 256
// CHECK:         ingot.encode_blocks %{{.*}} as "udyn8" block 256
// CHECK-NOT:     ingot.encode_blocks
func.func @train_step(%w: tensor<3x1400xf32> {ingot.state = @w}, %v: tensor<4095xf32> {ingot.state = @v},
                      %d: tensor<4096xf64> {ingot.state = @d})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<3x1400xf32> {ingot.gradient = @w},
        tensor<4095xf32> {ingot.gradient = @v}, tensor<4096xf64> {ingot.gradient = @d}) {
  %loss = ingot.constant dense<0.0> : tensor<f32>
  func.return %loss, %w, %v, %d : tensor<f32>, tensor<3x1400xf32>, tensor<4095xf32>, tensor<4096xf64>
}

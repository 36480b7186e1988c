// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=adamw no-decay=bias" | FileCheck %s
// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=sgd | FileCheck %s --check-prefix=SGD
// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=momentum | FileCheck %s --check-prefix=MOMENTUM
// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=sgd clip=true" | FileCheck %s --check-prefix=CLIP
// RUN: ingot-opt %s --ingot-apply-optimizer="no-decay=bias" --remarks-filter=apply-optimizer --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK: [Analysis] Update | Category:apply-optimizer | {{.*}}parameter=w, weight_decay=true
// REMARK: [Analysis] Update | Category:apply-optimizer | {{.*}}parameter=w.bias, weight_decay=false

// CHECK:      ingot.hyperparameters = [{default = 1.000000e-03 : f64, name = "lr"}, {default = 9.000000e-01 : f64, name = "beta1"},
// CHECK-SAME: {default = 0.99{{[0-9]*}} : f64, name = "beta2"}, {default = 1.000000e-08 : f64, name = "eps"}, {default = 1.000000e-02 : f64, name = "weight_decay"}]
// CHECK-SAME: ingot.optimizer = "adamw"
// CHECK:      ingot.state step @step : tensor<i64> = dense<0>
// CHECK-NEXT: ingot.state moment @"w/exp_avg" : tensor<2x2xf32> = dense<0.000000e+00>
// CHECK-NEXT: ingot.state moment @"w/exp_avg_sq" : tensor<2x2xf32> = dense<0.000000e+00>
// CHECK-NEXT: ingot.state moment @"w.bias/exp_avg" : tensor<2xf32>
ingot.state parameter @w : tensor<2x2xf32> = dense<1.0> : tensor<2x2xf32>
ingot.state parameter @w.bias : tensor<2xbf16> = dense<1.0> : tensor<2xbf16>
ingot.state running @m : tensor<f32> = dense<1.0> : tensor<f32>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    ingot.name = "x"}, %[[LR:[a-z0-9]+]]: tensor<f64> {ingot.kind = "hyper", ingot.name = "lr"},
// CHECK-SAME:    %[[DECAY:[a-z0-9]+]]: tensor<f64> {ingot.kind = "hyper", ingot.name = "weight_decay"},
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x2xf32> {ingot.state = @w}, %[[BIAS:[a-z0-9]+]]: tensor<2xbf16> {ingot.state = @w.bias},
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<i64> {ingot.state = @step},
// CHECK-SAME:    {ingot.state = @"w/exp_avg"}, %{{[a-z0-9]+}}: tensor<2x2xf32> {ingot.state = @"w/exp_avg_sq"},
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss"}, tensor<2x2xf32> {ingot.state = @w}, tensor<2xbf16> {ingot.state = @w.bias},
// CHECK-SAME:        tensor<f32> {ingot.state = @m}, tensor<i64> {ingot.state = @step},
// CHECK-SAME:        tensor<2x2xf32> {ingot.state = @"w/exp_avg"},

// Scalars are f64, once for all parameters.
// CHECK:         %[[NEXT_STEP:.*]] = ingot.add %[[STEP]],
// CHECK:         %[[LR_DECAY:.*]] = ingot.mul %[[LR]], %[[DECAY]] : tensor<f64>
// CHECK:         %[[SHRINK:.*]] = ingot.sub %{{.*}}, %[[LR_DECAY]] : tensor<f64>
// CHECK:         %[[SHRINK32:.*]] = ingot.cast %[[SHRINK]] : tensor<f64> -> tensor<f32>
// CHECK:         %[[SHRINKS:.*]] = ingot.broadcast %[[SHRINK32]] dims = []
// CHECK:         ingot.mul %[[W]], %[[SHRINKS]]
// CHECK-NOT:     ingot.cast %[[SHRINK]]
// Updates are computed in f32 and rounded once.
// CHECK-DAG:     ingot.cast %[[BIAS]] : tensor<2xbf16> -> tensor<2xf32>
// CHECK:         ingot.cast %{{.*}} : tensor<2xf32> -> tensor<2xbf16>
// CHECK:         return

// SGD-NOT:   ingot.state moment
// SGD-LABEL: func.func @train_step(
// SGD-SAME:    %[[W:[a-z0-9]+]]: tensor<2x2xf32> {ingot.state = @w}
// SGD:         %[[DECAY:.*]] = ingot.mul %{{.*}}, %[[W]]
// SGD:         %[[G:.*]] = ingot.add %{{.*}}, %[[DECAY]]
// SGD:         %[[STEP:.*]] = ingot.mul %{{.*}}, %[[G]]
// SGD:         ingot.add %[[W]], %[[STEP]]

// MOMENTUM: ingot.state moment @"w/momentum" : tensor<2x2xf32>

// CLIP:       name = "clip_norm"
// CLIP-LABEL: func.func @train_step(
// CLIP-SAME:    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "grad_norm"}, tensor<2x2xf32> {ingot.state = @w},
// CLIP-COUNT-2: ingot.reduce sum
// CLIP:         %[[NORM:.*]] = ingot.sqrt %{{.*}} : tensor<f64>
// CLIP:         %[[NORM32:.*]] = ingot.cast %[[NORM]] : tensor<f64> -> tensor<f32>
// CLIP:         %[[FACTOR:.*]] = ingot.min %{{.*}}, %{{.*}} : tensor<f64>
// CLIP:         return %{{.*}}, %[[NORM32]],
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<2x2xf32> {ingot.state = @w},
                      %b: tensor<2xbf16> {ingot.state = @w.bias},
                      %m: tensor<f32> {ingot.state = @m})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<2x2xf32> {ingot.gradient = @w},
        tensor<2xbf16> {ingot.gradient = @w.bias}, tensor<f32> {ingot.state = @m}) {
  %gw = ingot.exp %w : tensor<2x2xf32>
  %gb = ingot.exp %b : tensor<2xbf16>
  return %x, %gw, %gb, %m : tensor<f32>, tensor<2x2xf32>, tensor<2xbf16>, tensor<f32>
}

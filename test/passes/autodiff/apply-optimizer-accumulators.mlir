// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=nadam | FileCheck %s
// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=nadam group=slow=w" | FileCheck %s --check-prefix=GROUP
// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=schedule-free-adamw | FileCheck %s --check-prefix=AVERAGE

// Scalars that updates share are states of the step, and of each group.
// CHECK:       ingot.state moment @"nadam/momentum_used" : tensor<f64> = dense<0.0
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[USED:[a-z0-9]+]]: tensor<f64> {ingot.state = @"nadam/momentum_used"}
// CHECK:         %[[LEFT:.*]] = ingot.sub %{{.*}}, %[[USED]] : tensor<f64>
// CHECK:         ingot.mul %[[LEFT]],

// GROUP: ingot.state moment @"nadam.slow/momentum_used" : tensor<f64>

// The step reads weights between the average and the last iterate; the
// function for evaluation reads the average.
// AVERAGE-DAG: ingot.state moment @"schedule-free-adamw/largest_lr" : tensor<f64>
// AVERAGE-DAG: ingot.state moment @"schedule-free-adamw/weight_sum" : tensor<f64>
// AVERAGE-LABEL: func.func @train_step(
// AVERAGE-SAME:    %[[W:[a-z0-9]+]]: tensor<2xf32> {ingot.state = @w}
// AVERAGE-SAME:    %[[AHEAD:[a-z0-9]+]]: tensor<2xf32> {ingot.state = @"w/ahead"}
// AVERAGE:         %[[PART:.*]] = ingot.mul %{{.*}}, %[[AHEAD]] : tensor<2xf32>
// AVERAGE:         %[[POINT:.*]] = ingot.add %[[W]], %[[PART]] : tensor<2xf32>
// AVERAGE:         ingot.mul %arg0, %[[POINT]] : tensor<2xf32>
// AVERAGE-LABEL: func.func @eval_step(
// AVERAGE:         ingot.mul %arg0, %arg1 : tensor<2xf32>
ingot.state parameter @w : tensor<2xf32> = dense<1.0> : tensor<2xf32>
func.func @train_step(%x: tensor<2xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<2xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<2xf32> {ingot.gradient = @w}) {
  %0 = ingot.mul %x, %w : tensor<2xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<2xf32>) -> tensor<f32>
  return %1, %x : tensor<f32>, tensor<2xf32>
}
func.func @eval_step(%x: tensor<2xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<2xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.mul %x, %w : tensor<2xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

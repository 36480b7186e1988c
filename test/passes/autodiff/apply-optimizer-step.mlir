// RUN: ingot-opt %s --split-input-file --ingot-apply-optimizer=optimizer=sgd | FileCheck %s

// A count of steps that is there already, for random numbers, is used.
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
ingot.state step @count : tensor<i64> = dense<0> : tensor<i64>

// CHECK-NOT:   @step
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[COUNT:[a-z0-9]+]]: tensor<i64> {ingot.state = @count},
// CHECK-SAME:    tensor<i64> {ingot.state = @count})
// CHECK:         %[[NEXT:.*]] = ingot.add %[[COUNT]],
// CHECK:         return %{{.*}}, %{{.*}}, %[[NEXT]]
func.func @train_step(%n: tensor<i64> {ingot.state = @count}, %w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.gradient = @w}) {
  %0 = ingot.random_uniform %n, %n stream = 0 : (tensor<i64>, tensor<i64>) -> tensor<f32>
  return %0, %w : tensor<f32>, tensor<f32>
}

// -----

// A step without gradients is left alone.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss"})
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}

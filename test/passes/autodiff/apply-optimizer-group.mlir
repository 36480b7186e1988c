// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=sgd clip group=head=^w,rest=." | FileCheck %s
// RUN: not ingot-opt %s --ingot-apply-optimizer="optimizer=sgd group=none=elephant" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ingot-opt %s --ingot-apply-optimizer="optimizer=sgd group=head" 2>&1 | FileCheck %s --check-prefix=FORM

// NONE: no parameter that is trained has a name for group 'none'
// FORM: 'head' is not NAME=REGEX

ingot.state parameter @w : tensor<2xf32> = dense<1.0> : tensor<2xf32>
ingot.state parameter @b : tensor<3xf32> = dense<1.0> : tensor<3xf32>

// Each group has a rate, a decay and a first step; what is not active is not
// part of the norm, and stays as it is.
// CHECK-LABEL: func.func @train_step(
// CHECK-DAG:     %[[RATE:[a-z0-9]+]]: tensor<f64> {ingot.kind = "hyper", ingot.name = "lr.head"}
// CHECK-DAG:     %[[START:[a-z0-9]+]]: tensor<f64> {ingot.kind = "hyper", ingot.name = "start.head"}
// CHECK:         %[[STEPS:.*]] = ingot.sub %{{.*}}, %[[START]]
// CHECK:         %[[ACTIVE:.*]] = ingot.compare gt %[[STEPS]],
// CHECK:         ingot.select %[[ACTIVE]], %{{.*}} : tensor<i1>, tensor<f64>
// CHECK:         %[[SPREAD:.*]] = ingot.broadcast %[[ACTIVE]] {{.*}} tensor<2xi1>
// CHECK:         ingot.select %[[SPREAD]],
func.func @train_step(%x: tensor<2xf32> {ingot.kind = "data", ingot.name = "x"}, %y: tensor<3xf32> {ingot.kind = "data", ingot.name = "y"},
                      %w: tensor<2xf32> {ingot.state = @w}, %b: tensor<3xf32> {ingot.state = @b})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<2xf32> {ingot.gradient = @w}, tensor<3xf32> {ingot.gradient = @b}) {
  %0 = ingot.mul %x, %w : tensor<2xf32>
  %1 = ingot.mul %y, %b : tensor<3xf32>
  %2 = ingot.reduce sum %0 dims = [0] : (tensor<2xf32>) -> tensor<f32>
  return %2, %0, %1 : tensor<f32>, tensor<2xf32>, tensor<3xf32>
}

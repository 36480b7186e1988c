// RUN: ingot-opt %s --split-input-file --ingot-differentiate | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-differentiate --remarks-filter=differentiate --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

ingot.state parameter @w : tensor<3x4xf32> = dense<1.0> : tensor<3x4xf32>
ingot.state frozen @f : tensor<8x4xf32> = dense<1.0> : tensor<8x4xf32>

// No gradient by data and frozen states, and nothing built for it.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x4xf32> {ingot.kind = "data"
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss"}, tensor<3x4xf32> {ingot.gradient = @w})
// CHECK:         %[[LOSS:.*]] = ingot.reduce sum
// CHECK:         %[[ONE:.*]] = ingot.constant dense<1.000000e+00> : tensor<f32>
// CHECK:         %[[G:.*]] = ingot.broadcast %[[ONE]] dims = [] : tensor<f32> -> tensor<8x3xf32>
// CHECK-NEXT:    %[[GRADIENT:.*]] = ingot.matmul %[[G]] transposed, %{{.*}} :
// CHECK-NEXT:    return %[[LOSS]], %[[GRADIENT]]
func.func @train_step(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<3x4xf32> {ingot.state = @w},
                      %f: tensor<8x4xf32> {ingot.state = @f})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.mul %x, %f : tensor<8x4xf32>
  %1 = ingot.matmul %0, %w transposed : (tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<8x3xf32>
  %2 = ingot.reduce sum %1 dims = [0, 1] : (tensor<8x3xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Cotangents of a value used twice are added, those of the last use first.
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<f32>
// CHECK:         %[[E:.*]] = ingot.exp %[[W]]
// CHECK:         %[[S:.*]] = ingot.sin %[[W]]
// CHECK:         ingot.constant
// CHECK:         %[[GE:.*]] = ingot.mul %{{.*}}, %[[S]]
// CHECK:         %[[GS:.*]] = ingot.mul %{{.*}}, %[[E]]
// CHECK:         %[[C:.*]] = ingot.cos %[[W]]
// CHECK:         %[[FROM_S:.*]] = ingot.mul %[[GS]], %[[C]]
// CHECK:         %[[FROM_E:.*]] = ingot.mul %[[GE]], %[[E]]
// CHECK:         %[[SUM:.*]] = ingot.add %[[FROM_S]], %[[FROM_E]]
// CHECK:         return %{{.*}}, %[[SUM]]
func.func @train_step(%w: tensor<f32> {ingot.state = @w}) -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.exp %w : tensor<f32>
  %1 = ingot.sin %w : tensor<f32>
  %2 = ingot.mul %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Cotangents of repeated values are summed over the repetitions before they are added.
ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "y"}
// CHECK:         %[[FROM_Y:.*]] = ingot.mul %{{.*}}, %[[Y]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[FROM_X:.*]] = ingot.mul %{{.*}}, %[[X]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[Y_SUM:.*]] = ingot.reduce sum %[[FROM_Y]] dims = [0]
// CHECK-NEXT:    %[[X_SUM:.*]] = ingot.reduce sum %[[FROM_X]] dims = [0]
// CHECK-NEXT:    %[[SUM:.*]] = ingot.add %[[Y_SUM]], %[[X_SUM]] : tensor<4xf32>
// CHECK-NEXT:    return %{{.*}}, %[[SUM]]
func.func @train_step(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"},
                      %y: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "y"},
                      %w: tensor<4xf32> {ingot.state = @w}) -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.broadcast %w dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %1 = ingot.mul %x, %0 : tensor<8x4xf32>
  %2 = ingot.mul %y, %0 : tensor<8x4xf32>
  %3 = ingot.add %1, %2 : tensor<8x4xf32>
  %4 = ingot.reduce sum %3 dims = [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// Parameters that the loss does not depend on have no gradient; one that it depends
// on through steps alone has zero. Integers carry nothing.
ingot.state parameter @used : tensor<2xf32> = dense<1.0> : tensor<2xf32>
ingot.state parameter @stepped : tensor<2xf32> = dense<1.0> : tensor<2xf32>
ingot.state parameter @as_index : tensor<2xf32> = dense<1.0> : tensor<2xf32>
ingot.state parameter @unread : tensor<2xf32> = dense<1.0> : tensor<2xf32>

// REMARK: remark: [Missed] Gradient | Category:differentiate | Reason="the loss does not depend on it: it is not updated", parameter=as_index
// REMARK: remark: [Missed] Gradient | Category:differentiate | {{.*}}parameter=unread

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    -> (tensor<f32> {ingot.name = "loss"}, tensor<2xf32> {ingot.gradient = @used}, tensor<2xf32> {ingot.gradient = @stepped})
// CHECK:         %[[ZERO:.*]] = ingot.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    return %{{.*}}, %{{.*}}, %[[ZERO]]
func.func @train_step(%used: tensor<2xf32> {ingot.state = @used},
                      %stepped: tensor<2xf32> {ingot.state = @stepped},
                      %as_index: tensor<2xf32> {ingot.state = @as_index})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %0 = ingot.floor %stepped : tensor<2xf32>
  %1 = ingot.add %used, %0 : tensor<2xf32>
  %2 = ingot.cast %as_index : tensor<2xf32> -> tensor<2xi64>
  %3 = ingot.gather %1[%2] dim = 0 : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %4 = ingot.reduce sum %3 dims = [0] : (tensor<2xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// An imported training graph, which updates its parameters, is left alone.
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>

// CHECK-LABEL: func.func @train_step(
// CHECK-NOT:     ingot.gradient
func.func @train_step(%w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.state = @w}) {
  %0 = ingot.exp %w : tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}

// -----

// The gradient of a loop is a loop in the opposite direction, which reads what
// the first one saved.
ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<3x4xf32>{{.*}}, %[[W:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[L:.*]]:3 = ingot.loop 3 carries(%{{.*}}) slices(%[[X]]) captures(%[[W]]) :
// CHECK: ^bb0(%[[H:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
// CHECK: %[[T:.*]] = ingot.tanh
// CHECK: ingot.yield %[[T]], %[[T]], %[[H]]
// CHECK: ingot.reduce sum %[[L]]#0
// CHECK: %[[ZERO:.*]] = ingot.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[G:.*]]:2 = ingot.loop 3 reverse carries(%{{.*}}, %[[ZERO]]) slices(%[[L]]#1, %[[L]]#2) captures(%[[W]]) :
// CHECK: ^bb0(%[[C:.*]]: tensor<4xf32>, %[[SUM:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[OLD:.*]]: tensor<4xf32>, %[[V:.*]]: tensor<4xf32>):
// CHECK: %[[D:.*]] = ingot.mul %[[C]]
// CHECK: %[[BACK:.*]] = ingot.mul %[[D]], %[[V]]
// CHECK: %[[TERM:.*]] = ingot.mul %[[D]], %[[OLD]]
// CHECK: %[[NEXT:.*]] = ingot.add %[[SUM]], %[[TERM]]
// CHECK: ingot.yield %[[BACK]], %[[NEXT]]
// CHECK: return %{{.*}}, %[[G]]#1
func.func @train_step(%x: tensor<3x4xf32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<4xf32> {ingot.state = @w}) -> (tensor<f32> {ingot.name = "loss"}) {
  %zero = ingot.constant dense<0.0> : tensor<4xf32>
  %0 = ingot.loop 3 carries(%zero) slices(%x) captures(%w)
      : (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^body(%h: tensor<4xf32>, %row: tensor<4xf32>, %weight: tensor<4xf32>):
    %product = ingot.mul %h, %weight : tensor<4xf32>
    %sum = ingot.add %product, %row : tensor<4xf32>
    %next = ingot.tanh %sum : tensor<4xf32>
    ingot.yield %next : tensor<4xf32>
  }
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

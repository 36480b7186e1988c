// States go from step to step, longer inputs are taken in parts, arguments with
// a default may be left out.
// RUN: %arrays make %t.npz x=9x1:range
// RUN: ingot-eval %s --function train_step --inputs %t.npz --steps 3 \
// RUN:   --state-out %t.states.npz | FileCheck %s
// RUN: %arrays print %t.states.npz w | FileCheck %s --check-prefix=STATE

// The sums of x are 6, 22 and, from the beginning again, 6; w is 1, 0 and -2.75.
// CHECK: loss: tensor<3xf32> [6, 0, -16.5]
// CHECK: valid: tensor<3xi64> [4, 4, 4]
// STATE: [-3.75]

// RUN: %arrays make %t.lr.npz x=4x1:1 lr=:0.25
// RUN: %arrays make %t.w.npz w=1:2
// RUN: ingot-eval %s --function train_step --inputs %t.lr.npz --states %t.w.npz \
// RUN:   --outputs %t.out.npz --state-out %t.states.npz
// RUN: %arrays print %t.out.npz loss | FileCheck %s --check-prefix=LOSS
// RUN: %arrays print %t.states.npz w | FileCheck %s --check-prefix=GIVEN
// LOSS: {{^}}8.0{{$}}
// GIVEN: {{^}}[1.]{{$}}

module attributes {ingot.batch = 4 : i64,
                   ingot.hyperparameters = [{name = "lr", default = 0.5 : f64}]} {
  ingot.state parameter @w : tensor<1xf32> = dense<1.0> : tensor<1xf32>

  func.func @forward(%x: tensor<4x1xf32> {ingot.name = "x", ingot.kind = "data"})
      -> tensor<4x1xf32> {
    func.return %x : tensor<4x1xf32>
  }

  func.func @train_step(
      %x: tensor<4x1xf32> {ingot.name = "x", ingot.kind = "data"},
      %lr: tensor<f64> {ingot.name = "lr", ingot.kind = "hyper"},
      %valid: tensor<i64> {ingot.name = "valid", ingot.kind = "valid"},
      %w: tensor<1xf32> {ingot.state = @w})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<i64> {ingot.name = "valid"},
          tensor<1xf32> {ingot.state = @w}) {
    %sum = ingot.reduce sum %x dims = [0, 1] : (tensor<4x1xf32>) -> tensor<f32>
    %scalar = ingot.reshape %w : tensor<1xf32> -> tensor<f32>
    %loss = ingot.mul %sum, %scalar : tensor<f32>
    // w moves by lr * mean of x, at least by 1.
    %rate = ingot.cast %lr : tensor<f64> -> tensor<f32>
    %step = ingot.mul %rate, %sum : tensor<f32>
    %low = ingot.constant dense<1.0> : tensor<f32>
    %quarter = ingot.constant dense<0.25> : tensor<f32>
    %mean = ingot.mul %step, %quarter : tensor<f32>
    %move = ingot.max %mean, %low : tensor<f32>
    %new = ingot.sub %scalar, %move : tensor<f32>
    %state = ingot.reshape %new : tensor<f32> -> tensor<1xf32>
    func.return %loss, %valid, %state : tensor<f32>, tensor<i64>, tensor<1xf32>
  }
}

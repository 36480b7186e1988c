// RUN: ingot-opt %s --ingot-form-fusions="epilogues=false" --ingot-outline-constants --ingot-place-steps --split-input-file | FileCheck %s

// Tests that each call of a training step says what it is for, and which
// gradient is complete after it: the product in the forward pass, the one for
// the gradient, and the update.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.call @ingot_matmul({{.*}}exec.part = "forward"
//       CHECK: exec.call @ingot_matmul({{.*}}exec.gradients = [#exec.value<name = "w", kind = "gradient", type = tensor<4x4xf32>, offset = {{[0-9]+}}>]{{.*}}exec.part = "backward"
//       CHECK: exec.launch {{.*}}exec.part = "optimizer"
ingot.state parameter @w : tensor<4x4xf32> = dense<1.0> : tensor<4x4xf32>
func.func @train_step(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                      %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<4x4xf32> {ingot.state = @w}) {
  %y = ingot.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = ingot.reduce sum %y dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %g = ingot.matmul %y, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %new = ingot.sub %w, %g : tensor<4x4xf32>
  return %loss, %new : tensor<f32>, tensor<4x4xf32>
}

// -----

// Tests that the norm of the gradients and what depends on it belong to the
// optimizer, and that functions without a loss have no parts.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.part = "forward"
//       CHECK: exec.call @ingot_matmul({{.*}}exec.part = "backward"
//   CHECK-NOT: exec.part = "backward"
//       CHECK: exec.part = "optimizer"
// CHECK-LABEL: exec.step @predict
//   CHECK-NOT: exec.part
ingot.state parameter @w : tensor<4x4xf32> = dense<1.0> : tensor<4x4xf32>
func.func @train_step(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                      %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "grad_norm"}, tensor<4x4xf32> {ingot.state = @w}) {
  %y = ingot.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = ingot.reduce sum %y dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %g = ingot.matmul %y, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %square = ingot.mul %g, %g : tensor<4x4xf32>
  %norm = ingot.reduce sum %square dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %all = ingot.broadcast %norm dims = [] : tensor<f32> -> tensor<4x4xf32>
  %clipped = ingot.div %g, %all : tensor<4x4xf32>
  %new = ingot.sub %w, %clipped : tensor<4x4xf32>
  return %loss, %norm, %new : tensor<f32>, tensor<f32>, tensor<4x4xf32>
}
func.func @predict(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                   %w: tensor<4x4xf32> {ingot.state = @w}) -> (tensor<4x4xf32> {ingot.name = "y"}) {
  %y = ingot.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Tests that a value that is computed from a gradient and leads to another
// gradient, as in the backward pass of a normalization, belongs to the backward
// pass.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.call @ingot_matmul({{.*}}exec.part = "forward"
//       CHECK: exec.call @ingot_matmul({{.*}}exec.gradients = [#exec.value<name = "v"{{.*}}exec.part = "backward"
//       CHECK: exec.call @ingot_matmul({{.*}}exec.gradients = [#exec.value<name = "w"{{.*}}exec.part = "backward"
//       CHECK: exec.launch {{.*}}exec.part = "optimizer"
ingot.state parameter @v : tensor<4x4xf32> = dense<1.0> : tensor<4x4xf32>
ingot.state parameter @w : tensor<4x4xf32> = dense<1.0> : tensor<4x4xf32>
func.func @train_step(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                      %v: tensor<4x4xf32> {ingot.state = @v}, %w: tensor<4x4xf32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<4x4xf32> {ingot.state = @v}, tensor<4x4xf32> {ingot.state = @w}) {
  %y = ingot.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = ingot.reduce sum %y dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %g = ingot.matmul %y, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = ingot.matmul %g, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %newv = ingot.sub %v, %g : tensor<4x4xf32>
  %neww = ingot.sub %w, %h : tensor<4x4xf32>
  return %loss, %newv, %neww : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Tests that a fusion that computes the loss beside a value of the backward
// pass does not make what only the latter depends on a part of the forward pass.
// CHECK-LABEL: exec.step @train_step
//       CHECK: exec.call @ingot_matmul({{.*}}exec.part = "forward"
//       CHECK: exec.call @ingot_matmul({{.*}}exec.part = "backward"
//       CHECK: exec.launch {{.*}}exec.part = "forward"
//       CHECK: exec.launch {{.*}}exec.part = "optimizer"
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<4x4xf32> {ingot.name = "x", ingot.kind = "data"},
                      %w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.state = @w}) {
  %y = ingot.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = ingot.matmul %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %both:2 = ingot.fusion reduction(%y, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %loss = ingot.reduce sum %a dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
    %sum = ingot.reduce sum %b dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
    ingot.yield %loss, %sum : tensor<f32>, tensor<f32>
  }
  %new = ingot.sub %w, %both#1 : tensor<f32>
  return %both#0, %new : tensor<f32>, tensor<f32>
}

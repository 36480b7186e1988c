// RUN: ingot-opt %s --ingot-verify-training-graph --split-input-file --verify-diagnostics

// A training graph as autodiff leaves it.
ingot.state parameter @w : tensor<3xf32> = dense<1.0> : tensor<3xf32>
func.func @train_step(%x: tensor<3xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<3xf32> {ingot.state = @w})
    -> (tensor<3xf32> {ingot.name = "loss"}, tensor<3xf32> {ingot.state = @w}) {
  %0 = ingot.mul %x, %w : tensor<3xf32>
  return %0, %0 : tensor<3xf32>, tensor<3xf32>
}
func.func @eval_step(%x: tensor<3xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<3xf32> {ingot.name = "loss_sum"}) {
  return %x : tensor<3xf32>
}

// -----

// expected-error @below {{has no function @train_step}}
module {
  func.func @predict(%x: tensor<3xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<3xf32> {ingot.name = "y"}) {
    return %x : tensor<3xf32>
  }
}

// -----

// expected-error @below {{is left beside the steps made of it}}
func.func @forward(%x: tensor<3xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<3xf32> {ingot.name = "y"}) {
  return %x : tensor<3xf32>
}

// -----

ingot.state parameter @w : tensor<3xf32> = dense<1.0> : tensor<3xf32>
// expected-error @below {{result 0 is the gradient of @w, which no optimizer has taken}}
func.func @train_step(%w: tensor<3xf32> {ingot.state = @w}) -> (tensor<3xf32> {ingot.gradient = @w}) {
  return %w : tensor<3xf32>
}

// -----

// expected-error @below {{argument 0 is a cotangent: the gradient is not complete}}
func.func @train_step(%x: tensor<f32> {ingot.kind = "cotangent", ingot.name = "x"}) -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{argument 0 is neither a state nor an input with a name and a kind}}
func.func @train_step(%x: tensor<f32> {ingot.name = "x"}) -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{two arguments are called 'x'}}
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"},
                      %y: tensor<f32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}

// -----

ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
// expected-error @below {{two arguments are the state @w}}
func.func @train_step(%v: tensor<f32> {ingot.state = @w}, %w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}) {
  return %w : tensor<f32>
}

// -----

ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
// expected-error @below {{updates the state @w twice}}
func.func @train_step(%w: tensor<f32> {ingot.state = @w}) -> (tensor<f32> {ingot.state = @w}, tensor<f32> {ingot.state = @w}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{result 0 is neither a state nor an output with a name}}
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{two results are called 'loss'}}
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss"}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

ingot.state running @s : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<f32> {ingot.name = "loss"}) {
  return %x : tensor<f32>
}
// expected-error @below {{updates the state @s}}
func.func @eval_step(%s: tensor<f32> {ingot.state = @s}) -> (tensor<f32> {ingot.state = @s}) {
  return %s : tensor<f32>
}

// -----

func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<4xf32> {ingot.name = "loss"}) {
  // expected-error @below {{is waited for by 0 ops, want one}}
  %0 = ingot.all_reduce_start %x : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

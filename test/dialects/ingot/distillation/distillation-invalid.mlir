// RUN: ingot-opt --split-input-file --verify-diagnostics %s

func.func @c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{C1: dim must be at least 0 and below the rank 2, got 2}}
  %0:3 = ingot.softmax_divergence %x from %x dim = 2 temperature = 4.0 : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @c2(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{C2: dimension 1 must not be empty}}
  %0:3 = ingot.softmax_divergence %x from %x dim = 1 temperature = 4.0 : tensor<2x0xf32> -> tensor<2xf32>
  return
}

// -----

func.func @c3(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{failed to verify that all of {logits, targets} have same type}}
  %0:3 = "ingot.softmax_divergence"(%x, %y) {dim = 1 : i64, temperature = 4.0} : (tensor<2x3xf32>, tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @c4(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{C4: losses must be 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0:3 = ingot.softmax_divergence %x from %x dim = 1 temperature = 4.0 : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @c5(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{C5: temperature must be positive, got 0}}
  %0:3 = ingot.softmax_divergence %x from %x dim = 1 temperature = 0.0 : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/reduction.md.

func.func @reduce_c1(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.reduce' op C1: dims must increase strictly and lie within the rank 2, got [1, 1]}}
  %0 = ingot.reduce sum %a dims = [1, 1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_c1_range(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C1: dims must increase strictly and lie within the rank 2, got [2]}}
  %0 = ingot.reduce sum %a dims = [2] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_c2(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  %0 = ingot.reduce sum %a dims = [0] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @squared_deviations_c1(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.squared_deviations' op C1: dims must increase strictly and lie within the rank 2, got [1, 0]}}
  %0 = ingot.squared_deviations %a dims = [1, 0] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @squared_deviations_c2(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  %0 = ingot.squared_deviations %a dims = [0] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @argmax_c1(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.argmax' op C1: dim must be at least 0 and below the rank 2, got 2}}
  %0 = ingot.argmax %a dim = 2 : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @argmax_c2(%a: tensor<2x0xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: dimension 1 must not be empty}}
  %0 = ingot.argmax %a dim = 1 : (tensor<2x0xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @argmax_c3(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<2xi64>' are incompatible with return type(s) of operation 'tensor<2xi32>'}}
  %0 = ingot.argmax %a dim = 1 : (tensor<2x3xf32>) -> tensor<2xi32>
  return
}

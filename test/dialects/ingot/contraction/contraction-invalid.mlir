// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/contraction.md.

func.func @c1(%a: tensor<2x3xf32>, %b: tensor<3x4xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.matmul' op C1: rhs must have elements of 'f32', got 'f16'}}
  %0 = ingot.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf16>) -> tensor<2x4xf32>
  return
}

// -----

func.func @c2(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: both operands must have one rank of at least 2, got 1 and 1}}
  %0 = ingot.matmul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @c2_ranks(%a: tensor<5x2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: both operands must have one rank of at least 2, got 3 and 2}}
  %0 = ingot.matmul %a, %b : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @c3(%a: tensor<5x2x3xf32>, %b: tensor<1x3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: the batch of rhs must have shape [5], got [1]}}
  %0 = ingot.matmul %a, %b : (tensor<5x2x3xf32>, tensor<1x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @c4(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C4: the contracted sizes must be equal, want 3 from lhs, got 4 from rhs}}
  %0 = ingot.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @c4_transposed(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C4: the contracted sizes must be equal, want 2 from lhs, got 5 from rhs}}
  %0 = ingot.matmul %a transposed, %b transposed : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @c5(%a: tensor<4294967296x1xf32>, %b: tensor<1x4294967296xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C5: the result may have at most 2^48 elements}}
  %0 = ingot.matmul %a, %b : (tensor<4294967296x1xf32>, tensor<1x4294967296xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @scaled_c2(%a: tensor<16x32xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error @+1 {{C2: the contracted sizes must be equal, want 32 from lhs, got 16 from rhs}}
  %0 = ingot.scaled_matmul %a by tensor %s, %a by tensor %s
      : (tensor<16x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x32xf32>
  return
}

// -----

func.func @scaled_c4(%a: tensor<16x32xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error @+1 {{C4: the scales of rhs must be 'tensor<1x16xf32>', got 'tensor<f32>'}}
  %0 = ingot.scaled_matmul %a by tensor %s, %a transposed by runs %s
      : (tensor<16x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x16xf32>
  return
}

// -----

func.func @scaled_types(%a: tensor<16x32xbf16>, %s: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be}}
  %0 = ingot.scaled_matmul %a by tensor %s, %a transposed by tensor %s
      : (tensor<16x32xbf16>, tensor<16x32xbf16>, tensor<f32>, tensor<f32>) -> tensor<16x16xf32>
  return
}

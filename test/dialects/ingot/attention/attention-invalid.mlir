// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/attention.md.

func.func @c1(%x: tensor<5x8xf32>) {
  // expected-error @+1 {{C1: query, key and value must have rank 4, got 2, 2 and 2}}
  %0:2 = ingot.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<5x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> (tensor<5x8xf32>, tensor<5xf32>)
  return
}

// -----

func.func @c2(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x6xf32>, %v: tensor<2x7x2x3xf32>) {
  // expected-error @+1 {{C2: the key must have shape [2, 7, 2, 8], got [2, 7, 2, 6]}}
  %0:2 = ingot.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x6xf32>, tensor<2x7x2x3xf32>) -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c2_values(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x6x2x3xf32>) {
  // expected-error @+1 {{C2: the value must have shape [2, 7, 2, 3], got [2, 6, 2, 3]}}
  %0:2 = ingot.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x6x2x3xf32>) -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c3(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x3x8xf32>) {
  // expected-error @+1 {{C3: heads must be a multiple of key heads, got 4 and 3}}
  %0:2 = ingot.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x3x8xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c4(%q: tensor<2x5x4x8xf32>, %m: tensor<2x4x5x1xi1>) {
  // expected-error @+1 {{C4: the mask must have shape [2, 4, 5, 5], with 1 for any dimension but the last, got [2, 4, 5, 1]}}
  %0:2 = ingot.attention %q, %q, %q mask %m {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5x1xi1>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c5(%q: tensor<2x5x4x8xf32>) {
  // expected-error @+1 {{C5: bounds must be at least -1, got -1 and -2}}
  %0:2 = ingot.attention %q, %q, %q {scale = 1.0 : f64, right = -2 : i64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c6(%q: tensor<2x5x4x8xf16>) {
  // expected-error @+1 {{C6: lse must be 'tensor<2x4x5xf32>', got 'tensor<2x4x5xf16>'}}
  %0:2 = ingot.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>) -> (tensor<2x5x4x8xf16>, tensor<2x4x5xf16>)
  return
}

// -----

func.func @c6_gradient(%q: tensor<2x5x4x8xf32>, %lse: tensor<2x4x5xf32>) {
  // expected-error @+1 {{C6: key_grad must be 'tensor<2x5x4x8xf32>', got 'tensor<2x4x5xf32>'}}
  %0:3 = ingot.attention_grad %q, %q, %q, %q, %lse, %q {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<2x5x4x8xf32>)
  return
}

// -----

func.func @packed_c1(%x: tensor<5x8xf32>) {
  // expected-error @+1 {{C1: packed must have rank 4, got 2}}
  %0:2 = ingot.packed_attention %x {key_heads = 1 : i64, scale = 1.0 : f64} : (tensor<5x8xf32>) -> (tensor<5x8xf32>, tensor<5xf32>)
  return
}

// -----

func.func @packed_c3(%x: tensor<2x5x7x16xf32>) {
  // expected-error @+1 {{C3: heads must be a multiple of key heads, got 3 and 2}}
  %0:2 = ingot.packed_attention %x {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<2x5x7x16xf32>) -> (tensor<2x5x3x16xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @packed_c3_few(%x: tensor<2x5x3x16xf32>) {
  // expected-error @+1 {{C3: heads must be a multiple of key heads, got -1 and 2}}
  %0:2 = ingot.packed_attention %x {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<2x5x3x16xf32>) -> (tensor<2x5x3x16xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @packed_c6(%x: tensor<2x5x6x16xf32>, %lse: tensor<2x4x5xf32>, %g: tensor<2x5x4x16xf32>) {
  // expected-error @+1 {{C6: packed_grad must be 'tensor<2x5x6x16xf32>', got 'tensor<2x5x4x16xf32>'}}
  %0 = ingot.packed_attention_grad %x, %g, %lse, %g {key_heads = 1 : i64, scale = 1.0 : f64} : (tensor<2x5x6x16xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> tensor<2x5x4x16xf32>
  return
}

// -----

func.func @c7(%q: tensor<2x5x4x8xf32>, %n: tensor<2x1xi32>) {
  // expected-error @+1 {{C7: the lengths must have shape [2], got [2, 1]}}
  %0:2 = ingot.attention %q, %q, %q lengths %n {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x1xi32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c7_integers(%q: tensor<2x5x4x8xf32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{operand #3 must be statically shaped tensor}}
  %0:2 = ingot.attention %q, %q, %q lengths %n {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2xi64>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c8_scalar(%q: tensor<2x5x4x8xf32>, %s: tensor<i64>, %t: tensor<2xi64>) {
  // expected-error @+1 {{C8: step must have shape [], got [2]}}
  %0:2 = ingot.attention %q, %q, %q dropout %s, %t {scale = 1.0 : f64, ratio = 0.5 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<i64>, tensor<2xi64>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c8_ratio(%q: tensor<2x5x4x8xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{C8: ratio must be at least 0 and below 1, got 1.0}}
  %0:2 = ingot.attention %q, %q, %q dropout %s, %s {scale = 1.0 : f64, ratio = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c8_no_seed(%q: tensor<2x5x4x8xf32>) {
  // expected-error @+1 {{C8: a ratio requires a seed}}
  %0:2 = ingot.attention %q, %q, %q {scale = 1.0 : f64, ratio = 0.5 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @c8_no_step(%q: tensor<2x5x4x8xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{C8: dropout has a seed and a step}}
  %0:2 = "ingot.attention"(%q, %q, %q, %s) {scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<i64>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @packed_c7(%x: tensor<2x5x6x16xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{C7: the lengths must have shape [2], got [5]}}
  %0:2 = ingot.packed_attention %x lengths %n {key_heads = 1 : i64, scale = 1.0 : f64} : (tensor<2x5x6x16xf32>, tensor<5xi32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/random.md.

func.func @uniform_c1(%seed: tensor<2xi64>, %step: tensor<i64>) {
  // expected-error @+1 {{'ingot.random_uniform' op C1: seed must have shape [], got [2]}}
  %0 = ingot.random_uniform %seed, %step stream = 7 : (tensor<2xi64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @uniform_c1_step(%seed: tensor<i64>, %step: tensor<1xi64>) {
  // expected-error @+1 {{C1: step must have shape [], got [1]}}
  %0 = ingot.random_uniform %seed, %step stream = 7 : (tensor<i64>, tensor<1xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dropout_c1(%x: tensor<2xf32>, %seed: tensor<1xi64>, %step: tensor<i64>) {
  // expected-error @+1 {{'ingot.dropout' op C1: seed must have shape [], got [1]}}
  %0:2 = ingot.dropout %x, %seed, %step ratio = 0.5 stream = 8 : (tensor<2xf32>, tensor<1xi64>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi1>)
  return
}

// -----

func.func @dropout_c2(%x: tensor<2xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{C2: ratio must be at least 0 and below 1, got 1}}
  %0:2 = ingot.dropout %x, %seed, %seed ratio = 1.0 stream = 8 : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi1>)
  return
}

// -----

func.func @dropout_c3(%x: tensor<2xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{C3: the result must be 'tensor<2xf32>', got 'tensor<2xf64>'}}
  %0:2 = ingot.dropout %x, %seed, %seed ratio = 0.5 stream = 8 : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> (tensor<2xf64>, tensor<2xi1>)
  return
}

// -----

func.func @dropout_c3_mask(%x: tensor<2xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{C3: the mask must be 'tensor<2xi1>', got 'tensor<3xi1>'}}
  %0:2 = ingot.dropout %x, %seed, %seed ratio = 0.5 stream = 8 : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> (tensor<2xf32>, tensor<3xi1>)
  return
}

// -----

func.func @uniform_c2(%seed: tensor<i64>, %first: tensor<1xi64>) {
  // expected-error @+1 {{C2: the first position must have shape [], got [1]}}
  %0 = ingot.random_uniform %seed, %seed from %first of [4, 3] stream = 7 : (tensor<i64>, tensor<i64>, tensor<1xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @uniform_c2_dimensions(%seed: tensor<i64>) {
  // expected-error @+1 {{C2: a part is within a tensor of as many dimensions, got a whole of [12] for [2, 3]}}
  %0 = ingot.random_uniform %seed, %seed from %seed of [12] stream = 7 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @uniform_c2_whole(%seed: tensor<i64>) {
  // expected-error @+1 {{C2: a part has both its first position and the shape of the whole}}
  %0 = "ingot.random_uniform"(%seed, %seed) {stream = 7 : i32, whole = array<i64: 4, 3>} : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dropout_c4(%x: tensor<2xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{C4: a part is within a tensor of as many dimensions, got a whole of [1] for [2]}}
  %0:2 = ingot.dropout %x, %seed, %seed from %seed of [1] ratio = 0.5 stream = 8 : (tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi1>)
  return
}

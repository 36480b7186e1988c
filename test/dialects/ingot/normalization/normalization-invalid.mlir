// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/normalization.md.

func.func @softmax_c1(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'ingot.softmax' op C1: dim must be at least 0 and below the rank 3, got 3}}
  %0 = ingot.softmax %x dim = 3 : tensor<2x3x4xf32>
  return
}

// -----

func.func @log_softmax_c1(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'ingot.log_softmax' op C1: dim must be at least 0 and below the rank 3, got -1}}
  %0 = ingot.log_softmax %x dim = -1 : tensor<2x3x4xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{'ingot.layer_norm' op C1: dim must be at least 0 and below the rank 3, got 3}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 3 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{C2: the result must be 'tensor<2x3x4xf32>', got 'tensor<2x3x4xf64>'}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf64>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_c3(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{C3: scale must be 'tensor<3x4xf32>', got 'tensor<4xf32>'}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_c3_bias(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<12xf32>) {
  // expected-error @+1 {{C3: bias must be 'tensor<3x4xf32>', got 'tensor<12xf32>'}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<12xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_c4(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{C4: mean must be 'tensor<2xf32>', got 'tensor<2x1x1xf32>'}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x1x1xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_c4_rstd(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{C4: rstd must be 'tensor<2xf32>', got 'tensor<2xf64>'}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf64>)
  return
}

// -----

func.func @layer_norm_c5(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{C5: epsilon must not be negative, got -1.0}}
  %0:3 = ingot.layer_norm %x, %s, %b dim = 1 {epsilon = -1.0} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>) {
  // expected-error @+1 {{'ingot.rms_norm' op C1: dim must be at least 0 and below the rank 3, got -1}}
  %0:2 = ingot.rms_norm %x, %s dim = -1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf16>) {
  // expected-error @+1 {{C3: scale must be 'tensor<3x4xf32>', got 'tensor<3x4xf16>'}}
  %0:2 = ingot.rms_norm %x, %s dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf16>) -> (tensor<2x3x4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @rms_norm_c4(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>) {
  // expected-error @+1 {{C4: rstd must be 'tensor<2xf32>', got 'tensor<2x3xf32>'}}
  %0:2 = ingot.rms_norm %x, %s dim = 1 {epsilon = 1.0e-5} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @batch_norm_c1(%x: tensor<3xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{'ingot.batch_norm' op C1: the operand must have rank 2 or more, got 1}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c2(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C2: the result must be 'tensor<2x3x4xf32>', got 'tensor<2x4x3xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_scale(%x: tensor<2x3x4xf32>, %scale: tensor<4xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: scale must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_bias(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<4xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: bias must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_running_mean(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<4xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: running_mean must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_running_variance(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<4xf32>) {
  // expected-error @+1 {{C3: running_variance must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_new_mean(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: new_mean must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_new_variance(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: new_variance must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_mean(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: mean must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c3_rstd(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C3: rstd must be 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @batch_norm_c4(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C4: epsilon must not be negative, got -1.0}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = -1.0, momentum = 0.9} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c5(%x: tensor<1x3xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %rm: tensor<3xf32>, %rv: tensor<3xf32>) {
  // expected-error @+1 {{C5: the unbiased variance needs more than one value per channel, got 'tensor<1x3xf32>'}}
  %0:5 = ingot.batch_norm %x, %scale, %bias, %rm, %rv {epsilon = 1.0e-5, momentum = 0.9, unbiased} : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @cross_entropy_c1(%x: tensor<2x3x4xf32>, %l: tensor<2x4xi64>) {
  // expected-error @+1 {{'ingot.cross_entropy' op C1: dim must be at least 0 and below the rank 3, got 3}}
  %0:2 = ingot.cross_entropy %x, %l dim = 3 : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_c2(%x: tensor<2x0x4xf32>, %l: tensor<2x4xi64>) {
  // expected-error @+1 {{C2: dimension 1 must not be empty}}
  %0:2 = ingot.cross_entropy %x, %l dim = 1 : (tensor<2x0x4xf32>, tensor<2x4xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_c3(%x: tensor<2x3x4xf32>, %l: tensor<2x3xi64>) {
  // expected-error @+1 {{C3: labels must be 'tensor<2x4xi64>', got 'tensor<2x3xi64>'}}
  %0:2 = ingot.cross_entropy %x, %l dim = 1 : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_c3_element(%x: tensor<2x3x4xf32>, %l: tensor<2x4xi32>) {
  // expected-error @+1 {{C3: labels must be 'tensor<2x4xi64>', got 'tensor<2x4xi32>'}}
  %0:2 = ingot.cross_entropy %x, %l dim = 1 : (tensor<2x3x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_c4(%x: tensor<2x3x4xf32>, %l: tensor<2x4xi64>) {
  // expected-error @+1 {{C4: losses must be 'tensor<2x4xf32>', got 'tensor<f32>'}}
  %0:2 = ingot.cross_entropy %x, %l dim = 1 : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<2x4xf32>)
  return
}

// -----

func.func @cross_entropy_c4_lse(%x: tensor<2x3x4xf32>, %l: tensor<2x4xi64>) {
  // expected-error @+1 {{C4: lse must be 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0:2 = ingot.cross_entropy %x, %l dim = 1 : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return
}

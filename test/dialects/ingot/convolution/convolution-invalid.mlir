// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/convolution.md.

func.func @conv_c1(%x: tensor<2x4xf32>, %w: tensor<6x2xf32>) {
  // expected-error @+1 {{'ingot.conv' op C1: the input must have rank 3 to 5, got 2}}
  %0 = ingot.conv %x, %w {dilations = array<i64>, groups = 2 : i64, pad_high = array<i64>, pad_low = array<i64>, strides = array<i64>} : (tensor<2x4xf32>, tensor<6x2xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @conv_c1_rank(%x: tensor<2x4x1x1x1x1xf32>, %w: tensor<6x2x1x1x1x1xf32>) {
  // expected-error @+1 {{C1: the input must have rank 3 to 5, got 6}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1, 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0, 0, 0>, pad_low = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x4x1x1x1x1xf32>, tensor<6x2x1x1x1x1xf32>) -> tensor<2x6x1x1x1x1xf32>
  return
}

// -----

func.func @conv_c2_count(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C2: strides must have 2 entries of at least 1, got [1]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c2_stride(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C2: strides must have 2 entries of at least 1, got [0, 1]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 0, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c2_dilation(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C2: dilations must have 2 entries of at least 1, got [1, 0]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 0>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c2_pad(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C2: pad_low must have 2 entries of at least 0, got [0, -1]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, -1>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c2_large(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C2: pad_high must stay below 2^31, got [0, 2147483648]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 2147483648>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c2_kernel(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x0x2xf32>) {
  // expected-error @+1 {{C2: kernel must have 2 entries of at least 1, got [0, 2]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x0x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C3: the window must fit into the padded input along spatial dimension 0, window 11, padded input 9}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 5, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf16>) {
  // expected-error @+1 {{C4: the filter must have elements of 'f32', got 'f16'}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf16>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c4_result(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C4: the result must have elements of 'f32', got 'f16'}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf16>
  return
}

// -----

func.func @conv_c5(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{C5: the filter must have the rank of the input, want 4, got 3}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c6(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C6: groups must divide the 4 channels and the 6 filters, got 4}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 4 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c6_zero(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C6: groups must divide the 4 channels and the 6 filters, got 0}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 0 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c7(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C7: the filter must have channels / groups = 4 channels, got 2}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x7xf32>
  return
}

// -----

func.func @conv_c8(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{C8: the result must have shape [2, 6, 7, 7], got [2, 6, 7, 6]}}
  %0 = ingot.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x7x6xf32>
  return
}

// -----

func.func @input_grad_c8(%x: tensor<2x6x7x6xf32>, %w: tensor<6x2x3x2xf32>) {
  // expected-error @+1 {{'ingot.conv_input_grad' op C8: output_grad must have shape [2, 6, 7, 7], got [2, 6, 7, 6]}}
  %0 = ingot.conv_input_grad %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x7x6xf32>, tensor<6x2x3x2xf32>) -> tensor<2x4x9x8xf32>
  return
}

// -----

func.func @input_grad_c5(%x: tensor<2x6x7x7xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{C5: the filter must have the rank of the result, want 4, got 3}}
  %0 = ingot.conv_input_grad %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x7x7xf32>, tensor<6x2x3xf32>) -> tensor<2x4x9x8xf32>
  return
}

// -----

func.func @filter_grad_c8(%x: tensor<1x6x7x7xf32>, %w: tensor<2x4x9x8xf32>) {
  // expected-error @+1 {{'ingot.conv_filter_grad' op C8: output_grad must have shape [2, 6, 7, 7], got [1, 6, 7, 7]}}
  %0 = ingot.conv_filter_grad %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x6x7x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x2x3x2xf32>
  return
}

// -----

func.func @filter_grad_c7(%x: tensor<2x6x7x7xf32>, %w: tensor<2x4x9x8xf32>) {
  // expected-error @+1 {{C7: the result must have channels / groups = 2 channels, got 4}}
  %0 = ingot.conv_filter_grad %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x7x7xf32>, tensor<2x4x9x8xf32>) -> tensor<6x4x3x2xf32>
  return
}

// -----

func.func @max_pool_c1(%a0: tensor<1x3xf32>) {
  // expected-error @+1 {{'ingot.max_pool' op C1: the input must have rank 3 to 5, got 2}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64>, kernel = array<i64>, pad_high = array<i64>, pad_low = array<i64>, strides = array<i64>} : (tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xi64>)
  return
}

// -----

func.func @max_pool_c2(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{C2: kernel must have 2 entries of at least 1, got [2]}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xi64>)
  return
}

// -----

func.func @max_pool_c3(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{C3: the window must fit into the padded input along spatial dimension 1, window 5, padded input 4}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 5>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x4x4xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xi64>)
  return
}

// -----

func.func @sum_pool_c4(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{'ingot.sum_pool' op C4: the result must have elements of 'f32', got 'f64'}}
  %0 = ingot.sum_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf64>
  return
}

// -----

func.func @sum_pool_c5(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{C5: the result must have shape [1, 3, 2, 2], got [1, 3, 2, 3]}}
  %0 = ingot.sum_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x3xf32>
  return
}

// -----

func.func @sum_pool_grad_c5(%a0: tensor<1x3x2x3xf32>) {
  // expected-error @+1 {{'ingot.sum_pool_grad' op C5: output_grad must have shape [1, 3, 2, 2], got [1, 3, 2, 3]}}
  %0 = ingot.sum_pool_grad %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x2x3xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @max_pool_c6_low(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{C6: every window must touch the input, one along spatial dimension 0 does not}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 1>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 2, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x4x4xf32>) -> (tensor<1x3x6x4xf32>, tensor<1x3x6x4xi64>)
  return
}

// -----

func.func @max_pool_c6_high(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{C6: every window must touch the input, one along spatial dimension 1 does not}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 1, 1>, pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x4x4xf32>) -> (tensor<1x3x4x5xf32>, tensor<1x3x4x5xi64>)
  return
}

// -----

func.func @max_pool_c6_dilated(%a0: tensor<1x3x1x1xf32>) {
  // expected-error @+1 {{C6: every window must touch the input, one along spatial dimension 0 does not}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64: 2, 1>, kernel = array<i64: 2, 1>, pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x1x1xf32>) -> (tensor<1x3x1x1xf32>, tensor<1x3x1x1xi64>)
  return
}

// -----

func.func @max_pool_c7(%a0: tensor<1x3x4x4xf32>) {
  // expected-error @+1 {{C7: indices must be 'tensor<1x3x2x2xi64>', got 'tensor<1x3x2x2xi32>'}}
  %0:2 = ingot.max_pool %a0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xi32>)
  return
}

// -----

func.func @max_pool_grad_c7(%a0: tensor<1x3x2x2xf32>, %a1: tensor<1x3x2x1xi64>) {
  // expected-error @+1 {{'ingot.max_pool_grad' op C7: indices must be 'tensor<1x3x2x2xi64>', got 'tensor<1x3x2x1xi64>'}}
  %0 = ingot.max_pool_grad %a0, %a1 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x2x2xf32>, tensor<1x3x2x1xi64>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @conv_filter_channels_last_c7(%x: tensor<2x4x9x8xf32>, %w: tensor<6x4x3x2xf32>) {
  // expected-error @+1 {{C7: the filter must have channels / groups = 4 channels, got 2}}
  %0 = ingot.conv %x, %w {filter_channels_last, dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x9x8xf32>, tensor<6x4x3x2xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_statistics_c9(%x: tensor<2x4x3x3xf32>, %w: tensor<6x4x1x1xf32>) {
  // expected-error @+1 {{'ingot.conv_statistics' op C9: squares must be 'tensor<6xf32>', got 'tensor<4xf32>'}}
  %0, %1, %2 = ingot.conv_statistics %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x3x3xf32>, tensor<6x4x1x1xf32>) -> (tensor<2x6x3x3xf32>, tensor<6xf32>, tensor<4xf32>)
  return
}

// -----

func.func @conv_statistics_c8(%x: tensor<2x4x3x3xf32>, %w: tensor<6x4x1x1xf32>) {
  // expected-error @+1 {{C8: the result must have shape [2, 6, 3, 3], got [2, 6, 3, 2]}}
  %0, %1, %2 = ingot.conv_statistics %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x3x3xf32>, tensor<6x4x1x1xf32>) -> (tensor<2x6x3x2xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @conv_scaled_filter_grad_c10(%g: tensor<2x6x3x3xf32>, %x: tensor<2x4x3x3xf32>, %s: tensor<4xf32>, %t: tensor<6xf32>) {
  // expected-error @+1 {{'ingot.conv_scaled_filter_grad' op C10: shift must be 'tensor<4xf32>', got 'tensor<6xf32>'}}
  %0 = ingot.conv_scaled_filter_grad %g, %x scale %s shift %t {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x6x3x3xf32>, tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<6xf32>) -> tensor<6x4x1x1xf32>
  return
}

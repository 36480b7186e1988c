// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/shape.md.

func.func @iota_c1() {
  // expected-error @+1 {{'ingot.iota' op C1: dim must be at least 0 and below the rank 1, got 1}}
  %0 = ingot.iota {dim = 1} : tensor<3xi64>
  return
}

// -----

func.func @broadcast_c1(%a: tensor<2xf32>) {
  // expected-error @+1 {{'ingot.broadcast' op C1: the result must have elements of 'f32', got 'f64'}}
  %0 = ingot.broadcast %a dims = [0] : tensor<2xf32> -> tensor<2xf64>
  return
}

// -----

func.func @broadcast_c2(%a: tensor<2xf32>) {
  // expected-error @+1 {{C2: dims must have an entry for each of the operand's 1 dimensions, got [0, 1]}}
  %0 = ingot.broadcast %a dims = [0, 1] : tensor<2xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_c3(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{C3: dims must increase strictly and lie within the rank 2, got [1, 0]}}
  %0 = ingot.broadcast %a dims = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @broadcast_c3_range(%a: tensor<2xf32>) {
  // expected-error @+1 {{C3: dims must increase strictly and lie within the rank 2, got [2]}}
  %0 = ingot.broadcast %a dims = [2] : tensor<2xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @broadcast_c4(%a: tensor<2xf32>) {
  // expected-error @+1 {{C4: operand dimension 0 must have size 1 or that of result dimension 1, want 4, got 2}}
  %0 = ingot.broadcast %a dims = [1] : tensor<2xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @reshape_c1(%a: tensor<2xf32>) {
  // expected-error @+1 {{'ingot.reshape' op C1: the result must have elements of 'f32', got 'i32'}}
  %0 = ingot.reshape %a : tensor<2xf32> -> tensor<2x1xi32>
  return
}

// -----

func.func @reshape_c2(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{C2: the result must have as many elements as the operand, want 6, got 5}}
  %0 = ingot.reshape %a : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @transpose_c1(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.transpose' op C1: permutation must hold each dimension below 2 once, got [0, 0]}}
  %0 = ingot.transpose %a [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_result(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  %0 = ingot.transpose %a [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c1(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.slice' op C1: starts must have 1 entries of at least 0, got [-1]}}
  %0 = ingot.slice %a starts = [-1] limits = [2] strides = [1] : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_c1_rank(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C1: limits must have 1 entries of at least 0, got [2, 2]}}
  %0 = ingot.slice %a starts = [0] limits = [2, 2] strides = [1] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_c2(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: strides must have 1 entries of at least 1, got [0]}}
  %0 = ingot.slice %a starts = [0] limits = [2] strides = [0] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_c3(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: dimension 0 needs start <= limit <= 4, got start 1 and limit 5}}
  %0 = ingot.slice %a starts = [1] limits = [5] strides = [1] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_c3_order(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: dimension 0 needs start <= limit <= 4, got start 3 and limit 2}}
  %0 = ingot.slice %a starts = [3] limits = [2] strides = [1] : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @pad_c1(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.pad' op C1: low must have 1 entries of at least 0, got [-1]}}
  %0 = ingot.pad %a low = [-1] high = [0] interior = [0] value = 0.0 : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_c2(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: the size of dimension 0 overflows}}
  %0 = ingot.pad %a low = [9223372036854775807] high = [0] interior = [0] value = 0.0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @concat_c1() {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.concat' op C1: must have an input}}
  %0 = "ingot.concat"() {dim = 0} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c2(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: dim must be at least 0 and below the rank 1, got -1}}
  %0 = ingot.concat %a, %a dim = -1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_c3(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: every input must have shape [4, 2], got [4, 3]}}
  %0 = ingot.concat %a, %b dim = 0 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @concat_c3_rank(%a: tensor<4x2xf32>, %b: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: every input must have rank 2, got 1}}
  %0 = ingot.concat %a, %b dim = 0 : (tensor<4x2xf32>, tensor<4xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @concat_c3_element(%a: tensor<4xf32>, %b: tensor<4xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: every input must have elements of 'f32', got 'f16'}}
  %0 = ingot.concat %a, %b dim = 0 : (tensor<4xf32>, tensor<4xf16>) -> tensor<8xf32>
  return
}

// -----

func.func @reverse_c1(%a: tensor<4x2xf32>) {
  // expected-error @+1 {{'ingot.reverse' op C1: dims must increase strictly and lie within the rank 2, got [0, 0]}}
  %0 = ingot.reverse %a dims = [0, 0] : tensor<4x2xf32>
  return
}

// -----

func.func @gather_c1(%a: tensor<4x2xf32>, %i: tensor<3xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.gather' op C1: dim must be at least 0 and below the rank 2, got 2}}
  %0 = ingot.gather %a[%i] dim = 2 : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_c2(%a: tensor<0x2xf32>, %i: tensor<3xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: dimension 0 must not be empty}}
  %0 = ingot.gather %a[%i] dim = 0 : (tensor<0x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c3(%a: tensor<1x4294967296xf32>, %i: tensor<4294967296xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: the result may have at most 2^48 elements, got shape [4294967296, 4294967296]}}
  %0 = ingot.gather %a[%i] dim = 0 : (tensor<1x4294967296xf32>, tensor<4294967296xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @take_along_c1(%a: tensor<4x2xf32>, %i: tensor<4x2xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'ingot.take_along' op C1: dim must be at least 0 and below the rank 2, got 2}}
  %0 = ingot.take_along %a[%i] dim = 2 : (tensor<4x2xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @take_along_c2(%a: tensor<4x2xf32>, %i: tensor<3x1xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: indices must have shape [4, 1], got [3, 1]}}
  %0 = ingot.take_along %a[%i] dim = 1 : (tensor<4x2xf32>, tensor<3x1xi64>) -> tensor<3x1xf32>
  return
}

// -----

func.func @take_along_c2_rank(%a: tensor<4x2xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C2: the indices must have the operand's rank 2, got 1}}
  %0 = ingot.take_along %a[%i] dim = 1 : (tensor<4x2xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @take_along_c3(%a: tensor<4x0xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{C3: dimension 1 must not be empty}}
  %0 = ingot.take_along %a[%i] dim = 1 : (tensor<4x0xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  return
}

// -----

func.func @scatter_c1(%i: tensor<3xi64>, %u: tensor<3x2xf32>) {
  // expected-error @+1 {{'ingot.scatter_add' op C1: dim must be at least 0 and below the rank 2, got 2}}
  %0 = ingot.scatter_add %u[%i] dim = 2 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @scatter_c2(%i: tensor<3xi64>, %u: tensor<3x2xf32>) {
  // expected-error @+1 {{C2: the result must have elements of 'f32', got 'f64'}}
  %0 = ingot.scatter_add %u[%i] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf64>
  return
}

// -----

func.func @scatter_c3(%i: tensor<3xi64>, %u: tensor<3x2xf32>) {
  // expected-error @+1 {{C3: dimension 0 must not be empty}}
  %0 = ingot.scatter_add %u[%i] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<0x2xf32>
  return
}

// -----

func.func @scatter_c4(%i: tensor<3xi64>, %u: tensor<4x2xf32>) {
  // expected-error @+1 {{C4: updates must have shape [3, 2], got [4, 2]}}
  %0 = ingot.scatter_add %u[%i] dim = 0 : (tensor<3xi64>, tensor<4x2xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @scatter_c5(%i: tensor<3xi64>, %u: tensor<3x2xf32>, %g: tensor<4x2xf32>) {
  // expected-error @+1 {{C5: init must have the result's type 'tensor<5x2xf32>', got 'tensor<4x2xf32>'}}
  %0 = ingot.scatter_add %u[%i] into %g dim = 0 : (tensor<3xi64>, tensor<3x2xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @pack_bits_c1(%a: tensor<4x8xi1>) {
  // expected-error @+1 {{C1: shapes must be equal except for the last dimension, got 'tensor<4x8xi1>' and 'tensor<2x2xui8>'}}
  %0 = ingot.pack_bits %a : tensor<4x8xi1> -> tensor<2x2xui8>
  return
}

// -----

func.func @pack_bits_c2(%a: tensor<4x9xi1>) {
  // expected-error @+1 {{C2: 1 bytes cannot hold 9 booleans}}
  %0 = ingot.pack_bits %a : tensor<4x9xi1> -> tensor<4x1xui8>
  return
}

// -----

func.func @unpack_bits_c1(%a: tensor<8xui8>) {
  // expected-error @+1 {{C1: shapes must be equal except for the last dimension, got 'tensor<1x8xi1>' and 'tensor<8xui8>'}}
  %0 = ingot.unpack_bits %a : tensor<8xui8> -> tensor<1x8xi1>
  return
}

// -----

func.func @unpack_bits_c2(%a: tensor<4x1xui8>) {
  // expected-error @+1 {{C2: 1 bytes cannot hold 0 booleans}}
  %0 = ingot.unpack_bits %a : tensor<4x1xui8> -> tensor<4x0xi1>
  return
}

// -----

func.func @scatter_update_c1(%x: tensor<5x2xf32>, %i: tensor<3xi64>, %u: tensor<3x2xf32>) {
  // expected-error @+1 {{C1: }}
  %0 = ingot.scatter set %u[%i] into %x dim = 2 : tensor<3x2xf32>, tensor<3xi64>, tensor<5x2xf32>
  return
}

// -----

func.func @scatter_update_c2(%x: tensor<5x2xf32>, %i: tensor<3xi64>, %u: tensor<3x2xf64>) {
  // expected-error @+1 {{C2: }}
  %0 = ingot.scatter set %u[%i] into %x dim = 0 : tensor<3x2xf64>, tensor<3xi64>, tensor<5x2xf32>
  return
}

// -----

func.func @scatter_update_c3_rank(%x: tensor<5x2xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) {
  // expected-error @+1 {{C3: updates must have the result's rank 2, got 1}}
  %0 = ingot.scatter set %u[%i] into %x dim = 0 : tensor<3xf32>, tensor<3xi64>, tensor<5x2xf32>
  return
}

// -----

func.func @scatter_update_c3(%x: tensor<5x2xf32>, %i: tensor<3xi64>, %u: tensor<3x4xf32>) {
  // expected-error @+1 {{C3: updates must have shape [3, 2], got [3, 4]}}
  %0 = ingot.scatter set %u[%i] into %x dim = 0 : tensor<3x4xf32>, tensor<3xi64>, tensor<5x2xf32>
  return
}

// -----

func.func @scatter_update_c4(%x: tensor<5x2xf32>, %i: tensor<4xi64>, %u: tensor<3x2xf32>) {
  // expected-error @+1 {{C4: indices must have shape [3], got [4]}}
  %0 = ingot.scatter set %u[%i] into %x dim = 0 : tensor<3x2xf32>, tensor<4xi64>, tensor<5x2xf32>
  return
}

// -----

func.func @scatter_update_c5(%x: tensor<0x2xf32>, %i: tensor<3xi64>, %u: tensor<3x2xf32>) {
  // expected-error @+1 {{C5: dimension 0 must not be empty}}
  %0 = ingot.scatter set %u[%i] into %x dim = 0 : tensor<3x2xf32>, tensor<3xi64>, tensor<0x2xf32>
  return
}

// -----

func.func @scatter_update_c6(%x: tensor<5xi1>, %i: tensor<3xi64>, %u: tensor<3xi1>) {
  // expected-error @+1 {{C6: booleans can only be set}}
  %0 = ingot.scatter max %u[%i] into %x dim = 0 : tensor<3xi1>, tensor<3xi64>, tensor<5xi1>
  return
}

// RUN: ingot-opt %s --split-input-file --verify-diagnostics

func.func @rows(%x: tensor<2x64xf32>, %codes: tensor<256xui8>, %scales: tensor<8xf32>) {
  // expected-error@+1 {{C1: lhs and the result must be matrices of as many rows}}
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 64
      : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @result(%x: tensor<2x64xf32>, %codes: tensor<256xui8>, %scales: tensor<8xf32>) {
  // expected-error@+1 {{C2: the result must have the element type of lhs, or f32}}
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 64
      : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @kind(%x: tensor<2x64xf32>, %codes: tensor<256xui8>, %scales: tensor<8xf32>) {
  // expected-error@+1 {{C3: there is no encoding "nf5" of blocks of 64}}
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales as "nf5" block 64
      : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @double(%x: tensor<2x64xf32>, %codes: tensor<256xui8>, %scales: tensor<8xui8>, %nested: tensor<2xf32>) {
  // expected-error@+1 {{C4: parts of 8 x 64 numbers must be 'tensor<8xf32>', got 'tensor<8xui8>'}}
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales, %nested as "int4" block 64
      : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xui8>, tensor<2xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @parts(%x: tensor<2x64xf32>, %codes: tensor<255xui8>, %scales: tensor<8xf32>) {
  // expected-error@+1 {{C4: parts of 8 x 64 numbers must be 'tensor<256xui8>', got 'tensor<255xui8>'}}
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 64
      : (tensor<2x64xf32>, tensor<255xui8>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

// expected-error@+1 {{F11: ingot.encoding must have a kind, a block and the symbols of parts}}
ingot.state frozen @w : tensor<8x64xf32> = dense<0.0> : tensor<8x64xf32> {ingot.encoding = {kind = "nf4"}}

// -----

// expected-error@+1 {{F11: ingot.encoding must be one that docs/spec/encoding.md has}}
ingot.state frozen @w : tensor<8x64xf32> = dense<0.0> : tensor<8x64xf32> {ingot.encoding = {block = 64 : i64, kind = "nf4", parts = [@a]}}

// -----

// expected-error@+1 {{F11: ingot.encoding must be a dictionary on a state in f32, f16 or bf16}}
ingot.state frozen @w : tensor<8x64xi64> = dense<0> : tensor<8x64xi64> {ingot.encoding = {block = 64 : i64, kind = "nf4", parts = [@a, @b]}}

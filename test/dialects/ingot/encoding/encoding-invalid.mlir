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

// -----

func.func @dynamic(%x: tensor<2x64xf32>, %codes: tensor<512xui8>, %scales: tensor<8xf32>) {
  // expected-error@+1 {{C3: there is no encoding "dyn8" of blocks of 64}}
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales as "dyn8" block 64
      : (tensor<2x64xf32>, tensor<512xui8>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @block(%x: tensor<600xf32>) {
  // expected-error@+1 {{C5: a block must have 1 to 4096 elements, got 0}}
  %0 = ingot.block_max %x block 0 : (tensor<600xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scales(%codes: tensor<600xui8>, %numbers: tensor<256xf32>, %scales: tensor<2xf32>) {
  // expected-error@+1 {{C6: what blocks of 600 elements have in common must be 'tensor<3xf32>', got 'tensor<2xf32>'}}
  %0 = ingot.decode_blocks %codes[%numbers] by %scales as "dyn8" block 256
      : (tensor<600xui8>, tensor<256xf32>, tensor<2xf32>) -> tensor<600xf32>
  return
}

// -----

func.func @code(%codes: tensor<600xui8>, %numbers: tensor<256xf32>, %scales: tensor<3xf32>) {
  // expected-error@+1 {{C7: "int8" is no dynamic code}}
  %0 = ingot.decode_blocks %codes[%numbers] by %scales as "int8" block 256
      : (tensor<600xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<600xf32>
  return
}

// -----

func.func @shape(%codes: tensor<600xui8>, %numbers: tensor<256xf32>, %scales: tensor<3xf32>) {
  // expected-error@+1 {{C8: codes and numbers must have one shape}}
  %0 = ingot.decode_blocks %codes[%numbers] by %scales as "dyn8" block 256
      : (tensor<600xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<20x30xf32>
  return
}

// -----

func.func @table(%x: tensor<600xf32>, %cells: tensor<3072xui8>, %middles: tensor<256xf32>, %scales: tensor<3xf32>) {
  // expected-error@+1 {{C9: the table must have 3073 elements, got 'tensor<3072xui8>'}}
  %0 = ingot.encode_blocks %x[%cells, %middles] by %scales as "dyn8" block 256
      : (tensor<600xf32>, tensor<3072xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<600xui8>
  return
}

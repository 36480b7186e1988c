// RUN: ingot-eval --expect %s

// What codes of each kind stand for (docs/spec/encoding.md).

func.func @test_nf4() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[7, 248, 18, 52]> : tensor<4xui8>
  %scales = ingot.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 4
      : (tensor<2x4xf32>, tensor<4xui8>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[-3.36335754, -1.2445935], [-0.840839386, -0.316268891]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_fp4() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[49, 185, 82, 110]> : tensor<4xui8>
  %scales = ingot.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales as "fp4" block 4
      : (tensor<2x4xf32>, tensor<4xui8>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[3.97916675, 0.5], [0.989583313, 0.0416666642]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_int4() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[15, 128, 115, 200]> : tensor<4xui8>
  %scales = ingot.constant dense<[2.0, -0.5]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales as "int4" block 4
      : (tensor<2x4xf32>, tensor<4xui8>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[-2.0, -4.5], [7.0, -0.75]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_int8() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[127, 129, 0, 1, 255, 2, 3, 250]> : tensor<8xui8>
  %scales = ingot.constant dense<[0.25, 0.5]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales as "int8" block 4
      : (tensor<2x4xf32>, tensor<8xui8>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[-30.75, -12.0], [16.125, -3.25]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_int4_offsets() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[15, 128, 115, 200]> : tensor<4xui8>
  %scales = ingot.constant dense<[2.0, -0.5]> : tensor<2xf32>
  %offsets = ingot.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales, %offsets as "int4" block 4
      : (tensor<2x4xf32>, tensor<4xui8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[10.0, -3.0], [10.0, -0.375]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_int8_offsets() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[127, 129, 0, 1, 255, 2, 3, 250]> : tensor<8xui8>
  %scales = ingot.constant dense<[0.25, 0.5]> : tensor<2xf32>
  %offsets = ingot.constant dense<[2.0, -1.0]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales, %offsets as "int8" block 4
      : (tensor<2x4xf32>, tensor<8xui8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[-27.75, -15.0], [16.875, -4.0]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_columns() -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %x = ingot.constant dense<[[1.0, -2.0], [0.5, 4.0]]> : tensor<2x2xf32>
  %codes = ingot.constant dense<[7, 248, 18, 52]> : tensor<4xui8>
  %scales = ingot.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes by %scales as "nf4" block 4
      : (tensor<2x2xf32>, tensor<4xui8>, tensor<2xf32>) -> tensor<2x4xf32>
  %expected = ingot.constant dense<[[-1.30380726, 0.525073051, 2.39491749, 0.443601966], [-2.39238548, -1.0501461, 0.210165024, -0.489302456]]> : tensor<2x4xf32>
  return %actual, %expected : tensor<2x4xf32>, tensor<2x4xf32>
}

func.func @test_double() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -1.0, 4.0], [0.5, 0.0, 0.0, 1.0]]> : tensor<2x4xf32>
  %codes = ingot.constant dense<[7, 248, 18, 52]> : tensor<4xui8>
  %scales = ingot.constant dense<[255, 127]> : tensor<2xui8>
  %nested = ingot.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %actual = ingot.decoded_matmul %x, %codes transposed by %scales, %nested as "nf4" block 4
      : (tensor<2x4xf32>, tensor<4xui8>, tensor<2xui8>, tensor<2xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[-2.52251816, -2.489187], [-0.630629539, -0.632537782]]> : tensor<2x2xf32>
  return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

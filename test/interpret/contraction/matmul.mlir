// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_plain() -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = ingot.constant dense<[[4.0, 1.0, 2.0], [4.0, 1.0, 2.0]]> :
      tensor<2x3xf32>
  %1 = ingot.constant dense<[[3.0, -2.0, -4.0, -2.0], [-2.0, 3.0, 4.0, -4.0],
      [0.0, 3.0, -3.0, 3.0]]> : tensor<3x4xf32>
  %actual = ingot.matmul %0, %1 : (tensor<2x3xf32>, tensor<3x4xf32>) ->
      tensor<2x4xf32>
  %expected = ingot.constant dense<[[10.0, 1.0, -18.0, -6.0], [10.0, 1.0,
      -18.0, -6.0]]> : tensor<2x4xf32>
  func.return %actual, %expected : tensor<2x4xf32>, tensor<2x4xf32>
}

func.func @test_transposed_lhs() -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = ingot.constant dense<[[-3.0, 0.0], [3.0, -2.0], [-1.0, -2.0]]> :
      tensor<3x2xf32>
  %1 = ingot.constant dense<[[2.0, -2.0, 4.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0,
      4.0, 3.0, 3.0]]> : tensor<3x4xf32>
  %actual = ingot.matmul %0 transposed, %1 : (tensor<3x2xf32>, tensor<3x4xf32>)
      -> tensor<2x4xf32>
  %expected = ingot.constant dense<[[-6.0, 2.0, -12.0, -3.0], [0.0, -8.0, -8.0,
      -6.0]]> : tensor<2x4xf32>
  func.return %actual, %expected : tensor<2x4xf32>, tensor<2x4xf32>
}

func.func @test_transposed_rhs() -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = ingot.constant dense<[[2.0, 1.0, -1.0], [4.0, 0.0, -3.0]]> :
      tensor<2x3xf32>
  %1 = ingot.constant dense<[[3.0, -3.0, 3.0], [1.0, -3.0, -4.0], [0.0, -4.0,
      -3.0], [0.0, 4.0, 0.0]]> : tensor<4x3xf32>
  %actual = ingot.matmul %0, %1 transposed : (tensor<2x3xf32>, tensor<4x3xf32>)
      -> tensor<2x4xf32>
  %expected = ingot.constant dense<[[0.0, 3.0, -1.0, 4.0], [3.0, 16.0, 9.0,
      0.0]]> : tensor<2x4xf32>
  func.return %actual, %expected : tensor<2x4xf32>, tensor<2x4xf32>
}

func.func @test_transposed_both() -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = ingot.constant dense<[[3.0, 4.0], [3.0, 1.0], [-1.0, 0.0]]> :
      tensor<3x2xf32>
  %1 = ingot.constant dense<[[-2.0, 0.0, -1.0], [-2.0, 4.0, -4.0], [-4.0, -3.0,
      4.0], [2.0, 3.0, -3.0]]> : tensor<4x3xf32>
  %actual = ingot.matmul %0 transposed, %1 transposed : (tensor<3x2xf32>,
      tensor<4x3xf32>) -> tensor<2x4xf32>
  %expected = ingot.constant dense<[[-5.0, 10.0, -25.0, 18.0], [-8.0, -4.0,
      -19.0, 11.0]]> : tensor<2x4xf32>
  func.return %actual, %expected : tensor<2x4xf32>, tensor<2x4xf32>
}

func.func @test_batched() -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>) {
  %0 = ingot.constant dense<[[[2.0, -1.0, 0.0], [-4.0, 1.0, 3.0]], [[1.0, -3.0,
      0.0], [-2.0, 4.0, 3.0]]]> : tensor<2x2x3xf32>
  %1 = ingot.constant dense<[[[-3.0, 0.0], [4.0, 3.0], [2.0, 1.0]], [[-4.0,
      2.0], [0.0, -4.0], [-2.0, 0.0]]]> : tensor<2x3x2xf32>
  %actual = ingot.matmul %0, %1 : (tensor<2x2x3xf32>, tensor<2x3x2xf32>) ->
      tensor<2x2x2xf32>
  %expected = ingot.constant dense<[[[-10.0, -3.0], [22.0, 6.0]], [[-4.0,
      14.0], [2.0, -20.0]]]> : tensor<2x2x2xf32>
  func.return %actual, %expected : tensor<2x2x2xf32>, tensor<2x2x2xf32>
}

func.func @test_two_batch_dimensions() -> (tensor<2x2x1x3xf32>,
      tensor<2x2x1x3xf32>) {
  %0 = ingot.constant dense<[[[[2.0, 0.0]], [[1.0, 3.0]]], [[[2.0, -1.0]],
      [[1.0, 1.0]]]]> : tensor<2x2x1x2xf32>
  %1 = ingot.constant dense<[[[[-4.0, -4.0], [1.0, -1.0], [1.0, -2.0]], [[-2.0,
      -3.0], [-1.0, 3.0], [-1.0, -1.0]]], [[[1.0, 4.0], [-1.0, 1.0], [-1.0,
      1.0]], [[0.0, 1.0], [0.0, 2.0], [4.0, -3.0]]]]> : tensor<2x2x3x2xf32>
  %actual = ingot.matmul %0, %1 transposed : (tensor<2x2x1x2xf32>,
      tensor<2x2x3x2xf32>) -> tensor<2x2x1x3xf32>
  %expected = ingot.constant dense<[[[[-8.0, 2.0, 2.0]], [[-11.0, 8.0, -4.0]]],
      [[[-2.0, -3.0, -3.0]], [[1.0, 2.0, 1.0]]]]> : tensor<2x2x1x3xf32>
  func.return %actual, %expected : tensor<2x2x1x3xf32>, tensor<2x2x1x3xf32>
}

func.func @test_vector() -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %0 = ingot.constant dense<[[1.0, -1.0, -1.0, -2.0]]> : tensor<1x4xf32>
  %1 = ingot.constant dense<[[-4.0], [-1.0], [3.0], [-4.0]]> : tensor<4x1xf32>
  %actual = ingot.matmul %0, %1 : (tensor<1x4xf32>, tensor<4x1xf32>) ->
      tensor<1x1xf32>
  %expected = ingot.constant dense<[[2.0]]> : tensor<1x1xf32>
  func.return %actual, %expected : tensor<1x1xf32>, tensor<1x1xf32>
}

func.func @test_f64() -> (tensor<1x1xf64>, tensor<1x1xf64>) attributes
      {ingot.tolerance = 1.0e-15} {
  %0 = ingot.constant dense<[[0.1, 0.2]]> : tensor<1x2xf64>
  %1 = ingot.constant dense<[[0.3], [0.4]]> : tensor<2x1xf64>
  %actual = ingot.matmul %0, %1 : (tensor<1x2xf64>, tensor<2x1xf64>) ->
      tensor<1x1xf64>
  %expected = ingot.constant dense<[[0.11000000000000001]]> : tensor<1x1xf64>
  func.return %actual, %expected : tensor<1x1xf64>, tensor<1x1xf64>
}

func.func @test_no_terms() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<> : tensor<2x0xf32>
  %1 = ingot.constant dense<> : tensor<0x3xf32>
  %actual = ingot.matmul %0, %1 : (tensor<2x0xf32>, tensor<0x3xf32>) ->
      tensor<2x3xf32>
  %expected = ingot.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> :
      tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_no_rows() -> (tensor<0x3xf32>, tensor<0x3xf32>) {
  %0 = ingot.constant dense<> : tensor<0x2xf32>
  %1 = ingot.constant dense<[[-1.0, 4.0, 4.0], [-3.0, -4.0, 2.0]]> :
      tensor<2x3xf32>
  %actual = ingot.matmul %0, %1 : (tensor<0x2xf32>, tensor<2x3xf32>) ->
      tensor<0x3xf32>
  %expected = ingot.constant dense<> : tensor<0x3xf32>
  func.return %actual, %expected : tensor<0x3xf32>, tensor<0x3xf32>
}

func.func @test_f16_accumulates_in_f32() -> (tensor<1x1xf16>, tensor<1x1xf16>) {
  %0 = ingot.constant dense<[[2048.0, 1.0, 1.0, 1.0, 1.0]]> : tensor<1x5xf16>
  %1 = ingot.constant dense<[[1.0], [1.0], [1.0], [1.0], [1.0]]> :
      tensor<5x1xf16>
  %actual = ingot.matmul %0, %1 : (tensor<1x5xf16>, tensor<5x1xf16>) ->
      tensor<1x1xf16>
  %expected = ingot.constant dense<[[2052.0]]> : tensor<1x1xf16>
  func.return %actual, %expected : tensor<1x1xf16>, tensor<1x1xf16>
}

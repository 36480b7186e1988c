// RUN: ingot-eval --expect %s

// The largest magnitude of each block, whatever the shape; the last block is shorter (docs/spec/encoding.md).
func.func @test_block_max() -> (tensor<3xf32>, tensor<3xf32>) {
  %x = ingot.constant dense<[[1.0, -5.0, 2.0], [0.5, -0.0, 0.0], [0.0, 0.0, -3.0]]> : tensor<3x3xf32>
  %actual = ingot.block_max %x block 4 : (tensor<3x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[5.0, 0.0, 3.0]> : tensor<3xf32>
  return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_block_max_nan() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = ingot.constant dense<[1.0, 0x7FC00000, 2.0, 0xFF800000]> : tensor<4xf32>
  %actual = ingot.block_max %x block 2 : (tensor<4xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[0x7FC00000, 0x7F800000]> : tensor<2xf32>
  return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

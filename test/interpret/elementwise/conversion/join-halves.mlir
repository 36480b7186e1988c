// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The halves are the number again, bit for bit.
func.func @test_whole() -> (tensor<10xf32>, tensor<10xf32>) {
  %x = ingot.constant dense<[0x3F807FFF, 0x3F808000, 0xBF80FFFF, 0x00000001, 0x80000000, 0x7F800000, 0xFF800000,
      0x7F7FFFFF, 0xFF7F8000, 0x3FFFFFFF]> : tensor<10xf32>
  %upper = ingot.upper_half %x : (tensor<10xf32>) -> tensor<10xbf16>
  %lower = ingot.lower_half %x : (tensor<10xf32>) -> tensor<10xi16>
  %actual = ingot.join_halves %upper, %lower : (tensor<10xbf16>, tensor<10xi16>) -> tensor<10xf32>
  func.return %actual, %x : tensor<10xf32>, tensor<10xf32>
}

func.func @test_sum_of_bits() -> (tensor<4xf32>, tensor<4xf32>) {
  %upper = ingot.constant dense<[0x3F80, 0x3F80, 0xC000, 0x7FC0]> : tensor<4xbf16>
  %lower = ingot.constant dense<[1, -1, -32768, 0]> : tensor<4xi16>
  %actual = ingot.join_halves %upper, %lower : (tensor<4xbf16>, tensor<4xi16>) -> tensor<4xf32>
  %expected = ingot.constant dense<[0x3F800001, 0x3F7FFFFF, 0xBFFF8000, 0x7FC00000]> : tensor<4xf32>
  func.return %actual, %expected : tensor<4xf32>, tensor<4xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Nearest, ties away from zero, where a cast takes them to the even neighbour.
func.func @test_nearest() -> (tensor<6xbf16>, tensor<6xbf16>) {
  %x = ingot.constant dense<[0x3F807FFF, 0x3F808000, 0x3F818000, 0xBF808000, 0x3F80FFFF, 0x00008000]> : tensor<6xf32>
  %actual = ingot.upper_half %x : (tensor<6xf32>) -> tensor<6xbf16>
  %expected = ingot.constant dense<[0x3F80, 0x3F81, 0x3F82, 0xBF81, 0x3F81, 0x0001]> : tensor<6xbf16>
  func.return %actual, %expected : tensor<6xbf16>, tensor<6xbf16>
}

func.func @test_ends() -> (tensor<6xbf16>, tensor<6xbf16>) {
  %x = ingot.constant dense<[0x7F7FFFFF, 0xFF7F8000, 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x80000000]> : tensor<6xf32>
  %actual = ingot.upper_half %x : (tensor<6xf32>) -> tensor<6xbf16>
  %expected = ingot.constant dense<[0x7F80, 0xFF80, 0x7F80, 0xFF80, 0x7FC0, 0x8000]> : tensor<6xbf16>
  func.return %actual, %expected : tensor<6xbf16>, tensor<6xbf16>
}

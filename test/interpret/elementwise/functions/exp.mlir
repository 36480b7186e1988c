// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// e = 2.71828 lies between the bf16 numbers 2.703125 and 2.71875.

func.func @test_f32() -> (tensor<7xf32>, tensor<7xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, 1.0, -1.0, 0xFF800000, 0x7F800000,
      0x7FC00000, 100.0]> : tensor<7xf32>
  %actual = ingot.exp %0 : tensor<7xf32>
  %expected = ingot.constant dense<[1.0, 2.7182817, 0.36787945, 0.0,
      0x7F800000, 0x7FC00000, 0x7F800000]> : tensor<7xf32>
  func.return %actual, %expected : tensor<7xf32>, tensor<7xf32>
}

func.func @test_f64() -> (tensor<2xf64>, tensor<2xf64>) attributes
      {ingot.tolerance = 1.0e-15} {
  %0 = ingot.constant dense<[0.5, -20.0]> : tensor<2xf64>
  %actual = ingot.exp %0 : tensor<2xf64>
  %expected = ingot.constant dense<[1.6487212707001282, 2.061153622438558e-09]>
      : tensor<2xf64>
  func.return %actual, %expected : tensor<2xf64>, tensor<2xf64>
}

func.func @test_bf16_rounds() -> (tensor<1xbf16>, tensor<1xbf16>) {
  %0 = ingot.constant dense<[1.0]> : tensor<1xbf16>
  %actual = ingot.exp %0 : tensor<1xbf16>
  %expected = ingot.constant dense<[2.71875]> : tensor<1xbf16>
  func.return %actual, %expected : tensor<1xbf16>, tensor<1xbf16>
}

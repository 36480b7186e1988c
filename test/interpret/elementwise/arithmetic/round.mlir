// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_ties_to_even() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[0.5, 1.5, 2.5, -0.5, -1.5, -2.5]> : tensor<6xf32>
  %actual = ingot.round %0 : tensor<6xf32>
  %expected = ingot.constant dense<[0.0, 2.0, 2.0, -0.0, -2.0, -2.0]> :
      tensor<6xf32>
  func.return %actual, %expected : tensor<6xf32>, tensor<6xf32>
}

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[0.49, 0.51, -3.7, 0x7F800000, 0x7FC00000]> :
      tensor<5xf32>
  %actual = ingot.round %0 : tensor<5xf32>
  %expected = ingot.constant dense<[0.0, 1.0, -4.0, 0x7F800000, 0x7FC00000]> :
      tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_f16() -> (tensor<2xf16>, tensor<2xf16>) {
  %0 = ingot.constant dense<[2.5, 3.5]> : tensor<2xf16>
  %actual = ingot.round %0 : tensor<2xf16>
  %expected = ingot.constant dense<[2.0, 4.0]> : tensor<2xf16>
  func.return %actual, %expected : tensor<2xf16>, tensor<2xf16>
}

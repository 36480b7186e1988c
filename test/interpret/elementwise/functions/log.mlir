// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<7xf32>, tensor<7xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[1.0, 2.7182817, 0.0, -0.0, 0x7F800000, -1.0,
      0x7FC00000]> : tensor<7xf32>
  %actual = ingot.log %0 : tensor<7xf32>
  %expected = ingot.constant dense<[0.0, 1.0, 0xFF800000, 0xFF800000,
      0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<7xf32>
  func.return %actual, %expected : tensor<7xf32>, tensor<7xf32>
}

func.func @test_f64() -> (tensor<2xf64>, tensor<2xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[2.0, 1.0e-300]> : tensor<2xf64>
  %actual = ingot.log %0 : tensor<2xf64>
  %expected = ingot.constant dense<[0.6931471805599453, -690.7755278982137]> :
      tensor<2xf64>
  func.return %actual, %expected : tensor<2xf64>, tensor<2xf64>
}

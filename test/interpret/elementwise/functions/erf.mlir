// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<6xf32>, tensor<6xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, 0.5, -1.0, 10.0, 0xFF800000, 0x7FC00000]> :
      tensor<6xf32>
  %actual = ingot.erf %0 : tensor<6xf32>
  %expected = ingot.constant dense<[0.0, 0.5204999, -0.8427008, 1.0, -1.0,
      0x7FC00000]> : tensor<6xf32>
  func.return %actual, %expected : tensor<6xf32>, tensor<6xf32>
}

func.func @test_f64() -> (tensor<2xf64>, tensor<2xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[0.5, 1.0]> : tensor<2xf64>
  %actual = ingot.erf %0 : tensor<2xf64>
  %expected = ingot.constant dense<[0.5204998778130465, 0.8427007929497149]> :
      tensor<2xf64>
  func.return %actual, %expected : tensor<2xf64>, tensor<2xf64>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[4.0, 0.25, 0.0, 0x7F800000, -1.0, 0x7FC00000]> :
      tensor<6xf32>
  %actual = ingot.rsqrt %0 : tensor<6xf32>
  %expected = ingot.constant dense<[0.5, 2.0, 0x7F800000, 0.0, 0x7FC00000,
      0x7FC00000]> : tensor<6xf32>
  func.return %actual, %expected : tensor<6xf32>, tensor<6xf32>
}

func.func @test_f64() -> (tensor<1xf64>, tensor<1xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[2.0]> : tensor<1xf64>
  %actual = ingot.rsqrt %0 : tensor<1xf64>
  %expected = ingot.constant dense<[0.7071067811865476]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, 1.0471976, 3.1415927, 0x7F800000,
      0x7FC00000]> : tensor<5xf32>
  %actual = ingot.cos %0 : tensor<5xf32>
  %expected = ingot.constant dense<[1.0, 0.5, -1.0, 0x7FC00000, 0x7FC00000]> :
      tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_f64() -> (tensor<1xf64>, tensor<1xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[1.0]> : tensor<1xf64>
  %actual = ingot.cos %0 : tensor<1xf64>
  %expected = ingot.constant dense<[0.5403023058681398]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<7xf32>, tensor<7xf32>) {
  %0 = ingot.constant dense<[4.0, 2.0, 0.0, -0.0, 0x7F800000, -1.0,
      0x7FC00000]> : tensor<7xf32>
  %actual = ingot.sqrt %0 : tensor<7xf32>
  %expected = ingot.constant dense<[2.0, 1.4142135, 0.0, -0.0, 0x7F800000,
      0x7FC00000, 0x7FC00000]> : tensor<7xf32>
  func.return %actual, %expected : tensor<7xf32>, tensor<7xf32>
}

func.func @test_f64() -> (tensor<1xf64>, tensor<1xf64>) {
  %0 = ingot.constant dense<[2.0]> : tensor<1xf64>
  %actual = ingot.sqrt %0 : tensor<1xf64>
  %expected = ingot.constant dense<[1.4142135623730951]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

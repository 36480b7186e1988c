// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[1.5, -1.5, 2.0, -0.25, 0x7F800000, 0x7FC00000]> :
      tensor<6xf32>
  %actual = ingot.floor %0 : tensor<6xf32>
  %expected = ingot.constant dense<[1.0, -2.0, 2.0, -1.0, 0x7F800000,
      0x7FC00000]> : tensor<6xf32>
  func.return %actual, %expected : tensor<6xf32>, tensor<6xf32>
}

func.func @test_f64() -> (tensor<1xf64>, tensor<1xf64>) {
  %0 = ingot.constant dense<[-2.0000000000000004]> : tensor<1xf64>
  %actual = ingot.floor %0 : tensor<1xf64>
  %expected = ingot.constant dense<[-3.0]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

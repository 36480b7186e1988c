// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<7xf32>, tensor<7xf32>) {
  %0 = ingot.constant dense<[2.5, -0.1, 0.0, -0.0, 0x7F800000, 0xFF800000,
      0x7FC00000]> : tensor<7xf32>
  %actual = ingot.sign %0 : tensor<7xf32>
  %expected = ingot.constant dense<[1.0, -1.0, 0.0, -0.0, 1.0, -1.0,
      0x7FC00000]> : tensor<7xf32>
  func.return %actual, %expected : tensor<7xf32>, tensor<7xf32>
}

func.func @test_i64() -> (tensor<3xi64>, tensor<3xi64>) {
  %0 = ingot.constant dense<[-7, 0, 9]> : tensor<3xi64>
  %actual = ingot.sign %0 : tensor<3xi64>
  %expected = ingot.constant dense<[-1, 0, 1]> : tensor<3xi64>
  func.return %actual, %expected : tensor<3xi64>, tensor<3xi64>
}

func.func @test_ui8() -> (tensor<2xui8>, tensor<2xui8>) {
  %0 = ingot.constant dense<[0, 200]> : tensor<2xui8>
  %actual = ingot.sign %0 : tensor<2xui8>
  %expected = ingot.constant dense<[0, 1]> : tensor<2xui8>
  func.return %actual, %expected : tensor<2xui8>, tensor<2xui8>
}

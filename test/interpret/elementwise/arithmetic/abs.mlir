// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[1.5, -2.0, -0.0, 0xFF800000, 0x7FC00000]> :
      tensor<5xf32>
  %actual = ingot.abs %0 : tensor<5xf32>
  %expected = ingot.constant dense<[1.5, 2.0, 0.0, 0x7F800000, 0x7FC00000]> :
      tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_i8() -> (tensor<3xi8>, tensor<3xi8>) {
  %0 = ingot.constant dense<[5, -5, -128]> : tensor<3xi8>
  %actual = ingot.abs %0 : tensor<3xi8>
  %expected = ingot.constant dense<[5, 5, -128]> : tensor<3xi8>
  func.return %actual, %expected : tensor<3xi8>, tensor<3xi8>
}

func.func @test_ui8() -> (tensor<2xui8>, tensor<2xui8>) {
  %0 = ingot.constant dense<[0, 200]> : tensor<2xui8>
  %actual = ingot.abs %0 : tensor<2xui8>
  %expected = ingot.constant dense<[0, 200]> : tensor<2xui8>
  func.return %actual, %expected : tensor<2xui8>, tensor<2xui8>
}

func.func @test_i64() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[-9223372036854775807, 7]> : tensor<2xi64>
  %actual = ingot.abs %0 : tensor<2xi64>
  %expected = ingot.constant dense<[9223372036854775807, 7]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[3.0, 0.0, 0x7F800000]> : tensor<3xf32>
  %1 = ingot.constant dense<[5.0, 0.0, 0x7F800000]> : tensor<3xf32>
  %actual = ingot.sub %0, %1 : tensor<3xf32>
  %expected = ingot.constant dense<[-2.0, 0.0, 0x7FC00000]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_i32_wraps() -> (tensor<1xi32>, tensor<1xi32>) {
  %0 = ingot.constant dense<[-2147483648]> : tensor<1xi32>
  %1 = ingot.constant dense<[1]> : tensor<1xi32>
  %actual = ingot.sub %0, %1 : tensor<1xi32>
  %expected = ingot.constant dense<[2147483647]> : tensor<1xi32>
  func.return %actual, %expected : tensor<1xi32>, tensor<1xi32>
}

func.func @test_ui8_wraps() -> (tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[3]> : tensor<1xui8>
  %1 = ingot.constant dense<[5]> : tensor<1xui8>
  %actual = ingot.sub %0, %1 : tensor<1xui8>
  %expected = ingot.constant dense<[254]> : tensor<1xui8>
  func.return %actual, %expected : tensor<1xui8>, tensor<1xui8>
}

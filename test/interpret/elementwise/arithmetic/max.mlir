// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0, -1.0, 0x7FC00000, 1.0, 0x7F800000]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 1.0, -2.0, 1.0, 0x7FC00000, 0x7FC00000]> :
      tensor<6xf32>
  %actual = ingot.max %0, %1 : tensor<6xf32>
  %expected = ingot.constant dense<[2.0, 2.0, -1.0, 0x7FC00000, 0x7FC00000,
      0x7FC00000]> : tensor<6xf32>
  func.return %actual, %expected : tensor<6xf32>, tensor<6xf32>
}

func.func @test_i32() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[1, -5]> : tensor<2xi32>
  %1 = ingot.constant dense<[2, -7]> : tensor<2xi32>
  %actual = ingot.max %0, %1 : tensor<2xi32>
  %expected = ingot.constant dense<[2, -5]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_ui8() -> (tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[200]> : tensor<1xui8>
  %1 = ingot.constant dense<[100]> : tensor<1xui8>
  %actual = ingot.max %0, %1 : tensor<1xui8>
  %expected = ingot.constant dense<[200]> : tensor<1xui8>
  func.return %actual, %expected : tensor<1xui8>, tensor<1xui8>
}

func.func @test_zeros() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %1 = ingot.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %actual = ingot.max %0, %1 : tensor<2xf32>
  %expected = ingot.constant dense<[0.0, 0.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

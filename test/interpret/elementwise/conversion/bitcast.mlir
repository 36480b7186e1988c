// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_to_integer() -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = ingot.constant dense<[1.0, -2.0, 0.0, 0x7F800000]> : tensor<4xf32>
  %actual = ingot.bitcast %0 : tensor<4xf32> -> tensor<4xi32>
  %expected = ingot.constant dense<[1065353216, -1073741824, 0, 2139095040]> : tensor<4xi32>
  func.return %actual, %expected : tensor<4xi32>, tensor<4xi32>
}

func.func @test_to_float() -> (tensor<2xf64>, tensor<2xf64>) {
  %0 = ingot.constant dense<[4607182418800017408, 13835058055282163712]> : tensor<2xui64>
  %actual = ingot.bitcast %0 : tensor<2xui64> -> tensor<2xf64>
  %expected = ingot.constant dense<[1.0, -2.0]> : tensor<2xf64>
  func.return %actual, %expected : tensor<2xf64>, tensor<2xf64>
}

func.func @test_of_16_bits() -> (tensor<3xi16>, tensor<3xi16>) {
  %0 = ingot.constant dense<[1.0, -1.0, 0.5]> : tensor<3xbf16>
  %actual = ingot.bitcast %0 : tensor<3xbf16> -> tensor<3xi16>
  %expected = ingot.constant dense<[16256, -16512, 16128]> : tensor<3xi16>
  func.return %actual, %expected : tensor<3xi16>, tensor<3xi16>
}

func.func @test_sign() -> (tensor<3xui8>, tensor<3xui8>) {
  %0 = ingot.constant dense<[-1, 0, 127]> : tensor<3xi8>
  %actual = ingot.bitcast %0 : tensor<3xi8> -> tensor<3xui8>
  %expected = ingot.constant dense<[255, 0, 127]> : tensor<3xui8>
  func.return %actual, %expected : tensor<3xui8>, tensor<3xui8>
}

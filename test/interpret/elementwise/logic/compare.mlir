// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// NaN is unequal to everything, itself included.

func.func @test_eq() -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, 0x7FC00000, 0.0]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 2.0, 2.0, 1.0, 0x7FC00000, -0.0]> :
      tensor<6xf32>
  %actual = ingot.compare eq %0, %1 : (tensor<6xf32>, tensor<6xf32>) ->
      tensor<6xi1>
  %expected = ingot.constant dense<[false, true, false, false, false, true]> :
      tensor<6xi1>
  func.return %actual, %expected : tensor<6xi1>, tensor<6xi1>
}

func.func @test_ne() -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, 0x7FC00000, 0.0]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 2.0, 2.0, 1.0, 0x7FC00000, -0.0]> :
      tensor<6xf32>
  %actual = ingot.compare ne %0, %1 : (tensor<6xf32>, tensor<6xf32>) ->
      tensor<6xi1>
  %expected = ingot.constant dense<[true, false, true, true, true, false]> :
      tensor<6xi1>
  func.return %actual, %expected : tensor<6xi1>, tensor<6xi1>
}

func.func @test_lt() -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, 0x7FC00000, 0.0]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 2.0, 2.0, 1.0, 0x7FC00000, -0.0]> :
      tensor<6xf32>
  %actual = ingot.compare lt %0, %1 : (tensor<6xf32>, tensor<6xf32>) ->
      tensor<6xi1>
  %expected = ingot.constant dense<[true, false, false, false, false, false]> :
      tensor<6xi1>
  func.return %actual, %expected : tensor<6xi1>, tensor<6xi1>
}

func.func @test_le() -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, 0x7FC00000, 0.0]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 2.0, 2.0, 1.0, 0x7FC00000, -0.0]> :
      tensor<6xf32>
  %actual = ingot.compare le %0, %1 : (tensor<6xf32>, tensor<6xf32>) ->
      tensor<6xi1>
  %expected = ingot.constant dense<[true, true, false, false, false, true]> :
      tensor<6xi1>
  func.return %actual, %expected : tensor<6xi1>, tensor<6xi1>
}

func.func @test_gt() -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, 0x7FC00000, 0.0]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 2.0, 2.0, 1.0, 0x7FC00000, -0.0]> :
      tensor<6xf32>
  %actual = ingot.compare gt %0, %1 : (tensor<6xf32>, tensor<6xf32>) ->
      tensor<6xi1>
  %expected = ingot.constant dense<[false, false, true, false, false, false]> :
      tensor<6xi1>
  func.return %actual, %expected : tensor<6xi1>, tensor<6xi1>
}

func.func @test_ge() -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, 0x7FC00000, 0.0]> :
      tensor<6xf32>
  %1 = ingot.constant dense<[2.0, 2.0, 2.0, 1.0, 0x7FC00000, -0.0]> :
      tensor<6xf32>
  %actual = ingot.compare ge %0, %1 : (tensor<6xf32>, tensor<6xf32>) ->
      tensor<6xi1>
  %expected = ingot.constant dense<[false, true, true, false, false, true]> :
      tensor<6xi1>
  func.return %actual, %expected : tensor<6xi1>, tensor<6xi1>
}

func.func @test_signed() -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = ingot.constant dense<[-1, 1]> : tensor<2xi8>
  %1 = ingot.constant dense<[1, -1]> : tensor<2xi8>
  %actual = ingot.compare lt %0, %1 : (tensor<2xi8>, tensor<2xi8>) ->
      tensor<2xi1>
  %expected = ingot.constant dense<[true, false]> : tensor<2xi1>
  func.return %actual, %expected : tensor<2xi1>, tensor<2xi1>
}

func.func @test_unsigned() -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = ingot.constant dense<[255, 1]> : tensor<2xui8>
  %1 = ingot.constant dense<[1, 255]> : tensor<2xui8>
  %actual = ingot.compare lt %0, %1 : (tensor<2xui8>, tensor<2xui8>) ->
      tensor<2xi1>
  %expected = ingot.constant dense<[false, true]> : tensor<2xi1>
  func.return %actual, %expected : tensor<2xi1>, tensor<2xi1>
}

func.func @test_boolean() -> (tensor<3xi1>, tensor<3xi1>) {
  %0 = ingot.constant dense<[false, true, true]> : tensor<3xi1>
  %1 = ingot.constant dense<[true, false, true]> : tensor<3xi1>
  %actual = ingot.compare lt %0, %1 : (tensor<3xi1>, tensor<3xi1>) ->
      tensor<3xi1>
  %expected = ingot.constant dense<[true, false, false]> : tensor<3xi1>
  func.return %actual, %expected : tensor<3xi1>, tensor<3xi1>
}

func.func @test_i64() -> (tensor<1xi1>, tensor<1xi1>) {
  %0 = ingot.constant dense<[9223372036854775807]> : tensor<1xi64>
  %1 = ingot.constant dense<[9223372036854775806]> : tensor<1xi64>
  %actual = ingot.compare gt %0, %1 : (tensor<1xi64>, tensor<1xi64>) ->
      tensor<1xi1>
  %expected = ingot.constant dense<[true]> : tensor<1xi1>
  func.return %actual, %expected : tensor<1xi1>, tensor<1xi1>
}

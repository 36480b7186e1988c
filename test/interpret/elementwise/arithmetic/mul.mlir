// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[3.0, -0.5, 0x7F800000, 0.0, 0x7FC00000]> :
      tensor<5xf32>
  %1 = ingot.constant dense<[2.0, 4.0, -1.0, 0x7F800000, 0.0]> : tensor<5xf32>
  %actual = ingot.mul %0, %1 : tensor<5xf32>
  %expected = ingot.constant dense<[6.0, -2.0, 0xFF800000, 0x7FC00000,
      0x7FC00000]> : tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_overflow() -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = ingot.constant dense<[3.0e+38]> : tensor<1xf32>
  %1 = ingot.constant dense<[10.0]> : tensor<1xf32>
  %actual = ingot.mul %0, %1 : tensor<1xf32>
  %expected = ingot.constant dense<[0x7F800000]> : tensor<1xf32>
  func.return %actual, %expected : tensor<1xf32>, tensor<1xf32>
}

func.func @test_i32_wraps() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[65536, -3]> : tensor<2xi32>
  %1 = ingot.constant dense<[65536, 4]> : tensor<2xi32>
  %actual = ingot.mul %0, %1 : tensor<2xi32>
  %expected = ingot.constant dense<[0, -12]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_i64_wraps() -> (tensor<1xi64>, tensor<1xi64>) {
  %0 = ingot.constant dense<[4611686018427387904]> : tensor<1xi64>
  %1 = ingot.constant dense<[4]> : tensor<1xi64>
  %actual = ingot.mul %0, %1 : tensor<1xi64>
  %expected = ingot.constant dense<[0]> : tensor<1xi64>
  func.return %actual, %expected : tensor<1xi64>, tensor<1xi64>
}

func.func @test_ui8_wraps() -> (tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[16]> : tensor<1xui8>
  %1 = ingot.constant dense<[17]> : tensor<1xui8>
  %actual = ingot.mul %0, %1 : tensor<1xui8>
  %expected = ingot.constant dense<[16]> : tensor<1xui8>
  func.return %actual, %expected : tensor<1xui8>, tensor<1xui8>
}

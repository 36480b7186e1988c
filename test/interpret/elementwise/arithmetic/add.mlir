// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Halves round to nearest even: 2049 and 1 + 2^-11 have no f16.

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[1.0, 0.1, 0x7F800000, 0x7F800000, 0x7FC00000]> :
      tensor<5xf32>
  %1 = ingot.constant dense<[2.0, 0.2, 1.0, 0xFF800000, 1.0]> : tensor<5xf32>
  %actual = ingot.add %0, %1 : tensor<5xf32>
  %expected = ingot.constant dense<[3.0, 0.3, 0x7F800000, 0x7FC00000,
      0x7FC00000]> : tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_rounds_f16() -> (tensor<2xf16>, tensor<2xf16>) {
  %0 = ingot.constant dense<[2048.0, 1.0]> : tensor<2xf16>
  %1 = ingot.constant dense<[1.0, 0.00048828125]> : tensor<2xf16>
  %actual = ingot.add %0, %1 : tensor<2xf16>
  %expected = ingot.constant dense<[2048.0, 1.0]> : tensor<2xf16>
  func.return %actual, %expected : tensor<2xf16>, tensor<2xf16>
}

func.func @test_i32_wraps() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[2147483647, -5]> : tensor<2xi32>
  %1 = ingot.constant dense<[1, 3]> : tensor<2xi32>
  %actual = ingot.add %0, %1 : tensor<2xi32>
  %expected = ingot.constant dense<[-2147483648, -2]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_i64_wraps() -> (tensor<1xi64>, tensor<1xi64>) {
  %0 = ingot.constant dense<[9223372036854775807]> : tensor<1xi64>
  %1 = ingot.constant dense<[1]> : tensor<1xi64>
  %actual = ingot.add %0, %1 : tensor<1xi64>
  %expected = ingot.constant dense<[-9223372036854775808]> : tensor<1xi64>
  func.return %actual, %expected : tensor<1xi64>, tensor<1xi64>
}

func.func @test_i8_wraps() -> (tensor<1xi8>, tensor<1xi8>) {
  %0 = ingot.constant dense<[127]> : tensor<1xi8>
  %1 = ingot.constant dense<[1]> : tensor<1xi8>
  %actual = ingot.add %0, %1 : tensor<1xi8>
  %expected = ingot.constant dense<[-128]> : tensor<1xi8>
  func.return %actual, %expected : tensor<1xi8>, tensor<1xi8>
}

func.func @test_ui8_wraps() -> (tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[250]> : tensor<1xui8>
  %1 = ingot.constant dense<[10]> : tensor<1xui8>
  %actual = ingot.add %0, %1 : tensor<1xui8>
  %expected = ingot.constant dense<[4]> : tensor<1xui8>
  func.return %actual, %expected : tensor<1xui8>, tensor<1xui8>
}

func.func @test_scalar() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<1.0> : tensor<f32>
  %1 = ingot.constant dense<2.0> : tensor<f32>
  %actual = ingot.add %0, %1 : tensor<f32>
  %expected = ingot.constant dense<3.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_empty() -> (tensor<2x0xf32>, tensor<2x0xf32>) {
  %0 = ingot.constant dense<> : tensor<2x0xf32>
  %1 = ingot.constant dense<> : tensor<2x0xf32>
  %actual = ingot.add %0, %1 : tensor<2x0xf32>
  %expected = ingot.constant dense<> : tensor<2x0xf32>
  func.return %actual, %expected : tensor<2x0xf32>, tensor<2x0xf32>
}

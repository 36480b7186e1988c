// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f64_to_f32() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[0.1, 1.0e+300, 0x7FF8000000000000]> : tensor<3xf64>
  %actual = ingot.cast %0 : tensor<3xf64> -> tensor<3xf32>
  %expected = ingot.constant dense<[0.1, 0x7F800000, 0x7FC00000]> :
      tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_f32_to_f64() -> (tensor<1xf64>, tensor<1xf64>) {
  %0 = ingot.constant dense<[0.1]> : tensor<1xf32>
  %actual = ingot.cast %0 : tensor<1xf32> -> tensor<1xf64>
  %expected = ingot.constant dense<[0.10000000149011612]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

func.func @test_f32_to_f16_ties_to_even() -> (tensor<4xf16>, tensor<4xf16>) {
  %0 = ingot.constant dense<[2049.0, 2051.0, 65520.0, 1.0e-08]> : tensor<4xf32>
  %actual = ingot.cast %0 : tensor<4xf32> -> tensor<4xf16>
  %expected = ingot.constant dense<[2048.0, 2052.0, 0x7C00, 0.0]> :
      tensor<4xf16>
  func.return %actual, %expected : tensor<4xf16>, tensor<4xf16>
}

func.func @test_f32_to_bf16_ties_to_even() -> (tensor<3xbf16>, tensor<3xbf16>) {
  %0 = ingot.constant dense<[1.0039062, 1.0117188, 0xFF800000]> : tensor<3xf32>
  %actual = ingot.cast %0 : tensor<3xf32> -> tensor<3xbf16>
  %expected = ingot.constant dense<[1.0, 1.015625, 0xFF80]> : tensor<3xbf16>
  func.return %actual, %expected : tensor<3xbf16>, tensor<3xbf16>
}

func.func @test_f16_to_f32() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0.333251953125, 65504.0]> : tensor<2xf16>
  %actual = ingot.cast %0 : tensor<2xf16> -> tensor<2xf32>
  %expected = ingot.constant dense<[0.33325195, 65504.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_to_integer_towards_zero() -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = ingot.constant dense<[1.9, -1.9, -0.5, 100.0]> : tensor<4xf32>
  %actual = ingot.cast %0 : tensor<4xf32> -> tensor<4xi32>
  %expected = ingot.constant dense<[1, -1, 0, 100]> : tensor<4xi32>
  func.return %actual, %expected : tensor<4xi32>, tensor<4xi32>
}

func.func @test_saturates() -> (tensor<5xi32>, tensor<5xi32>) {
  %0 = ingot.constant dense<[3.0e+10, -3.0e+10, 0x7F800000, 0xFF800000,
      0x7FC00000]> : tensor<5xf32>
  %actual = ingot.cast %0 : tensor<5xf32> -> tensor<5xi32>
  %expected = ingot.constant dense<[2147483647, -2147483648, 2147483647,
      -2147483648, 0]> : tensor<5xi32>
  func.return %actual, %expected : tensor<5xi32>, tensor<5xi32>
}

func.func @test_saturates_i64() -> (tensor<3xi64>, tensor<3xi64>) {
  %0 = ingot.constant dense<[1.0e+30, -1.0e+30, 0x7FC00000]> : tensor<3xf32>
  %actual = ingot.cast %0 : tensor<3xf32> -> tensor<3xi64>
  %expected = ingot.constant dense<[9223372036854775807, -9223372036854775808,
      0]> : tensor<3xi64>
  func.return %actual, %expected : tensor<3xi64>, tensor<3xi64>
}

func.func @test_saturates_ui8() -> (tensor<3xui8>, tensor<3xui8>) {
  %0 = ingot.constant dense<[300.0, -5.0, 255.5]> : tensor<3xf32>
  %actual = ingot.cast %0 : tensor<3xf32> -> tensor<3xui8>
  %expected = ingot.constant dense<[255, 0, 255]> : tensor<3xui8>
  func.return %actual, %expected : tensor<3xui8>, tensor<3xui8>
}

func.func @test_saturates_i8() -> (tensor<3xi8>, tensor<3xi8>) {
  %0 = ingot.constant dense<[128.9, -500.0, -128.9]> : tensor<3xf64>
  %actual = ingot.cast %0 : tensor<3xf64> -> tensor<3xi8>
  %expected = ingot.constant dense<[127, -128, -128]> : tensor<3xi8>
  func.return %actual, %expected : tensor<3xi8>, tensor<3xi8>
}

func.func @test_to_ui8() -> (tensor<2xui8>, tensor<2xui8>) {
  %0 = ingot.constant dense<[3.7, 255.0]> : tensor<2xf32>
  %actual = ingot.cast %0 : tensor<2xf32> -> tensor<2xui8>
  %expected = ingot.constant dense<[3, 255]> : tensor<2xui8>
  func.return %actual, %expected : tensor<2xui8>, tensor<2xui8>
}

func.func @test_to_boolean() -> (tensor<5xi1>, tensor<5xi1>) {
  %0 = ingot.constant dense<[0.0, -0.0, 0.25, 0x7FC00000, 0x7F800000]> :
      tensor<5xf32>
  %actual = ingot.cast %0 : tensor<5xf32> -> tensor<5xi1>
  %expected = ingot.constant dense<[false, false, true, true, true]> :
      tensor<5xi1>
  func.return %actual, %expected : tensor<5xi1>, tensor<5xi1>
}

func.func @test_integer_to_boolean() -> (tensor<3xi1>, tensor<3xi1>) {
  %0 = ingot.constant dense<[0, 256, -1]> : tensor<3xi64>
  %actual = ingot.cast %0 : tensor<3xi64> -> tensor<3xi1>
  %expected = ingot.constant dense<[false, true, true]> : tensor<3xi1>
  func.return %actual, %expected : tensor<3xi1>, tensor<3xi1>
}

func.func @test_boolean_to_float() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %actual = ingot.cast %0 : tensor<2xi1> -> tensor<2xf32>
  %expected = ingot.constant dense<[1.0, 0.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_boolean_to_integer() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %actual = ingot.cast %0 : tensor<2xi1> -> tensor<2xi32>
  %expected = ingot.constant dense<[1, 0]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_i64_to_f32_rounds() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[16777217, -3]> : tensor<2xi64>
  %actual = ingot.cast %0 : tensor<2xi64> -> tensor<2xf32>
  %expected = ingot.constant dense<[1.6777216e+07, -3.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_i64_to_f32_rounds_once() -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = ingot.constant dense<[18014399583223809]> : tensor<1xi64>
  %actual = ingot.cast %0 : tensor<1xi64> -> tensor<1xf32>
  %expected = ingot.constant dense<[1.80144e+16]> : tensor<1xf32>
  func.return %actual, %expected : tensor<1xf32>, tensor<1xf32>
}

func.func @test_i64_to_f16() -> (tensor<2xf16>, tensor<2xf16>) {
  %0 = ingot.constant dense<[2049, 70000]> : tensor<2xi64>
  %actual = ingot.cast %0 : tensor<2xi64> -> tensor<2xf16>
  %expected = ingot.constant dense<[2048.0, 0x7C00]> : tensor<2xf16>
  func.return %actual, %expected : tensor<2xf16>, tensor<2xf16>
}

func.func @test_i64_to_i32_wraps() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[4294967297, -1]> : tensor<2xi64>
  %actual = ingot.cast %0 : tensor<2xi64> -> tensor<2xi32>
  %expected = ingot.constant dense<[1, -1]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_i32_to_i64() -> (tensor<1xi64>, tensor<1xi64>) {
  %0 = ingot.constant dense<[-1]> : tensor<1xi32>
  %actual = ingot.cast %0 : tensor<1xi32> -> tensor<1xi64>
  %expected = ingot.constant dense<[-1]> : tensor<1xi64>
  func.return %actual, %expected : tensor<1xi64>, tensor<1xi64>
}

func.func @test_ui8_to_i32() -> (tensor<1xi32>, tensor<1xi32>) {
  %0 = ingot.constant dense<[255]> : tensor<1xui8>
  %actual = ingot.cast %0 : tensor<1xui8> -> tensor<1xi32>
  %expected = ingot.constant dense<[255]> : tensor<1xi32>
  func.return %actual, %expected : tensor<1xi32>, tensor<1xi32>
}

func.func @test_ui8_to_f32() -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = ingot.constant dense<[255]> : tensor<1xui8>
  %actual = ingot.cast %0 : tensor<1xui8> -> tensor<1xf32>
  %expected = ingot.constant dense<[255.0]> : tensor<1xf32>
  func.return %actual, %expected : tensor<1xf32>, tensor<1xf32>
}

func.func @test_i8_to_i64() -> (tensor<1xi64>, tensor<1xi64>) {
  %0 = ingot.constant dense<[-1]> : tensor<1xi8>
  %actual = ingot.cast %0 : tensor<1xi8> -> tensor<1xi64>
  %expected = ingot.constant dense<[-1]> : tensor<1xi64>
  func.return %actual, %expected : tensor<1xi64>, tensor<1xi64>
}

func.func @test_i32_to_i8_wraps() -> (tensor<2xi8>, tensor<2xi8>) {
  %0 = ingot.constant dense<[300, -129]> : tensor<2xi32>
  %actual = ingot.cast %0 : tensor<2xi32> -> tensor<2xi8>
  %expected = ingot.constant dense<[44, 127]> : tensor<2xi8>
  func.return %actual, %expected : tensor<2xi8>, tensor<2xi8>
}

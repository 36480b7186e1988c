// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The sign is that of the first operand.

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[5.5, -5.5, 5.5, 1.0, 0x7F800000]> : tensor<5xf32>
  %1 = ingot.constant dense<[2.0, 2.0, -2.0, 0.0, 2.0]> : tensor<5xf32>
  %actual = ingot.rem %0, %1 : tensor<5xf32>
  %expected = ingot.constant dense<[1.5, -1.5, 1.5, 0x7FC00000, 0x7FC00000]> :
      tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_i32() -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = ingot.constant dense<[7, -7, 7, -7]> : tensor<4xi32>
  %1 = ingot.constant dense<[3, 3, -3, -3]> : tensor<4xi32>
  %actual = ingot.rem %0, %1 : tensor<4xi32>
  %expected = ingot.constant dense<[1, -1, 1, -1]> : tensor<4xi32>
  func.return %actual, %expected : tensor<4xi32>, tensor<4xi32>
}

func.func @test_lowest_by_minus_one() -> (tensor<1xi64>, tensor<1xi64>) {
  %0 = ingot.constant dense<[-9223372036854775808]> : tensor<1xi64>
  %1 = ingot.constant dense<[-1]> : tensor<1xi64>
  %actual = ingot.rem %0, %1 : tensor<1xi64>
  %expected = ingot.constant dense<[0]> : tensor<1xi64>
  func.return %actual, %expected : tensor<1xi64>, tensor<1xi64>
}

func.func @test_by_zero() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[7, -7]> : tensor<2xi32>
  %1 = ingot.constant dense<0> : tensor<2xi32>
  %actual = ingot.rem %0, %1 : tensor<2xi32>
  %expected = ingot.constant dense<0> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_ui8() -> (tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[200]> : tensor<1xui8>
  %1 = ingot.constant dense<[7]> : tensor<1xui8>
  %actual = ingot.rem %0, %1 : tensor<1xui8>
  %expected = ingot.constant dense<[4]> : tensor<1xui8>
  func.return %actual, %expected : tensor<1xui8>, tensor<1xui8>
}

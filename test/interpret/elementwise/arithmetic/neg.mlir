// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Integers wrap: the lowest value is its own negative.

func.func @test_f32() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[1.5, -2.0, 0.0, -0.0, 0x7F800000, 0x7FC00000]> :
      tensor<6xf32>
  %actual = ingot.neg %0 : tensor<6xf32>
  %expected = ingot.constant dense<[-1.5, 2.0, -0.0, 0.0, 0xFF800000,
      0x7FC00000]> : tensor<6xf32>
  func.return %actual, %expected : tensor<6xf32>, tensor<6xf32>
}

func.func @test_i32() -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = ingot.constant dense<[3, -4, 0, -2147483648]> : tensor<4xi32>
  %actual = ingot.neg %0 : tensor<4xi32>
  %expected = ingot.constant dense<[-3, 4, 0, -2147483648]> : tensor<4xi32>
  func.return %actual, %expected : tensor<4xi32>, tensor<4xi32>
}

func.func @test_ui8_wraps() -> (tensor<3xui8>, tensor<3xui8>) {
  %0 = ingot.constant dense<[0, 1, 255]> : tensor<3xui8>
  %actual = ingot.neg %0 : tensor<3xui8>
  %expected = ingot.constant dense<[0, 255, 1]> : tensor<3xui8>
  func.return %actual, %expected : tensor<3xui8>, tensor<3xui8>
}

func.func @test_scalar() -> (tensor<f64>, tensor<f64>) {
  %0 = ingot.constant dense<2.5> : tensor<f64>
  %actual = ingot.neg %0 : tensor<f64>
  %expected = ingot.constant dense<-2.5> : tensor<f64>
  func.return %actual, %expected : tensor<f64>, tensor<f64>
}

func.func @test_empty() -> (tensor<0x3xf32>, tensor<0x3xf32>) {
  %0 = ingot.constant dense<> : tensor<0x3xf32>
  %actual = ingot.neg %0 : tensor<0x3xf32>
  %expected = ingot.constant dense<> : tensor<0x3xf32>
  func.return %actual, %expected : tensor<0x3xf32>, tensor<0x3xf32>
}

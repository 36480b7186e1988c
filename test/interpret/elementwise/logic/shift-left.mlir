// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Bits that leave the element are lost; places outside of it give 0.

func.func @test_signed() -> (tensor<6xi8>, tensor<6xi8>) {
  %0 = ingot.constant dense<[1, 3, -1, 64, 5, 5]> : tensor<6xi8>
  %1 = ingot.constant dense<[7, 1, 4, 2, 8, -1]> : tensor<6xi8>
  %actual = ingot.shift_left %0, %1 : tensor<6xi8>
  %expected = ingot.constant dense<[-128, 6, -16, 0, 0, 0]> : tensor<6xi8>
  func.return %actual, %expected : tensor<6xi8>, tensor<6xi8>
}

func.func @test_unsigned() -> (tensor<4xui64>, tensor<4xui64>) {
  %0 = ingot.constant dense<[1, 18446744073709551615, 3, 3]> : tensor<4xui64>
  %1 = ingot.constant dense<[63, 1, 64, 0]> : tensor<4xui64>
  %actual = ingot.shift_left %0, %1 : tensor<4xui64>
  %expected = ingot.constant dense<[9223372036854775808, 18446744073709551614, 0, 3]> : tensor<4xui64>
  func.return %actual, %expected : tensor<4xui64>, tensor<4xui64>
}

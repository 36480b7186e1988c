// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Signed integers keep their sign.

func.func @test_signed() -> (tensor<6xi16>, tensor<6xi16>) {
  %0 = ingot.constant dense<[-32768, -5, 5, 7, -7, 7]> : tensor<6xi16>
  %1 = ingot.constant dense<[15, 1, 1, 0, 16, -1]> : tensor<6xi16>
  %actual = ingot.shift_right %0, %1 : tensor<6xi16>
  %expected = ingot.constant dense<[-1, -3, 2, 7, -1, 0]> : tensor<6xi16>
  func.return %actual, %expected : tensor<6xi16>, tensor<6xi16>
}

func.func @test_unsigned() -> (tensor<4xui32>, tensor<4xui32>) {
  %0 = ingot.constant dense<[4294967295, 2147483648, 8, 8]> : tensor<4xui32>
  %1 = ingot.constant dense<[31, 1, 32, 3]> : tensor<4xui32>
  %actual = ingot.shift_right %0, %1 : tensor<4xui32>
  %expected = ingot.constant dense<[1, 1073741824, 0, 1]> : tensor<4xui32>
  func.return %actual, %expected : tensor<4xui32>, tensor<4xui32>
}

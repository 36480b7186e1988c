// RUN: ingot-eval --expect %s

func.func @test_values() -> (tensor<6xf64>, tensor<6xf64>) {
  %0 = ingot.constant dense<[0.0, 1.0, -1.0, 0.5, 0x7FF0000000000000, -1.0e-9]> : tensor<6xf64>
  %actual = ingot.atan %0 : tensor<6xf64>
  %expected = ingot.constant dense<[0.0, 0.7853981633974483, -0.7853981633974483, 0.4636476090008061,
      1.5707963267948966, -1.0e-9]> : tensor<6xf64>
  func.return %actual, %expected : tensor<6xf64>, tensor<6xf64>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<8xf32>, tensor<8xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, 1.0, -1.0, 200.0, -200.0, 0x7F800000,
      0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %actual = ingot.logistic %0 : tensor<8xf32>
  %expected = ingot.constant dense<[0.5, 0.7310586, 0.26894143, 1.0, 0.0, 1.0,
      0.0, 0x7FC00000]> : tensor<8xf32>
  func.return %actual, %expected : tensor<8xf32>, tensor<8xf32>
}

func.func @test_f64() -> (tensor<1xf64>, tensor<1xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[1.0]> : tensor<1xf64>
  %actual = ingot.logistic %0 : tensor<1xf64>
  %expected = ingot.constant dense<[0.7310585786300049]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

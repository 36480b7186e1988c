// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Near 0 the result keeps its digits where log(1 + x) would lose them.

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, -1.0, 0x7F800000, -2.0, 0x7FC00000]> :
      tensor<5xf32>
  %actual = ingot.log1p %0 : tensor<5xf32>
  %expected = ingot.constant dense<[0.0, 0xFF800000, 0x7F800000, 0x7FC00000,
      0x7FC00000]> : tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_near_zero_f64() -> (tensor<2xf64>, tensor<2xf64>) attributes
      {ingot.tolerance = 1.0e-25} {
  %0 = ingot.constant dense<[1.0e-17, 1.0e-10]> : tensor<2xf64>
  %actual = ingot.log1p %0 : tensor<2xf64>
  %expected = ingot.constant dense<[1.0e-17, 9.9999999995e-11]> : tensor<2xf64>
  func.return %actual, %expected : tensor<2xf64>, tensor<2xf64>
}

func.func @test_one() -> (tensor<1xf64>, tensor<1xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[1.0]> : tensor<1xf64>
  %actual = ingot.log1p %0 : tensor<1xf64>
  %expected = ingot.constant dense<[0.6931471805599453]> : tensor<1xf64>
  func.return %actual, %expected : tensor<1xf64>, tensor<1xf64>
}

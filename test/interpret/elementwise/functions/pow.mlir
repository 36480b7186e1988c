// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<5xf32>, tensor<5xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[2.0, 2.0, 4.0, -2.0, -8.0]> : tensor<5xf32>
  %1 = ingot.constant dense<[10.0, -1.0, 0.5, 3.0, 0.33333334]> : tensor<5xf32>
  %actual = ingot.pow %0, %1 : tensor<5xf32>
  %expected = ingot.constant dense<[1024.0, 0.5, 2.0, -8.0, 0x7FC00000]> :
      tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_zeros() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[0.0, 0.0, 5.0, 0x7FC00000, 1.0]> : tensor<5xf32>
  %1 = ingot.constant dense<[0.0, -1.0, 0.0, 0.0, 0x7FC00000]> : tensor<5xf32>
  %actual = ingot.pow %0, %1 : tensor<5xf32>
  %expected = ingot.constant dense<[1.0, 0x7F800000, 1.0, 1.0, 1.0]> :
      tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_square() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[-3.0, 1.5]> : tensor<2xf32>
  %1 = ingot.constant dense<[2.0, 2.0]> : tensor<2xf32>
  %actual = ingot.pow %0, %1 : tensor<2xf32>
  %expected = ingot.constant dense<[9.0, 2.25]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_cube() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[-3.0, 1.5]> : tensor<2xf32>
  %1 = ingot.constant dense<[3.0, 3.0]> : tensor<2xf32>
  %actual = ingot.pow %0, %1 : tensor<2xf32>
  %expected = ingot.constant dense<[-27.0, 3.375]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

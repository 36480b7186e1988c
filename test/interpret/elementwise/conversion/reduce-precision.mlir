// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Numbers of f8E4M3FN have four bits, 17 and 19 lie half way, and ties go to
// the even neighbour. Nothing is beyond 448.
func.func @test_e4m3() -> (tensor<10xf32>, tensor<10xf32>) {
  %x = ingot.constant dense<[0.0, 1.0, 17.0, 19.0, -17.001, 448.0, 463.9, 480.0,
      0x7F800000, -1.0e30]> : tensor<10xf32>
  %actual = ingot.reduce_precision %x to f8E4M3FN : tensor<10xf32>
  %expected = ingot.constant dense<[0.0, 1.0, 16.0, 20.0, -18.0, 448.0, 448.0,
      448.0, 448.0, -448.0]> : tensor<10xf32>
  func.return %actual, %expected : tensor<10xf32>, tensor<10xf32>
}

// Below 2^-6 numbers are multiples of 2^-9 = 0.001953125.
func.func @test_subnormals_of_e4m3() -> (tensor<8xf32>, tensor<8xf32>) {
  %x = ingot.constant dense<[0.015625, 0.0146484375, 0.001953125, 0.0009765625,
      0.00097657, -0.0009765625, -0.0029296875, 1.0e-30]> : tensor<8xf32>
  %actual = ingot.reduce_precision %x to f8E4M3FN : tensor<8xf32>
  %expected = ingot.constant dense<[0.015625, 0.015625, 0.001953125, 0.0,
      0.001953125, -0.0, -0.00390625, 0.0]> : tensor<8xf32>
  func.return %actual, %expected : tensor<8xf32>, tensor<8xf32>
}

func.func @test_e5m2() -> (tensor<8xf32>, tensor<8xf32>) {
  %x = ingot.constant dense<[9.0, 11.0, -9.01, 57344.0, 61440.0, 0xFF800000,
      0x7FC00000, 7.62939453125e-6]> : tensor<8xf32>
  %actual = ingot.reduce_precision %x to f8E5M2 : tensor<8xf32>
  %expected = ingot.constant dense<[8.0, 12.0, -10.0, 57344.0, 57344.0, -57344.0,
      0x7FC00000, 0.0]> : tensor<8xf32>
  func.return %actual, %expected : tensor<8xf32>, tensor<8xf32>
}

func.func @test_four_bits() -> (tensor<5xf32>, tensor<5xf32>) {
  %x = ingot.constant dense<[0.24, 0.26, 2.5, 5.0, 7.0]> : tensor<5xf32>
  %actual = ingot.reduce_precision %x to f4E2M1FN : tensor<5xf32>
  %expected = ingot.constant dense<[0.0, 0.5, 2.0, 4.0, 6.0]> : tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

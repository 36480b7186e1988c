// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled=0 %s
// RUN: ingot-eval --expect --compiled %s

// There and back: ties go to the even number, and nothing is beyond the largest.
func.func @test_e4m3() -> (tensor<12xf32>, tensor<12xf32>) {
  %x = ingot.constant dense<[0.0, -0.0, 1.0, 17.0, 19.0, -17.001, 463.9, 480.0,
      0x7F800000, -1.0e30, 0.0009765625, -0.0029296875]> : tensor<12xf32>
  %narrow = ingot.cast %x : tensor<12xf32> -> tensor<12xf8E4M3FN>
  %actual = ingot.cast %narrow : tensor<12xf8E4M3FN> -> tensor<12xf32>
  %expected = ingot.constant dense<[0.0, -0.0, 1.0, 16.0, 20.0, -18.0, 448.0,
      448.0, 448.0, -448.0, 0.0, -0.00390625]> : tensor<12xf32>
  return %actual, %expected : tensor<12xf32>, tensor<12xf32>
}

func.func @test_e5m2() -> (tensor<9xf32>, tensor<9xf32>) {
  %x = ingot.constant dense<[9.0, 11.0, -9.01, 57344.0, 61440.0, 0xFF800000,
      0x7FC00000, 7.62939453125e-6, 1.52587890625e-5]> : tensor<9xf32>
  %narrow = ingot.cast %x : tensor<9xf32> -> tensor<9xf8E5M2>
  %actual = ingot.cast %narrow : tensor<9xf8E5M2> -> tensor<9xf32>
  %expected = ingot.constant dense<[8.0, 12.0, -10.0, 57344.0, 57344.0, -57344.0,
      0x7FC00000, 0.0, 1.52587890625e-5]> : tensor<9xf32>
  return %actual, %expected : tensor<9xf32>, tensor<9xf32>
}

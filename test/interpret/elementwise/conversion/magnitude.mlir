// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s
// RUN: ingot-eval --expect --compiled --emulate %s

// Without signs; infinity is above the largest number, NaN above infinity.
func.func @test_bits() -> (tensor<7xi32>, tensor<7xi32>) {
  %x = ingot.constant dense<[0x00000000, 0x80000000, 0x00000001, 0xBF800000, 0x7F7FFFFF, 0xFF800000, 0xFFC00000]> : tensor<7xf32>
  %0 = ingot.magnitude %x : (tensor<7xf32>) -> tensor<7xi32>
  %1 = ingot.constant dense<[0, 0, 1, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]> : tensor<7xi32>
  func.return %0, %1 : tensor<7xi32>, tensor<7xi32>
}

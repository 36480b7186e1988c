// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The lowest bit is the first boolean.
func.func @test_byte() -> (tensor<8xi1>, tensor<8xi1>) {
  %0 = ingot.constant dense<[137]> : tensor<1xui8>
  %actual = ingot.unpack_bits %0 : tensor<1xui8> -> tensor<8xi1>
  %expected = ingot.constant dense<[true, false, false, true, false, false, false, true]> : tensor<8xi1>
  func.return %actual, %expected : tensor<8xi1>, tensor<8xi1>
}

// What fills rows up is not read.
func.func @test_rows() -> (tensor<2x9xi1>, tensor<2x9xi1>) {
  %0 = ingot.constant dense<[[107, 255, 7], [130, 0, 1]]> : tensor<2x3xui8>
  %actual = ingot.unpack_bits %0 : tensor<2x3xui8> -> tensor<2x9xi1>
  %expected = ingot.constant dense<[[true, true, false, true, false, true, true, false, true], [false, true, false, false, false, false, false, true, false]]> : tensor<2x9xi1>
  func.return %actual, %expected : tensor<2x9xi1>, tensor<2x9xi1>
}

func.func @test_empty() -> (tensor<0x9xi1>, tensor<0x9xi1>) {
  %0 = ingot.constant dense<> : tensor<0x2xui8>
  %actual = ingot.unpack_bits %0 : tensor<0x2xui8> -> tensor<0x9xi1>
  %expected = ingot.constant dense<> : tensor<0x9xi1>
  func.return %actual, %expected : tensor<0x9xi1>, tensor<0x9xi1>
}

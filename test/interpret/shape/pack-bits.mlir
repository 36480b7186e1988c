// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The first boolean is the lowest bit.
func.func @test_byte() -> (tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[true, false, false, true, false, false, false, true]> : tensor<8xi1>
  %actual = ingot.pack_bits %0 : tensor<8xi1> -> tensor<1xui8>
  %expected = ingot.constant dense<[137]> : tensor<1xui8>
  func.return %actual, %expected : tensor<1xui8>, tensor<1xui8>
}

// Rows are packed apart, and filled up.
func.func @test_rows() -> (tensor<2x1x3xui8>, tensor<2x1x3xui8>) {
  %0 = ingot.constant dense<[[[1, 2, -3, 4, -5, 6, 7, -8, 9]], [[-1, 2, -3, -4, -5, -6, -7, 8, -9]]]> : tensor<2x1x9xi32>
  %zero = ingot.constant dense<0> : tensor<2x1x9xi32>
  %1 = ingot.compare gt %0, %zero : (tensor<2x1x9xi32>, tensor<2x1x9xi32>) -> tensor<2x1x9xi1>
  %actual = ingot.pack_bits %1 : tensor<2x1x9xi1> -> tensor<2x1x3xui8>
  %expected = ingot.constant dense<[[[107, 1, 0]], [[130, 0, 0]]]> : tensor<2x1x3xui8>
  func.return %actual, %expected : tensor<2x1x3xui8>, tensor<2x1x3xui8>
}

func.func @test_empty() -> (tensor<0x2xui8>, tensor<0x2xui8>) {
  %0 = ingot.constant dense<> : tensor<0x9xi1>
  %actual = ingot.pack_bits %0 : tensor<0x9xi1> -> tensor<0x2xui8>
  %expected = ingot.constant dense<> : tensor<0x2xui8>
  func.return %actual, %expected : tensor<0x2xui8>, tensor<0x2xui8>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect --compiled --emulate -

// 127 is the largest, so that the scale is 1; 2.5 and -3.5 are ties, which go to even.
func.func @test_int8() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<[[127.0, 2.5, -3.5], [0.4, -0.6, -126.7]]> : tensor<2x3xf32>
  %1 = ingot.compress %0 {compression = #ingot<compression int8>} : tensor<2x3xf32>
  %2 = ingot.constant dense<[[127.0, 2.0, -4.0], [0.0, -1.0, -127.0]]> : tensor<2x3xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// Elements 0 to 255 have one scale, 256 and 257 another.
func.func @test_blocks() -> (tensor<258xf32>, tensor<258xf32>) {
  %small = ingot.constant dense<0.25> : tensor<256xf32>
  %large = ingot.constant dense<[254.0, 1.1]> : tensor<2xf32>
  %0 = ingot.concat %small, %large dim = 0 : (tensor<256xf32>, tensor<2xf32>) -> tensor<258xf32>
  %1 = ingot.compress %0 {compression = #ingot<compression int8>} : tensor<258xf32>
  %want = ingot.constant dense<[254.0, 2.0]> : tensor<2xf32>
  %2 = ingot.concat %small, %want dim = 0 : (tensor<256xf32>, tensor<2xf32>) -> tensor<258xf32>
  func.return %1, %2 : tensor<258xf32>, tensor<258xf32>
}

// A block with an infinity has no numbers.
func.func @test_infinite() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0x7F800000, 1.0]> : tensor<2xf32>
  %1 = ingot.compress %0 {compression = #ingot<compression int8>} : tensor<2xf32>
  %2 = ingot.constant dense<0x7FC00000> : tensor<2xf32>
  func.return %1, %2 : tensor<2xf32>, tensor<2xf32>
}

// Signs stay; of three equal magnitudes the first two are kept.
func.func @test_topk() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[1.0, -4.0, 9.0, 4.0, -2.0, 4.0]> : tensor<6xf32>
  %1 = ingot.compress %0 {compression = #ingot<compression topk>, k = 3 : i64} : tensor<6xf32>
  %2 = ingot.constant dense<[0.0, -4.0, 9.0, 4.0, 0.0, 0.0]> : tensor<6xf32>
  func.return %1, %2 : tensor<6xf32>, tensor<6xf32>
}

// NaN is larger than all.
func.func @test_topk_nan() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[0x7F800000, 0x7FC00000, 1.0]> : tensor<3xf32>
  %1 = ingot.compress %0 {compression = #ingot<compression topk>, k = 1 : i64} : tensor<3xf32>
  %2 = ingot.constant dense<[0.0, 0x7FC00000, 0.0]> : tensor<3xf32>
  func.return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_bits() -> (tensor<6xi16>, tensor<6xi16>) {
  %x = ingot.constant dense<[0x3F807FFF, 0x3F808000, 0xBF80FFFF, 0x00000001, 0x7F800000, 0xFFFFFFFF]> : tensor<6xf32>
  %actual = ingot.lower_half %x : (tensor<6xf32>) -> tensor<6xi16>
  %expected = ingot.constant dense<[32767, -32768, -1, 1, 0, 0]> : tensor<6xi16>
  func.return %actual, %expected : tensor<6xi16>, tensor<6xi16>
}

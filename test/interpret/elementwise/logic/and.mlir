// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_i1() -> (tensor<4xi1>, tensor<4xi1>) {
  %0 = ingot.constant dense<[true, true, false, false]> : tensor<4xi1>
  %1 = ingot.constant dense<[true, false, true, false]> : tensor<4xi1>
  %actual = ingot.and %0, %1 : tensor<4xi1>
  %expected = ingot.constant dense<[true, false, false, false]> : tensor<4xi1>
  func.return %actual, %expected : tensor<4xi1>, tensor<4xi1>
}

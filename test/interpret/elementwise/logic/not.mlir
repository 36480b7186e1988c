// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_i1() -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %actual = ingot.not %0 : tensor<2xi1>
  %expected = ingot.constant dense<[false, true]> : tensor<2xi1>
  func.return %actual, %expected : tensor<2xi1>, tensor<2xi1>
}

// RUN: ingot-eval --expect %s

func.func @test_values() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[0.4, 1.6, -2.2]> : tensor<3xf32>
  %1 = ingot.constant dense<[0.0, 2.0, -2.0]> : tensor<3xf32>
  %actual = ingot.straight_through %0, %1 : tensor<3xf32>
  func.return %actual, %1 : tensor<3xf32>, tensor<3xf32>
}

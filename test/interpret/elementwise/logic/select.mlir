// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_f32() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[true, false, true]> : tensor<3xi1>
  %1 = ingot.constant dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>
  %2 = ingot.constant dense<[4.0, 0x7FC00000, 6.0]> : tensor<3xf32>
  %actual = ingot.select %0, %1, %2 : tensor<3xi1>, tensor<3xf32>
  %expected = ingot.constant dense<[1.0, 0x7FC00000, 0x7FC00000]> :
      tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_i32() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %1 = ingot.constant dense<[1, 2]> : tensor<2xi32>
  %2 = ingot.constant dense<[3, 4]> : tensor<2xi32>
  %actual = ingot.select %0, %1, %2 : tensor<2xi1>, tensor<2xi32>
  %expected = ingot.constant dense<[1, 4]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

func.func @test_i1() -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = ingot.constant dense<[true, false]> : tensor<2xi1>
  %1 = ingot.constant dense<false> : tensor<2xi1>
  %2 = ingot.constant dense<true> : tensor<2xi1>
  %actual = ingot.select %0, %1, %2 : tensor<2xi1>, tensor<2xi1>
  %expected = ingot.constant dense<[false, true]> : tensor<2xi1>
  func.return %actual, %expected : tensor<2xi1>, tensor<2xi1>
}

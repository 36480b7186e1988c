// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_barrier() -> (tensor<2xf32>, tensor<2xf32>, tensor<i64>,
      tensor<i64>) {
  %0 = ingot.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %1 = ingot.constant dense<7> : tensor<i64>
  %actual:2 = ingot.barrier %0, %1 :
      (tensor<2xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<i64>)
  func.return %actual#0, %0, %actual#1, %1 :
      tensor<2xf32>, tensor<2xf32>, tensor<i64>, tensor<i64>
}

func.func @test_fusion() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %1 = ingot.constant dense<[3.0, 5.0]> : tensor<2xf32>
  %actual:2 = ingot.fusion loop(%0, %1) :
      (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %sum = ingot.add %a, %b : tensor<2xf32>
    %product = ingot.mul %sum, %b : tensor<2xf32>
    ingot.yield %product, %sum : tensor<2xf32>, tensor<2xf32>
  }
  %product = ingot.constant dense<[12.0, 15.0]> : tensor<2xf32>
  %sum = ingot.constant dense<[4.0, 3.0]> : tensor<2xf32>
  func.return %actual#0, %product, %actual#1, %sum :
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @twice(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = ingot.add %x, %x : tensor<2xi32>
  func.return %y : tensor<2xi32>
}

func.func @test_call() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[1, -2]> : tensor<2xi32>
  %1 = func.call @twice(%0) : (tensor<2xi32>) -> tensor<2xi32>
  %actual = func.call @twice(%1) : (tensor<2xi32>) -> tensor<2xi32>
  %expected = ingot.constant dense<[4, -8]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

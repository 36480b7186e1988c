// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_middle() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32>
  %actual = ingot.slice %0 starts = [2] limits = [5] strides = [1] :
      (tensor<6xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_strided() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi64>
  %actual = ingot.slice %0 starts = [1] limits = [7] strides = [3] :
      (tensor<7xi64>) -> tensor<2xi64>
  %expected = ingot.constant dense<[1, 4]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_stride_past_limit() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0]> : tensor<5xf32>
  %actual = ingot.slice %0 starts = [0] limits = [4] strides = [3] :
      (tensor<5xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[0.0, 3.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_two_dimensions() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = ingot.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0,
      9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %actual = ingot.slice %0 starts = [1, 0] limits = [3, 4] strides = [1, 2] :
      (tensor<3x4xf32>) -> tensor<2x2xf32>
  %expected = ingot.constant dense<[[4.0, 6.0], [8.0, 10.0]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_empty() -> (tensor<0xf32>, tensor<0xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %actual = ingot.slice %0 starts = [2] limits = [2] strides = [1] :
      (tensor<4xf32>) -> tensor<0xf32>
  %expected = ingot.constant dense<> : tensor<0xf32>
  func.return %actual, %expected : tensor<0xf32>, tensor<0xf32>
}

func.func @test_whole() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %actual = ingot.slice %0 starts = [0] limits = [3] strides = [1] :
      (tensor<3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_rows() -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %1 = ingot.constant dense<[[3.0, 4.0], [5.0, 6.0]]> : tensor<2x2xf32>
  %actual = ingot.concat %0, %1 dim = 0 : (tensor<1x2xf32>, tensor<2x2xf32>) ->
      tensor<3x2xf32>
  %expected = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> :
      tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_columns() -> (tensor<2x4xi64>, tensor<2x4xi64>) {
  %0 = ingot.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %1 = ingot.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi64>
  %2 = ingot.constant dense<[[7], [8]]> : tensor<2x1xi64>
  %actual = ingot.concat %0, %1, %2 dim = 1 : (tensor<2x1xi64>,
      tensor<2x2xi64>, tensor<2x1xi64>) -> tensor<2x4xi64>
  %expected = ingot.constant dense<[[1, 3, 4, 7], [2, 5, 6, 8]]> :
      tensor<2x4xi64>
  func.return %actual, %expected : tensor<2x4xi64>, tensor<2x4xi64>
}

func.func @test_one() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.concat %0 dim = 0 : (tensor<2xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_with_empty() -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = ingot.constant dense<> : tensor<0xf32>
  %1 = ingot.constant dense<[1.0]> : tensor<1xf32>
  %2 = ingot.constant dense<> : tensor<0xf32>
  %actual = ingot.concat %0, %1, %2 dim = 0 : (tensor<0xf32>, tensor<1xf32>,
      tensor<0xf32>) -> tensor<1xf32>
  %expected = ingot.constant dense<[1.0]> : tensor<1xf32>
  func.return %actual, %expected : tensor<1xf32>, tensor<1xf32>
}

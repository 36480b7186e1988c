// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_low_and_high() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.pad %0 low = [1] high = [2] interior = [0] value = 0.5 :
      (tensor<2xf32>) -> tensor<5xf32>
  %expected = ingot.constant dense<[0.5, 1.0, 2.0, 0.5, 0.5]> : tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_interior() -> (tensor<7xf32>, tensor<7xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %actual = ingot.pad %0 low = [0] high = [0] interior = [2] value = -1.0 :
      (tensor<3xf32>) -> tensor<7xf32>
  %expected = ingot.constant dense<[1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 3.0]> :
      tensor<7xf32>
  func.return %actual, %expected : tensor<7xf32>, tensor<7xf32>
}

func.func @test_all() -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %actual = ingot.pad %0 low = [1, 0] high = [0, 1] interior = [0, 1] value =
      9.0 : (tensor<2x2xf32>) -> tensor<3x4xf32>
  %expected = ingot.constant dense<[[9.0, 9.0, 9.0, 9.0], [1.0, 9.0, 2.0, 9.0],
      [3.0, 9.0, 4.0, 9.0]]> : tensor<3x4xf32>
  func.return %actual, %expected : tensor<3x4xf32>, tensor<3x4xf32>
}

func.func @test_integer() -> (tensor<2x3xi64>, tensor<2x3xi64>) {
  %0 = ingot.constant dense<[[1, 2]]> : tensor<1x2xi64>
  %actual = ingot.pad %0 low = [1, 1] high = [0, 0] interior = [0, 0] value =
      -7.0 : (tensor<1x2xi64>) -> tensor<2x3xi64>
  %expected = ingot.constant dense<[[-7, -7, -7], [-7, 1, 2]]> : tensor<2x3xi64>
  func.return %actual, %expected : tensor<2x3xi64>, tensor<2x3xi64>
}

func.func @test_infinity() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0]> : tensor<1xf32>
  %actual = ingot.pad %0 low = [1] high = [0] interior = [0] value =
      0xFFF0000000000000 : (tensor<1xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[0xFF800000, 1.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_nothing() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.pad %0 low = [0] high = [0] interior = [0] value = 5.0 :
      (tensor<2xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_of_empty() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<> : tensor<0xf32>
  %actual = ingot.pad %0 low = [1] high = [1] interior = [1] value = 3.0 :
      (tensor<0xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[3.0, 3.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_boolean() -> (tensor<3xi1>, tensor<3xi1>) {
  %0 = ingot.constant dense<false> : tensor<2xi1>
  %actual = ingot.pad %0 low = [1] high = [0] interior = [0] value = 1.0 :
      (tensor<2xi1>) -> tensor<3xi1>
  %expected = ingot.constant dense<[true, false, false]> : tensor<3xi1>
  func.return %actual, %expected : tensor<3xi1>, tensor<3xi1>
}

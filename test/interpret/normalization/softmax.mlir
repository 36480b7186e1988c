// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

func.func @test_last() -> (tensor<2x3xf32>, tensor<2x3xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[0.068, 2.719, 2.449], [-1.021, -0.596, -1.055]]>
      : tensor<2x3xf32>
  %actual = ingot.softmax %0 dim = 1 : tensor<2x3xf32>
  %expected = ingot.constant dense<[[0.038485352, 0.5452681, 0.4162465],
      [0.28602794, 0.4375056, 0.27646646]]> : tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_first() -> (tensor<3x2xf32>, tensor<3x2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[1.139, -0.112], [1.494, -3.695], [3.133,
      -0.193]]> : tensor<3x2xf32>
  %actual = ingot.softmax %0 dim = 0 : tensor<3x2xf32>
  %expected = ingot.constant dense<[[0.1023433, 0.51282424], [0.14596003,
      0.014252512], [0.75169665, 0.47292328]]> : tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_middle() -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[1.361, -0.273], [-0.758, 0.926], [1.649,
      -0.405]], [[-0.306, 1.371], [-1.741, -3.029], [0.79, -1.341]]]> :
      tensor<2x3x2xf32>
  %actual = ingot.softmax %0 dim = 1 : tensor<2x3x2xf32>
  %expected = ingot.constant dense<[[[0.40751308, 0.19256175], [0.048963398,
      0.6386885], [0.54352355, 0.16874975]], [[0.23639049, 0.927058],
      [0.056288205, 0.011381806], [0.7073213, 0.061560232]]]> :
      tensor<2x3x2xf32>
  func.return %actual, %expected : tensor<2x3x2xf32>, tensor<2x3x2xf32>
}

func.func @test_f64() -> (tensor<4xf64>, tensor<4xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[-3.841, -1.628, -0.935, -2.386]> : tensor<4xf64>
  %actual = ingot.softmax %0 dim = 0 : tensor<4xf64>
  %expected = ingot.constant dense<[0.030570656856070286, 0.27951071344787864,
      0.558939155863622, 0.13097947383242914]> : tensor<4xf64>
  func.return %actual, %expected : tensor<4xf64>, tensor<4xf64>
}

func.func @test_one_class() -> (tensor<2x1xf32>, tensor<2x1xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[5.0], [-3.0]]> : tensor<2x1xf32>
  %actual = ingot.softmax %0 dim = 1 : tensor<2x1xf32>
  %expected = ingot.constant dense<[[1.0], [1.0]]> : tensor<2x1xf32>
  func.return %actual, %expected : tensor<2x1xf32>, tensor<2x1xf32>
}

func.func @test_large() -> (tensor<3xf32>, tensor<3xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[1000.0, 0.0, -1000.0]> : tensor<3xf32>
  %actual = ingot.softmax %0 dim = 0 : tensor<3xf32>
  %expected = ingot.constant dense<[1.0, 0.0, 0.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_minus_infinity() -> (tensor<3xf32>, tensor<3xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, 0xFF800000, 0.0]> : tensor<3xf32>
  %actual = ingot.softmax %0 dim = 0 : tensor<3xf32>
  %expected = ingot.constant dense<[0.5, 0.0, 0.5]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_nan() -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[1.0, 0x7FC00000], [0.0, 0.0]]> : tensor<2x2xf32>
  %actual = ingot.softmax %0 dim = 1 : tensor<2x2xf32>
  %expected = ingot.constant dense<[[0x7FC00000, 0x7FC00000], [0.5, 0.5]]> :
      tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_all_minus_infinity() -> (tensor<2xf32>, tensor<2xf32>)
      attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0xFF800000, 0xFF800000]> : tensor<2xf32>
  %actual = ingot.softmax %0 dim = 0 : tensor<2xf32>
  %expected = ingot.constant dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

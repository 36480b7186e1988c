// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

func.func @test_last() -> (tensor<2x3xf32>, tensor<2x3xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[-2.985, 0.073, 1.794], [-0.466, -1.487, 0.77]]> :
      tensor<2x3xf32>
  %actual = ingot.log_softmax %0 dim = 1 : tensor<2x3xf32>
  %expected = ingot.constant dense<[[-4.9506745, -1.8926747, -0.17167473],
      [-1.5690435, -2.5900435, -0.33304358]]> : tensor<2x3xf32>
  func.return %actual, %expected : tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @test_first() -> (tensor<3x2xf32>, tensor<3x2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[1.434, -0.6], [1.089, 2.086], [-0.414, -1.627]]>
      : tensor<3x2xf32>
  %actual = ingot.log_softmax %0 dim = 0 : tensor<3x2xf32>
  %expected = ingot.constant dense<[[-0.62367505, -2.774521], [-0.9686751,
      -0.08852101], [-2.4716752, -3.801521]]> : tensor<3x2xf32>
  func.return %actual, %expected : tensor<3x2xf32>, tensor<3x2xf32>
}

func.func @test_middle() -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[0.695, 0.495], [2.198, -2.569], [-1.323,
      -1.676]], [[-3.468, 0.253], [1.056, -1.478], [2.771, 1.644]]]> :
      tensor<2x3x2xf32>
  %actual = ingot.log_softmax %0 dim = 1 : tensor<2x3x2xf32>
  %expected = ingot.constant dense<[[[-1.7277676, -0.14907843], [-0.22476754,
      -3.2130785], [-3.7457676, -2.3200784]], [[-6.4061365, -1.6478841],
      [-1.8821365, -3.378884], [-0.16713645, -0.25688413]]]> : tensor<2x3x2xf32>
  func.return %actual, %expected : tensor<2x3x2xf32>, tensor<2x3x2xf32>
}

func.func @test_f64() -> (tensor<4xf64>, tensor<4xf64>) attributes
      {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[1.255, 0.803, 1.911, -2.664]> : tensor<4xf64>
  %actual = ingot.log_softmax %0 dim = 0 : tensor<4xf64>
  %expected = ingot.constant dense<[-1.276279625328105, -1.728279625328105,
      -0.6202796253281049, -5.195279625328105]> : tensor<4xf64>
  func.return %actual, %expected : tensor<4xf64>, tensor<4xf64>
}

func.func @test_one_class() -> (tensor<2x1xf32>, tensor<2x1xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[5.0], [-3.0]]> : tensor<2x1xf32>
  %actual = ingot.log_softmax %0 dim = 1 : tensor<2x1xf32>
  %expected = ingot.constant dense<[[0.0], [0.0]]> : tensor<2x1xf32>
  func.return %actual, %expected : tensor<2x1xf32>, tensor<2x1xf32>
}

func.func @test_large() -> (tensor<3xf32>, tensor<3xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[1000.0, 0.0, -1000.0]> : tensor<3xf32>
  %actual = ingot.log_softmax %0 dim = 0 : tensor<3xf32>
  %expected = ingot.constant dense<[0.0, -1000.0, -2000.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_minus_infinity() -> (tensor<3xf32>, tensor<3xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.0, 0xFF800000, 0.0]> : tensor<3xf32>
  %actual = ingot.log_softmax %0 dim = 0 : tensor<3xf32>
  %expected = ingot.constant dense<[-0.6931472, 0xFF800000, -0.6931472]> :
      tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_nan() -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[1.0, 0x7FC00000], [0.0, 0.0]]> : tensor<2x2xf32>
  %actual = ingot.log_softmax %0 dim = 1 : tensor<2x2xf32>
  %expected = ingot.constant dense<[[0x7FC00000, 0x7FC00000], [-0.6931472,
      -0.6931472]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_all_minus_infinity() -> (tensor<2xf32>, tensor<2xf32>)
      attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0xFF800000, 0xFF800000]> : tensor<2xf32>
  %actual = ingot.log_softmax %0 dim = 0 : tensor<2xf32>
  %expected = ingot.constant dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

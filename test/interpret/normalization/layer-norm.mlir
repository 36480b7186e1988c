// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// The results are also the mean and 1 / sqrt(variance + epsilon) of each row.

func.func @test_last() -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance
      = 1.0e-6} {
  %0 = ingot.constant dense<[[1.228, 1.206, -3.535, 0.694], [-0.501, 1.563,
      -0.878, -0.036]]> : tensor<2x4xf32>
  %1 = ingot.constant dense<[0.686, -1.753, 1.197, -0.21]> : tensor<4xf32>
  %2 = ingot.constant dense<[0.985, -1.044, 2.172, 1.21]> : tensor<4xf32>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 1 {epsilon = 0.001 : f64} :
      (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>,
      tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[1.442495, -2.193738, 0.110934295,
      1.1261915], [0.5884434, -3.918321, 0.9951691, 1.2264718]]> :
      tensor<2x4xf32>
  %expected1 = ingot.constant dense<[-0.10175, 0.037]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[0.5015246, 1.0744811]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_no_bias() -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance
      = 1.0e-6} {
  %0 = ingot.constant dense<[[-0.356, 1.264, 2.52, 3.582], [-3.147, 1.766,
      0.93, -0.188]]> : tensor<2x4xf32>
  %1 = ingot.constant dense<[-2.013, 2.514, -2.523, 1.134]> : tensor<4xf32>
  %actual:3 = ingot.layer_norm %0, %1 dim = 1 {epsilon = 0.001 : f64} :
      (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>,
      tensor<2xf32>)
  %expected0 = ingot.constant dense<[[2.8905444, -0.8363578, -1.3187361,
      1.4128879], [3.234597, 2.6041741, -1.4789345, -0.017232025]]> :
      tensor<2x4xf32>
  %expected1 = ingot.constant dense<[1.7525, -0.15975]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[0.6810237, 0.5379041]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_two_dimensions() -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[2.604, -3.199, -0.605], [-2.618, 0.488, 3.029]],
      [[4.047, -3.556, -1.15], [1.407, 3.159, 0.842]]]> : tensor<2x2x3xf32>
  %1 = ingot.constant dense<[[-1.492, 0.594, -0.033], [-0.407, -1.469, 0.775]]>
      : tensor<2x3xf32>
  %2 = ingot.constant dense<[[0.616, -0.186, -0.443], [-2.57, -0.972, 2.413]]>
      : tensor<2x3xf32>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 1 {epsilon = 0.1 : f64} :
      (tensor<2x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) ->
      (tensor<2x2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[[-1.0418869, -0.96905816, -0.4353346],
      [-2.1324587, -1.302976, 3.412063]], [[-1.2686089, -1.187984,
      -0.41814086], [-2.667198, -2.321418, 2.4281855]]]> : tensor<2x2x3xf32>
  %expected1 = ingot.constant dense<[-0.050166667, 0.7915]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[0.41865656, 0.3880027]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_outer_dimensions() -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>,
      tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
      attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[-0.381, -2.879], [2.669, 1.061]], [[4.216,
      0.125], [-0.923, -2.895]]]> : tensor<2x2x2xf32>
  %1 = ingot.constant dense<[2.648, 5.139]> : tensor<2xf32>
  %2 = ingot.constant dense<[-1.642, -1.294]> : tensor<2xf32>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 2 {epsilon = 0.01 : f64} :
      (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x2xf32>,
      tensor<2x2xf32>, tensor<2x2xf32>)
  %expected0 = ingot.constant dense<[[[0.9975534, -6.416608], [0.98575246,
      -6.3937054]], [[1.0028412, -6.42687], [0.9924855, -6.406772]]]> :
      tensor<2x2x2xf32>
  %expected1 = ingot.constant dense<[[-1.63, 1.865], [2.1705, -1.909]]> :
      tensor<2x2xf32>
  %expected2 = ingot.constant dense<[[0.79808664, 1.2342707], [0.48829487,
      1.0090227]]> : tensor<2x2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x2xf32>,
      tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_all() -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>,
      tensor<f32>, tensor<f32>, tensor<f32>) attributes {ingot.tolerance =
      1.0e-6} {
  %0 = ingot.constant dense<[1.192, -1.661, -0.541, -0.7]> : tensor<4xf32>
  %1 = ingot.constant dense<[0.384, 2.19, 0.044, 1.838]> : tensor<4xf32>
  %2 = ingot.constant dense<[-0.84, 0.656, -4.276, -2.9]> : tensor<4xf32>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 0 {epsilon = 0.001 : f64} :
      (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>,
      tensor<f32>, tensor<f32>)
  %expected0 = ingot.constant dense<[-0.23564398, -1.9692093, -4.2808533,
      -3.3867352]> : tensor<4xf32>
  %expected1 = ingot.constant dense<-0.4275> : tensor<f32>
  %expected2 = ingot.constant dense<0.9718085> : tensor<f32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>,
      tensor<f32>, tensor<f32>
}

func.func @test_f64() -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) attributes {ingot.tolerance
      = 1.0e-13} {
  %0 = ingot.constant dense<[[1.592, -1.18, 1.16], [1.085, 2.645, 1.624]]> :
      tensor<2x3xf64>
  %1 = ingot.constant dense<[2.034, -0.223, -1.397]> : tensor<3xf64>
  %2 = ingot.constant dense<[-1.463, -0.976, -2.26]> : tensor<3xf64>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 1 {epsilon = 0.001 : f64} :
      (tensor<2x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3xf64>,
      tensor<2xf64>, tensor<2xf64>)
  %expected0 = ingot.constant dense<[[0.3202742061613275, -0.6640604940047031,
      -2.989372606688491], [-3.660215145532583, -1.2722116016308207,
      -1.9134605824131858]]> : tensor<2x3xf64>
  %expected1 = ingot.constant dense<[0.524, 1.7846666666666666]> : tensor<2xf64>
  %expected2 = ingot.constant dense<[0.8209107191606582, 1.5439401158386863]> :
      tensor<2xf64>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}

func.func @test_one_element() -> (tensor<2x1xf32>, tensor<2x1xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[3.0], [-2.0]]> : tensor<2x1xf32>
  %1 = ingot.constant dense<[2.0]> : tensor<1xf32>
  %2 = ingot.constant dense<[0.5]> : tensor<1xf32>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 1 {epsilon = 0.25 : f64} :
      (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<2x1xf32>,
      tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[0.5], [0.5]]> : tensor<2x1xf32>
  %expected1 = ingot.constant dense<[3.0, -2.0]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[2.0, 2.0]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_far_from_zero() -> (tensor<1x4xf32>, tensor<1x4xf32>,
      tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) attributes
      {ingot.tolerance = 1.0e-5} {
  %0 = ingot.constant dense<[[10000.0, 10001.0, 10002.0, 10003.0]]> :
      tensor<1x4xf32>
  %1 = ingot.constant dense<[1.0, 1.0, 1.0, 1.0]> : tensor<4xf32>
  %2 = ingot.constant dense<[0.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
  %actual:3 = ingot.layer_norm %0, %1, %2 dim = 1 {epsilon = 0.001 : f64} :
      (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4xf32>,
      tensor<1xf32>, tensor<1xf32>)
  %expected0 = ingot.constant dense<[[-1.3411045, -0.4470348, 0.4470348,
      1.3411045]]> : tensor<1x4xf32>
  %expected1 = ingot.constant dense<[10001.5]> : tensor<1xf32>
  %expected2 = ingot.constant dense<[0.8940696]> : tensor<1xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2 : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1xf32>,
      tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

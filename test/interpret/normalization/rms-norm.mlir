// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// The second result is 1 / sqrt(mean of squares + epsilon) of each row.

func.func @test_last() -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>,
      tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[-1.095, -0.185, 0.503, -0.678], [-3.847, -0.145,
      0.451, 2.169]]> : tensor<2x4xf32>
  %1 = ingot.constant dense<[1.156, -1.287, -1.448, 4.021]> : tensor<4xf32>
  %actual:2 = ingot.rms_norm %0, %1 dim = 1 {epsilon = 0.001 : f64} :
      (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[-1.8129716, 0.34101173, -1.0431712,
      -3.9046562], [-2.0022583, 0.08402076, -0.29402563, 3.9267542]]> :
      tensor<2x4xf32>
  %expected1 = ingot.constant dense<[1.4322507, 0.45023587]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x4xf32>,
      tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_two_dimensions() -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>,
      tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[1.513, 3.663, 4.259], [-1.636, 0.771, 0.916]],
      [[1.119, 1.084, 0.404], [0.348, -3.005, -0.331]]]> : tensor<2x2x3xf32>
  %1 = ingot.constant dense<[[-1.495, 0.252, -0.935], [1.237, 1.638, 0.617]]> :
      tensor<2x3xf32>
  %actual:2 = ingot.rms_norm %0, %1 dim = 1 {epsilon = 0.1 : f64} :
      (tensor<2x2x3xf32>, tensor<2x3xf32>) -> (tensor<2x2x3xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[[-0.89229983, 0.3641398, -1.5709051],
      [-0.7983323, 0.49819455, 0.22295198]], [[-1.1612952, 0.18962744,
      -0.2622191], [0.29882732, -3.4168801, -0.14177006]]]> : tensor<2x2x3xf32>
  %expected1 = ingot.constant dense<[0.39448518, 0.6941788]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x2x3xf32>,
      tensor<2x2x3xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_f64() -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xf64>,
      tensor<2xf64>) attributes {ingot.tolerance = 1.0e-13} {
  %0 = ingot.constant dense<[[0.632, 0.186, -0.896], [-0.329, -0.991, 0.776]]>
      : tensor<2x3xf64>
  %1 = ingot.constant dense<[0.028, 1.163, -2.657]> : tensor<3xf64>
  %actual:2 = ingot.rms_norm %0, %1 dim = 1 {epsilon = 0.001 : f64} :
      (tensor<2x3xf64>, tensor<3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>)
  %expected0 = ingot.constant dense<[[0.02752666615691037, 0.33648922749381427,
      3.7032076951347266], [-0.01225366253554178, -1.5330818978588334,
      -2.7426176219041656]]> : tensor<2x3xf64>
  %expected1 = ingot.constant dense<[1.55553041121781, 1.3301848171452213]> :
      tensor<2xf64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x3xf64>,
      tensor<2x3xf64>, tensor<2xf64>, tensor<2xf64>
}

func.func @test_zeros() -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1xf32>,
      tensor<1xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[0.0, 0.0]]> : tensor<1x2xf32>
  %1 = ingot.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %actual:2 = ingot.rms_norm %0, %1 dim = 1 {epsilon = 0.25 : f64} :
      (tensor<1x2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<1xf32>)
  %expected0 = ingot.constant dense<[[0.0, 0.0]]> : tensor<1x2xf32>
  %expected1 = ingot.constant dense<[2.0]> : tensor<1xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x2xf32>,
      tensor<1x2xf32>, tensor<1xf32>, tensor<1xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// Results: normalized, new running mean and variance, the batch's mean and rstd.

func.func @test_images() -> (tensor<2x2x2x2xf32>, tensor<2x2x2x2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[[1.776, -1.525], [-1.469, -0.395]], [[-1.127,
      0.582], [-1.148, -2.139]]], [[[-1.692, 2.624], [0.089, -2.335]], [[0.017,
      -3.112], [3.579, -3.049]]]]> : tensor<2x2x2x2xf32>
  %1 = ingot.constant dense<[0.958, 1.087]> : tensor<2xf32>
  %2 = ingot.constant dense<[-2.9, 0.601]> : tensor<2xf32>
  %3 = ingot.constant dense<[1.994, 0.935]> : tensor<2xf32>
  %4 = ingot.constant dense<[0.522, 1.898]> : tensor<2xf32>
  %actual:5 = ingot.batch_norm %0, %1, %2, %3, %4 {epsilon = 0.01 : f64,
      momentum = 0.75 : f64} : (tensor<2x2x2x2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x2x2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[[[-1.6629643, -3.5694504], [-3.5371077,
      -2.916821]], [[0.4290338, 1.3267514], [0.41800272, -0.10255788]]],
      [[[-3.665901, -1.1732037], [-2.6372879, -4.0372643]], [[1.0299635,
      -0.6136633], [2.90104, -0.58057016]]]]> : tensor<2x2x2x2xf32>
  %expected1 = ingot.constant dense<[1.4040313, 0.5013437]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[1.0768517, 2.4915423]> : tensor<2xf32>
  %expected3 = ingot.constant dense<[-0.365875, -0.799625]> : tensor<2xf32>
  %expected4 = ingot.constant dense<[0.6028685, 0.48324582]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2, %actual#3, %expected3, %actual#4, %expected4 :
      tensor<2x2x2x2xf32>, tensor<2x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>
}

func.func @test_unbiased() -> (tensor<3x2x2xf32>, tensor<3x2x2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[0.322, 0.673], [-0.253, 1.264]], [[-1.883,
      1.584], [-1.011, -2.181]], [[0.73, 3.386], [1.923, -1.031]]]> :
      tensor<3x2x2xf32>
  %1 = ingot.constant dense<[1.396, -0.908]> : tensor<2xf32>
  %2 = ingot.constant dense<[-0.248, 0.179]> : tensor<2xf32>
  %3 = ingot.constant dense<[-4.634, 0.383]> : tensor<2xf32>
  %4 = ingot.constant dense<[2.059, 1.395]> : tensor<2xf32>
  %actual:5 = ingot.batch_norm %0, %1, %2, %3, %4 {epsilon = 0.01 : f64,
      momentum = 0.75 : f64, unbiased} : (tensor<3x2x2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2x2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[[-0.6745052, -0.36262327], [0.2035208,
      -0.7711009]], [[-2.6337633, 0.44684803], [0.6905104, 1.4421962]],
      [[-0.31197578, 2.0480196], [-1.1944863, 0.7033597]]]> : tensor<3x2x2xf32>
  %expected1 = ingot.constant dense<[-3.275, 0.23354167]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[2.2817514, 1.6424779]> : tensor<2xf32>
  %expected3 = ingot.constant dense<[0.802, -0.21483333]> : tensor<2xf32>
  %expected4 = ingot.constant dense<[0.63649887, 0.7075622]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2, %actual#3, %expected3, %actual#4, %expected4 :
      tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>
}

func.func @test_rows() -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) attributes {ingot.tolerance
      = 1.0e-6} {
  %0 = ingot.constant dense<[[-2.949, -3.033, -1.887], [1.651, 3.332, -0.05],
      [2.184, -0.528, -3.824], [0.3, 0.891, -0.857]]> : tensor<4x3xf32>
  %1 = ingot.constant dense<[0.604, 1.145, -1.727]> : tensor<3xf32>
  %2 = ingot.constant dense<[-2.954, -0.443, -0.422]> : tensor<3xf32>
  %3 = ingot.constant dense<[-0.705, 1.974, 3.451]> : tensor<3xf32>
  %4 = ingot.constant dense<[0.833, 1.398, 1.882]> : tensor<3xf32>
  %actual:5 = ingot.batch_norm %0, %1, %2, %3, %4 {epsilon = 0.01 : f64,
      momentum = 0.75 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %expected0 = ingot.constant dense<[[-3.9350424, -2.0298908, -0.13827595],
      [-2.5445647, 1.1280143, -2.380001], [-2.3834507, -0.7870703, 2.225481],
      [-2.9529421, -0.0830534, -1.395204]]> : tensor<4x3xf32>
  %expected1 = ingot.constant dense<[-0.454625, 1.521875, 2.174625]> :
      tensor<3xf32>
  %expected2 = ingot.constant dense<[1.6204131, 2.377526, 1.9097009]> :
      tensor<3xf32>
  %expected3 = ingot.constant dense<[0.2965, 0.1655, -1.6545]> : tensor<3xf32>
  %expected4 = ingot.constant dense<[0.50045985, 0.43330646, 0.70661175]> :
      tensor<3xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2, %actual#3, %expected3, %actual#4, %expected4 :
      tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>
}

func.func @test_f64() -> (tensor<2x2x3xf64>, tensor<2x2x3xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) attributes {ingot.tolerance
      = 1.0e-13} {
  %0 = ingot.constant dense<[[[1.426, 2.095, -0.778], [1.48, 4.049, 1.607]],
      [[-1.24, 1.215, 2.525], [0.738, -1.127, 3.086]]]> : tensor<2x2x3xf64>
  %1 = ingot.constant dense<[-2.5, 1.007]> : tensor<2xf64>
  %2 = ingot.constant dense<[-0.032, -2.387]> : tensor<2xf64>
  %3 = ingot.constant dense<[2.439, 0.696]> : tensor<2xf64>
  %4 = ingot.constant dense<[2.334, 1.203]> : tensor<2xf64>
  %actual:5 = ingot.batch_norm %0, %1, %2, %3, %4 {epsilon = 0.01 : f64,
      momentum = 0.75 : f64, unbiased} : (tensor<2x2x3xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x3xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  %expected0 = ingot.constant dense<[[[-1.0123707108985989,
      -2.2001787500012187, 2.900826476219745], [-2.4835947715618585,
      -0.9212528944847507, -2.4063594977631846]], [[3.721106467348908,
      -0.6377406716599555, -2.9636428110088806], [-2.934843379110015,
      -4.069046415602348, -1.5069030414778435]]]> : tensor<2x2x3xf64>
  %expected1 = ingot.constant dense<[2.0477083333333335, 0.9317083333333334]> :
      tensor<2xf64>
  %expected2 = ingot.constant dense<[2.342286341666667, 1.7217885416666667]> :
      tensor<2xf64>
  %expected3 = ingot.constant dense<[0.8738333333333334, 1.6388333333333334]> :
      tensor<2xf64>
  %expected4 = ingot.constant dense<[0.7101991265187557, 0.6039242921492362]> :
      tensor<2xf64>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2, %actual#3, %expected3, %actual#4, %expected4 :
      tensor<2x2x3xf64>, tensor<2x2x3xf64>, tensor<2xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>
}

func.func @test_one_row() -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes
      {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[-0.863, -3.806, -1.378], [0.527, 1.271,
      0.331]]]> : tensor<1x2x3xf32>
  %1 = ingot.constant dense<[0.09, 0.94]> : tensor<2xf32>
  %2 = ingot.constant dense<[-0.422, 2.354]> : tensor<2xf32>
  %3 = ingot.constant dense<[0.297, 0.588]> : tensor<2xf32>
  %4 = ingot.constant dense<[1.082, 2.114]> : tensor<2xf32>
  %actual:5 = ingot.batch_norm %0, %1, %2, %3, %4 {epsilon = 0.01 : f64,
      momentum = 0.75 : f64} : (tensor<1x2x3xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x3xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[[[-0.34140566, -0.54717994, -0.3774144],
      [1.9423059, 3.619133, 1.5005611]]]> : tensor<1x2x3xf32>
  %expected1 = ingot.constant dense<[-0.28116667, 0.61841667]> : tensor<2xf32>
  %expected2 = ingot.constant dense<[1.2232127, 1.6264876]> : tensor<2xf32>
  %expected3 = ingot.constant dense<[-2.0156667, 0.70966667]> : tensor<2xf32>
  %expected4 = ingot.constant dense<[0.7768878, 2.3976595]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1, %actual#2,
      %expected2, %actual#3, %expected3, %actual#4, %expected4 :
      tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>
}

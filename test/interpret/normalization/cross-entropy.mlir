// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// The second result is the logarithm of the sum of exponentials.

func.func @test_rows() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[-1.418, 3.057, 0.671, -0.565], [0.683, -0.963,
      0.557, -1.332], [0.552, -3.155, 2.662, -1.026]]> : tensor<3x4xf32>
  %1 = ingot.constant dense<[0, 3, 1]> : tensor<3xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 : (tensor<3x4xf32>,
      tensor<3xi64>) -> (tensor<3xf32>, tensor<3xf32>)
  %expected0 = ingot.constant dense<[4.5973206, 2.806976, 5.9560976]> :
      tensor<3xf32>
  %expected1 = ingot.constant dense<[3.1793206, 1.4749761, 2.8010979]> :
      tensor<3xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

func.func @test_ignored() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[-3.162, -0.448], [-0.742, 0.305], [-2.291,
      0.795]]> : tensor<3x2xf32>
  %1 = ingot.constant dense<[1, -100, 0]> : tensor<3xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 : (tensor<3x2xf32>,
      tensor<3xi64>) -> (tensor<3xf32>, tensor<3xf32>)
  %expected0 = ingot.constant dense<[0.06416769, 0.0, 3.1306715]> :
      tensor<3xf32>
  %expected1 = ingot.constant dense<[-0.3838323, 0.60583705, 0.83967155]> :
      tensor<3xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

func.func @test_ignore_index() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[7.247, -2.557, 0.675], [-0.621, 0.385, -3.624]]>
      : tensor<2x3xf32>
  %1 = ingot.constant dense<[2, 1]> : tensor<2xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 {ignore_index = 2 : i64} :
      (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[0.0, 0.32485524]> : tensor<2xf32>
  %expected1 = ingot.constant dense<[7.248453, 0.70985526]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_images() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>,
      tensor<2x2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[[-2.302, 0.919], [-0.077, 3.27], [-1.41, 0.349]],
      [[5.826, -1.531], [-1.808, -0.07], [-0.089, 1.688]]]> : tensor<2x3x2xf32>
  %1 = ingot.constant dense<[[0, 2], [1, -100]]> : tensor<2x2xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 : (tensor<2x3x2xf32>,
      tensor<2x2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %expected0 = ingot.constant dense<[[2.541089, 3.0600257], [7.6371775, 0.0]]>
      : tensor<2x2xf32>
  %expected1 = ingot.constant dense<[[0.23908907, 3.4090257], [5.8291774,
      1.8805889]]> : tensor<2x2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x2xf32>,
      tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_first() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[0.259, -1.513], [0.423, 5.277], [2.544, -5.564]]>
      : tensor<3x2xf32>
  %1 = ingot.constant dense<[2, 0]> : tensor<2xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 0 : (tensor<3x2xf32>,
      tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[0.20023164, 6.791144]> : tensor<2xf32>
  %expected1 = ingot.constant dense<[2.7442317, 5.278144]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_one_sample() -> (tensor<f32>, tensor<f32>, tensor<f32>,
      tensor<f32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[-0.284, -1.75, 1.245, -0.347]> : tensor<4xf32>
  %1 = ingot.constant dense<2> : tensor<i64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 0 : (tensor<4xf32>, tensor<i64>)
      -> (tensor<f32>, tensor<f32>)
  %expected0 = ingot.constant dense<0.38547128> : tensor<f32>
  %expected1 = ingot.constant dense<1.6304713> : tensor<f32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<f32>,
      tensor<f32>, tensor<f32>, tensor<f32>
}

func.func @test_large() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[1000.0, 0.0], [-1000.0, 1000.0]]> :
      tensor<2x2xf32>
  %1 = ingot.constant dense<[1, 0]> : tensor<2xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 : (tensor<2x2xf32>,
      tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[1000.0, 2000.0]> : tensor<2xf32>
  %expected1 = ingot.constant dense<[1000.0, 1000.0]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_f64() -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>,
      tensor<2xf64>) attributes {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[[3.865, 1.862, 1.781], [0.373, -0.081, 0.68]]> :
      tensor<2x3xf64>
  %1 = ingot.constant dense<[2, 1]> : tensor<2xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 : (tensor<2x3xf64>,
      tensor<2xi64>) -> (tensor<2xf64>, tensor<2xf64>)
  %expected0 = ingot.constant dense<[2.314604747432238, 1.5507517927911265]> :
      tensor<2xf64>
  %expected1 = ingot.constant dense<[4.095604747432238, 1.4697517927911266]> :
      tensor<2xf64>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2xf64>,
      tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}

func.func @test_all_ignored() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[2.591, 1.069], [-0.702, 2.55]]> : tensor<2x2xf32>
  %1 = ingot.constant dense<-100> : tensor<2xi64>
  %actual:2 = ingot.cross_entropy %0, %1 dim = 1 : (tensor<2x2xf32>,
      tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  %expected0 = ingot.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %expected1 = ingot.constant dense<[2.788436, 2.5879667]> : tensor<2xf32>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// The second and the third result are the logarithms of the sums of
// exponentials of both operands, divided by the temperature.

func.func @test_rows() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[4.082, -5.111, 0.836, -1.136], [-0.905, -0.431, -4.04, -0.464], [-1.73, 6.646, 0.452, -0.705]]> : tensor<3x4xf32>
  %y = ingot.constant dense<[[-0.563, -1.336, -2.11, -0.782], [0.964, -0.477, 1.916, -0.4], [0.049, 3.092, 1.09, -1.01]]> : tensor<3x4xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 4.0 : tensor<3x4xf32> -> tensor<3xf32>
  %losses = ingot.constant dense<[0.28758316, 0.18035912, 0.1504574]> : tensor<3xf32>
  %lse = ingot.constant dense<[1.61709984, 1.08182719, 2.0635828]> : tensor<3xf32>
  %targets_lse = ingot.constant dense<[1.09769918, 1.54317064, 1.66177992]> : tensor<3xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

func.func @test_plain() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[-0.366, 1.081, 3.87, -0.539, -0.487], [2.005, -1.773, -0.583, 1.765, 1.161]]> : tensor<2x5xf32>
  %y = ingot.constant dense<[[0.183, 1.34, -5.656, 2.043, -1.919], [-3.337, 0.553, 1.401, -0.89, -2.153]]> : tensor<2x5xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 1.0 : tensor<2x5xf32> -> tensor<2xf32>
  %losses = ingot.constant dense<[3.0651074, 2.63449141]> : tensor<2xf32>
  %lse = ingot.constant dense<[3.9661571, 2.84426009]> : tensor<2xf32>
  %targets_lse = ingot.constant dense<[2.55597255, 1.85003659]> : tensor<2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// The same operands have no divergence.
func.func @test_equal() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[0.052, -0.105, 2.811], [1.495, 0.388, 2.223]]> : tensor<2x3xf32>
  %y = ingot.constant dense<[[0.052, -0.105, 2.811], [1.495, 0.388, 2.223]]> : tensor<2x3xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 0.5 : tensor<2x3xf32> -> tensor<2xf32>
  %losses = ingot.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %lse = ingot.constant dense<[5.62892228, 4.67603467]> : tensor<2xf32>
  %targets_lse = ingot.constant dense<[5.62892228, 4.67603467]> : tensor<2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// Of images the classes are in the middle.
func.func @test_images() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[[-0.411, -1.852], [1.168, 1.165], [-0.43, -1.566]], [[0.458, -4.988], [1.38, 0.983], [-3.278, 0.123]]]> : tensor<2x3x2xf32>
  %y = ingot.constant dense<[[[-1.928, 1.514], [-4.068, -1.829], [1.419, 2.313]], [[-4.316, -0.996], [0.656, -1.218], [3.181, -2.382]]]> : tensor<2x3x2xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 2.0 : tensor<2x3x2xf32> -> tensor<2x2xf32>
  %losses = ingot.constant dense<[[0.78393725, 0.83235874], [1.72958442, 0.80799957]]> : tensor<2x2xf32>
  %lse = ingot.constant dense<[[1.2278783, 0.97217076], [1.23699115, 1.02273003]]> : tensor<2x2xf32>
  %targets_lse = ingot.constant dense<[[0.93418965, 1.74245997], [1.85785091, 0.37538838]]> : tensor<2x2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_first() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[0.709, -2.097], [2.812, -0.043], [-0.745, -3.436]]> : tensor<3x2xf32>
  %y = ingot.constant dense<[[3.364, 1.506], [1.507, 2.276], [0.698, -1.278]]> : tensor<3x2xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 0 temperature = 3.0 : tensor<3x2xf32> -> tensor<2xf32>
  %losses = ingot.constant dense<[0.17224745, 0.0218785]> : tensor<2xf32>
  %lse = ingot.constant dense<[1.52602592, 0.5883248]> : tensor<2xf32>
  %targets_lse = ingot.constant dense<[1.78900184, 1.49078173]> : tensor<2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_one_sample() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[-1.6, -1.6, 2.74, -2.921]> : tensor<4xf32>
  %y = ingot.constant dense<[-1.193, -0.642, 0.449, 1.151]> : tensor<4xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 0 temperature = 2.0 : tensor<4xf32> -> tensor<f32>
  %losses = ingot.constant dense<0.77705501> : tensor<f32>
  %lse = ingot.constant dense<1.62257698> : tensor<f32>
  %targets_lse = ingot.constant dense<1.4599804> : tensor<f32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// A class that the target excludes adds nothing, also where the logits exclude it.
func.func @test_excluded() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[-0.634, 0.586, -0.487], [1.634, -1.589, 0.268]]> : tensor<2x3xf32>
  %y = ingot.constant dense<[[-2.498, 0xFF800000, -0.009], [2.427, 1.514, 0.431]]> : tensor<2x3xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 2.0 : tensor<2x3xf32> -> tensor<2xf32>
  %losses = ingot.constant dense<[0.77669444, 0.14664136]> : tensor<2xf32>
  %lse = ingot.constant dense<[1.04824945, 1.35038175]> : tensor<2xf32>
  %targets_lse = ingot.constant dense<[0.24865656, 1.90770312]> : tensor<2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_excluded_by_both() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[-0.634, 0xFF800000, -0.487], [1.634, -1.589, 0.268]]> : tensor<2x3xf32>
  %y = ingot.constant dense<[[-2.498, 0xFF800000, -0.009], [2.427, 1.514, 0.431]]> : tensor<2x3xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 2.0 : tensor<2x3xf32> -> tensor<2xf32>
  %losses = ingot.constant dense<[0.1420173, 0.14664136]> : tensor<2xf32>
  %lse = ingot.constant dense<[0.41357231, 1.35038175]> : tensor<2xf32>
  %targets_lse = ingot.constant dense<[0.24865656, 1.90770312]> : tensor<2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_large() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-6} {
  %x = ingot.constant dense<[[1000.0, 0.0], [-1000.0, 1000.0]]> : tensor<2x2xf32>
  %y = ingot.constant dense<[[900.0, 100.0], [-900.0, 950.0]]> : tensor<2x2xf32>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 4.0 : tensor<2x2xf32> -> tensor<2xf32>
  %losses = ingot.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %lse = ingot.constant dense<[250.0, 250.0]> : tensor<2xf32>
  %targets_lse = ingot.constant dense<[225.0, 237.5]> : tensor<2xf32>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @test_f64() -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) attributes {ingot.tolerance = 1.0e-14} {
  %x = ingot.constant dense<[[-0.222, 1.087, 0.449], [5.1, 2.997, 2.993]]> : tensor<2x3xf64>
  %y = ingot.constant dense<[[-4.079, -0.681, -1.217], [1.065, -4.558, 2.349]]> : tensor<2x3xf64>
  %actual:3 = ingot.softmax_divergence %x from %y dim = 1 temperature = 4.0 : tensor<2x3xf64> -> tensor<2xf64>
  %losses = ingot.constant dense<[0.024064367343524, 0.178670787245845]> : tensor<2xf64>
  %lse = ingot.constant dense<[1.217006528038565, 2.055073638586465]> : tensor<2xf64>
  %targets_lse = ingot.constant dense<[0.663623335086955, 1.230831221149383]> : tensor<2xf64>
  func.return %actual#0, %losses, %actual#1, %lse, %actual#2, %targets_lse : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}

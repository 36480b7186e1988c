// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// Expected values are PyTorch's, in f64.

func.func @test_plain() -> (tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[0.66100001, 0.26699999]], [[0.061999999, 0.62099999]]]]> :
      tensor<1x2x1x2xf32>
  %k = ingot.constant dense<[[[[-0.45199999, -0.16599999]], [[-1.523, 0.382]], [[-1.028, -0.56300002]]]]> :
      tensor<1x3x1x2xf32>
  %v = ingot.constant dense<[[[[-0.89200002, -0.057999998]], [[-0.19599999, -0.96600002]], [[0.42199999, 0.26699999]]]]> :
      tensor<1x3x1x2xf32>
  %actual:2 = ingot.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) -> (tensor<1x2x1x2xf32>, tensor<1x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[-0.2792947, -0.22770323]], [[-0.24884652, -0.30974397]]]]> :
      tensor<1x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[0.76028514, 1.0380964]]]> :
      tensor<1x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>
}

// Two heads share a key head; values have another size.

func.func @test_grouped() -> (tensor<1x2x4x1xf32>, tensor<1x2x4x1xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-1.882, -0.77700001], [2.0239999, -0.086999997], [0.097999997, -1.215], [0.73100001, 1.1720001]], [[2.4070001, 0.27900001], [0.24699999, 1.184], [-0.72799999, 1.163], [-0.0089999996, -0.84200001]]]]> :
      tensor<1x2x4x2xf32>
  %k = ingot.constant dense<[[[[0.41100001, -0.98799998], [-0.90799999, 0.542]], [[0.11, -2.2590001], [0.60699999, -0.138]]]]> :
      tensor<1x2x2x2xf32>
  %v = ingot.constant dense<[[[[0.83099997], [-0.248]], [[-0.80299997], [0.237]]]]> :
      tensor<1x2x2x1xf32>
  %actual:2 = ingot.attention %q, %k, %v {scale = 0.75 : f64} : (tensor<1x2x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x1xf32>) -> (tensor<1x2x4x1xf32>, tensor<1x4x2xf32>)
  %expected0 = ingot.constant dense<[[[[-0.41465917], [0.16501689], [0.07938724], [0.022609627]], [[0.32767606], [0.44821835], [-0.15361345], [0.0445958]]]]> :
      tensor<1x2x4x1xf32>
  %expected1 = ingot.constant dense<[[[1.4325334, 0.90343404], [1.2119017, -0.534293], [0.56337219, 1.1849579], [0.79495734, 0.5884065]]]> :
      tensor<1x4x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x2x4x1xf32>, tensor<1x2x4x1xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>
}

func.func @test_causal() -> (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-0.55299997, 0.63499999]], [[-0.39700001, -0.65700001]], [[-1.643, 0.98000002]]]]> :
      tensor<1x3x1x2xf32>
  %k = ingot.constant dense<[[[[-0.041999999, -0.82099998]], [[0.31299999, -1.135]], [[0.377, -0.28200001]]]]> :
      tensor<1x3x1x2xf32>
  %v = ingot.constant dense<[[[[-2.5669999, -1.4299999]], [[0.50099999, 0.54400003]], [[-0.40599999, 1.1339999]]]]> :
      tensor<1x3x1x2xf32>
  %actual:2 = ingot.attention %q, %k, %v {scale = 1.0 : f64, right = 0 : i64} : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>)
  %expected0 = ingot.constant dense<[[[[-2.5669999, -1.4299999]], [[-0.98288441, -0.4107548]], [[-1.1967702, -0.10639183]]]]> :
      tensor<1x3x1x2xf32>
  %expected1 = ingot.constant dense<[[[-0.49810898, 1.2824336, 0.080775894]]]> :
      tensor<1x1x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
}

func.func @test_window() -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[0.093999997]], [[1.238]], [[-1.346]], [[0.51200002]]]]> :
      tensor<1x4x1x1xf32>
  %k = ingot.constant dense<[[[[-0.69300002]], [[-0.167]], [[-1.0]], [[-1.648]]]]> :
      tensor<1x4x1x1xf32>
  %v = ingot.constant dense<[[[[0.81]], [[0.055]], [[1.1339999]], [[-0.53299999]]]]> :
      tensor<1x4x1x1xf32>
  %actual:2 = ingot.attention %q, %k, %v {scale = 1.0 : f64, left = 1 : i64, right = 1 : i64} : (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>) -> (tensor<1x4x1x1xf32>, tensor<1x1x4xf32>)
  %expected0 = ingot.constant dense<[[[[0.42316934]], [[0.46948898]], [[-0.033111837]], [[0.43751311]]]]> :
      tensor<1x4x1x1xf32>
  %expected1 = ingot.constant dense<[[[0.65303272, 0.42345366, 2.6592045, 0.028955916]]]> :
      tensor<1x1x4xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
}

// Sequences of two lengths, of which one is empty: zeros.

func.func @test_ragged() -> (tensor<2x2x1x2xf32>, tensor<2x2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-0.098999999, -0.72100002]], [[1.271, -0.0020000001]]], [[[-1.095, 0.602]], [[0.69800001, -0.801]]]]> :
      tensor<2x2x1x2xf32>
  %k = ingot.constant dense<[[[[1.538, 1.467]], [[1.595, -1.528]], [[1.016, -0.20200001]]], [[[-1.286, 0.82300001]], [[-0.61000001, -1.296]], [[-0.94300002, 0.66799998]]]]> :
      tensor<2x3x1x2xf32>
  %v = ingot.constant dense<[[[[1.163, -0.32300001]], [[1.878, -0.56699997]], [[0.40200001, -0.115]]], [[[0.317, 0.56300002]], [[0.866, -0.35299999]], [[0.34799999, 1.137]]]]> :
      tensor<2x3x1x2xf32>
  %mask = ingot.constant dense<[[[[true, true, false]]], [[[false, false, false]]]]> :
      tensor<2x1x1x3xi1>
  %actual:2 = ingot.attention %q, %k, %v mask %mask {scale = 1.0 : f64} : (tensor<2x2x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x1x1x3xi1>) -> (tensor<2x2x1x2xf32>, tensor<2x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[1.8036535, -0.5416286]], [[1.5345135, -0.44978219]]], [[[0.0, 0.0]], [[0.0, 0.0]]]]> :
      tensor<2x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[1.0535768, 2.6849985]], [[0x7F800000, 0x7F800000]]]> :
      tensor<2x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x2x1x2xf32>, tensor<2x2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>
}

// A bias per head, -infinity in places; the second query may look nowhere.

func.func @test_bias() -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-0.59899998, 1.602], [-1.073, -1.217]], [[0.64700001, -0.041000001], [-0.177, -0.5]]]]> :
      tensor<1x2x2x2xf32>
  %k = ingot.constant dense<[[[[0.86699998, -0.273], [-0.461, -0.098999999]], [[0.47299999, 1.005], [-0.287, -1.1619999]]]]> :
      tensor<1x2x2x2xf32>
  %v = ingot.constant dense<[[[[0.028000001, 0.565], [-0.011, 0.671]], [[-0.493, 1.505], [-2.326, 1.617]]]]> :
      tensor<1x2x2x2xf32>
  %bias = ingot.constant dense<[[[[0.5, -1.25], [0xFF800000, 0xFF800000]], [[0.25, 0xFF800000], [1.0, 0.125]]]]> :
      tensor<1x2x2x2xf32>
  %actual:2 = ingot.attention %q, %k, %v bias %bias {scale = 1.0 : f64} : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2xf32>)
  %expected0 = ingot.constant dense<[[[[-0.30036905, 1.1574509], [-0.011, 0.671]], [[0.0, 0.0], [-0.95436913, 1.0564977]]]]> :
      tensor<1x2x2x2xf32>
  %expected1 = ingot.constant dense<[[[0.53829491, 0x7F800000], [0.86513597, 1.6545062]]]> :
      tensor<1x2x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}


// In half precision, as devices run it whole: against f32.

func.func @test_half() -> (tensor<2x64x2x16xf32>, tensor<2x64x2x16xf32>, tensor<2x2x64xf32>, tensor<2x2x64xf32>) attributes {ingot.tolerance = 2.0e-2} {
  %i = ingot.iota {dim = 0 : i64} : tensor<12288xf32>
  %step = ingot.constant dense<0.37> : tensor<12288xf32>
  %angle = ingot.mul %i, %step : tensor<12288xf32>
  %wave = ingot.sin %angle : tensor<12288xf32>
  %flat = ingot.cast %wave : tensor<12288xf32> -> tensor<12288xbf16>
  %all = ingot.reshape %flat : tensor<12288xbf16> -> tensor<2x64x6x16xbf16>
  %q = ingot.slice %all starts = [0, 0, 0, 0] limits = [2, 64, 2, 16] strides = [1, 1, 1, 1] : (tensor<2x64x6x16xbf16>) -> tensor<2x64x2x16xbf16>
  %k = ingot.slice %all starts = [0, 0, 2, 0] limits = [2, 64, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x64x6x16xbf16>) -> tensor<2x64x2x16xbf16>
  %v = ingot.slice %all starts = [0, 0, 4, 0] limits = [2, 64, 6, 16] strides = [1, 1, 1, 1] : (tensor<2x64x6x16xbf16>) -> tensor<2x64x2x16xbf16>
  %half:2 = ingot.attention %q, %k, %v {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x64x2x16xbf16>, tensor<2x64x2x16xbf16>, tensor<2x64x2x16xbf16>) -> (tensor<2x64x2x16xbf16>, tensor<2x2x64xf32>)
  %actual = ingot.cast %half#0 : tensor<2x64x2x16xbf16> -> tensor<2x64x2x16xf32>
  %qf = ingot.cast %q : tensor<2x64x2x16xbf16> -> tensor<2x64x2x16xf32>
  %kf = ingot.cast %k : tensor<2x64x2x16xbf16> -> tensor<2x64x2x16xf32>
  %vf = ingot.cast %v : tensor<2x64x2x16xbf16> -> tensor<2x64x2x16xf32>
  %expected:2 = ingot.attention %qf, %kf, %vf {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x64x2x16xf32>, tensor<2x64x2x16xf32>, tensor<2x64x2x16xf32>) -> (tensor<2x64x2x16xf32>, tensor<2x2x64xf32>)
  return %actual, %expected#0, %half#1, %expected#1 : tensor<2x64x2x16xf32>, tensor<2x64x2x16xf32>, tensor<2x2x64xf32>, tensor<2x2x64xf32>
}

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

// Of no key, of some, and of more than there are.
func.func @test_lengths() -> (tensor<3x2x1x2xf32>, tensor<3x2x1x2xf32>, tensor<3x1x2xf32>, tensor<3x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[-1, 2, 7]> : tensor<3xi32>
  %q = ingot.constant dense<[[[[2.041, -2.556]], [[0.418, -0.568]]], [[[-0.453, -0.216]], [[-2.02, -0.232]]], [[[-0.865, 3.323]], [[0.226, -0.353]]]]> : tensor<3x2x1x2xf32>
  %k = ingot.constant dense<[[[[-0.281, -0.668]], [[-1.055, -0.391]], [[0.482, -0.239]]], [[[0.958, -0.2]], [[0.024, 1.546]], [[0.545, -0.505]]], [[[-0.183, 0.541]], [[1.935, -0.27]], [[-0.244, 1.002]]]]> : tensor<3x3x1x2xf32>
  %v = ingot.constant dense<[[[[-0.886, -0.292]], [[0.883, 0.58]], [[0.092, 0.67]]], [[[-2.828, 1.021]], [[-0.96, -1.669]], [[0.276, 0.701]]], [[[-0.445, -1.076]], [[0.026, -0.053]], [[1.406, 0.747]]]]> : tensor<3x3x1x2xf32>
  %actual:2 = ingot.attention %q, %k, %v lengths %lengths {scale = 1.0 : f64} : (tensor<3x2x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3xi32>) -> (tensor<3x2x1x2xf32>, tensor<3x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[0.0, 0.0]], [[0.0, 0.0]]], [[[-1.8725377, -0.3549067]], [[-1.3059249, -1.1708533]]], [[[1.0891236, 0.43594363]], [[0.19797894, -0.14139913]]]]> : tensor<3x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[0x7F800000, 0x7F800000]], [[0.32562026, -0.20235822]], [[3.7290366, 1.1507261]]]> : tensor<3x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<3x2x1x2xf32>, tensor<3x2x1x2xf32>, tensor<3x1x2xf32>, tensor<3x1x2xf32>
}

// Lengths and bounds: the third query of the first sample sees two keys.
func.func @test_lengths_causal() -> (tensor<2x3x2x1xf32>, tensor<2x3x2x1xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[2, 1]> : tensor<2xi32>
  %q = ingot.constant dense<[[[[-1.639], [0.061]], [[-0.964], [0.757]], [[-2.034], [-0.914]]], [[[0.71], [1.156]], [[-2.158], [-0.498]], [[0.328], [-0.609]]]]> : tensor<2x3x2x1xf32>
  %k = ingot.constant dense<[[[[1.591]], [[-1.191]], [[0.355]]], [[[-1.048]], [[1.406]], [[-0.022]]]]> : tensor<2x3x1x1xf32>
  %v = ingot.constant dense<[[[[-0.372]], [[-1.718]], [[1.682]]], [[[0.753]], [[0.754]], [[1.138]]]]> : tensor<2x3x1x1xf32>
  %actual:2 = ingot.attention %q, %k, %v lengths %lengths {scale = 0.5 : f64, right = 0 : i64} : (tensor<2x3x2x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2xi32>) -> (tensor<2x3x2x1xf32>, tensor<2x2x3xf32>)
  %expected0 = ingot.constant dense<[[[[-0.372], [-0.372]], [[-1.438896], [-0.7201455]], [[-1.6429449], [-1.4231962]]], [[[0.753], [0.753]], [[0.753], [0.753]], [[0.753], [0.753]]]]> : tensor<2x3x2x1xf32>
  %expected1 = ingot.constant dense<[[[-1.3038245, 0.8064458, 1.2686235], [0.0485255, 0.9014785, 0.79149544]], [[-0.37203997, 1.130792, -0.171872], [-0.605744, 0.260952, 0.319116]]]> : tensor<2x2x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x3x2x1xf32>, tensor<2x3x2x1xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>
}

// A window behind all keys of the first sample.
func.func @test_lengths_window() -> (tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[1, 3]> : tensor<2xi32>
  %q = ingot.constant dense<[[[[-0.004]], [[1.214]], [[0.757]], [[0.216]]], [[[-0.317]], [[0.293]], [[-0.243]], [[0.817]]]]> : tensor<2x4x1x1xf32>
  %k = ingot.constant dense<[[[[-0.794]], [[0.134]], [[-0.111]], [[0.543]]], [[[0.225]], [[2.55]], [[1.499]], [[1.497]]]]> : tensor<2x4x1x1xf32>
  %v = ingot.constant dense<[[[[-2.04]], [[-0.34]], [[-0.609]], [[0.533]]], [[[-2.279]], [[1.174]], [[1.067]], [[-1.302]]]]> : tensor<2x4x1x1xf32>
  %actual:2 = ingot.attention %q, %k, %v lengths %lengths {scale = 1.0 : f64, right = 0 : i64, left = 1 : i64} : (tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2xi32>) -> (tensor<2x4x1x1xf32>, tensor<2x1x4xf32>)
  %expected0 = ingot.constant dense<[[[[-2.04]], [[-2.04]], [[0.0]], [[0.0]]], [[[-2.279]], [[0.013833623]], [[1.1137052]], [[1.067]]]]> : tensor<2x4x1x1xf32>
  %expected1 = ingot.constant dense<[[[0.0031760002, -0.963916, 0x7F800000, 0x7F800000]], [[-0.071325, 1.156605, 0.20932482, 1.2246829]]]> : tensor<2x1x4xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x1x4xf32>, tensor<2x1x4xf32>
}

// Weights are dropped by their place among those of all heads and queries.
func.func @test_dropout() -> (tensor<2x3x2x1xf32>, tensor<2x3x2x1xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %seed = ingot.constant dense<7> : tensor<i64>
  %step = ingot.constant dense<5> : tensor<i64>
  %q = ingot.constant dense<[[[[1.76, 0.742], [1.369, -1.078]], [[-0.192, -0.814], [1.505, 0.658]], [[-0.305, -0.452], [0.485, -0.701]]], [[[-0.931, 0.481], [2.463, -0.246]], [[-0.556, -1.171], [-1.335, 0.525]], [[0.851, 0.009], [0.333, 0.116]]]]> : tensor<2x3x2x2xf32>
  %k = ingot.constant dense<[[[[0.139, -1.526]], [[-0.458, 0.111]], [[-0.783, -0.476]]], [[[-0.819, -0.333]], [[0.853, -0.407]], [[-0.154, 0.814]]]]> : tensor<2x3x1x2xf32>
  %v = ingot.constant dense<[[[[0.645]], [[1.695]], [[-2.09]]], [[[0.857]], [[-0.482]], [[0.135]]]]> : tensor<2x3x1x1xf32>
  %actual:2 = ingot.attention %q, %k, %v dropout %seed, %step {scale = 0.75 : f64, ratio = 0.4 : f64, stream = 3 : i32} : (tensor<2x3x2x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x1xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x3x2x1xf32>, tensor<2x2x3xf32>)
  %expected0 = ingot.constant dense<[[[[-0.69503427], [0.8204605]], [[-0.5095016], [-0.75488657]], [[0.7368592], [0.34377047]]], [[[0.72870076], [-0.6321708]], [[-0.23609461], [0.7357769]], [[-0.10268139], [-0.3178146]]]]> : tensor<2x3x2x1xf32>
  %expected1 = ingot.constant dense<[[[0.3133298, 1.6060997, 1.4110053], [1.6466994, 0.41046017, 1.4136469]], [[1.2642908, 1.2262839, 1.1699532], [1.807114, 1.3766787, 1.1049293]]]> : tensor<2x2x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x3x2x1xf32>, tensor<2x3x2x1xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>
}

// Dropped are weights of keys that are seen.
func.func @test_dropout_terms() -> (tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[4, 0]> : tensor<2xi32>
  %seed = ingot.constant dense<8589934597> : tensor<i64>
  %step = ingot.constant dense<9> : tensor<i64>
  %q = ingot.constant dense<[[[[-0.027]], [[-0.383]], [[0.167]]], [[[0.735]], [[-0.587]], [[0.38]]]]> : tensor<2x3x1x1xf32>
  %k = ingot.constant dense<[[[[-0.017]], [[1.616]], [[-0.663]], [[1.046]], [[-0.644]]], [[[-0.961]], [[-0.71]], [[-1.19]], [[0.146]], [[1.031]]]]> : tensor<2x5x1x1xf32>
  %v = ingot.constant dense<[[[[0.164, 0.624]], [[1.632, 0.27]], [[0.195, -0.275]], [[-1.608, 0.76]], [[-1.756, 0.653]]], [[[-0.014, 1.127]], [[-0.068, -0.823]], [[0.358, -0.56]], [[-0.181, 0.042]], [[-0.135, -0.189]]]]> : tensor<2x5x1x2xf32>
  %actual:2 = ingot.attention %q, %k, %v lengths %lengths dropout %seed, %step {scale = 1.0 : f64, right = 1 : i64, ratio = 0.25 : f64, stream = 1 : i32} : (tensor<2x3x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x2xf32>, tensor<2xi32>, tensor<i64>, tensor<i64>) -> (tensor<2x3x1x2xf32>, tensor<2x1x3xf32>)
  %expected0 = ingot.constant dense<[[[[1.1757616, 0.6012019]], [[0.60938495, 0.1971113]], [[0.17020045, 0.49616873]]], [[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]]> : tensor<2x3x1x2xf32>
  %expected1 = ingot.constant dense<[[[0.67180365, 1.0417364, 1.4800164]], [[0x7F800000, 0x7F800000, 0x7F800000]]]> : tensor<2x1x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>
}

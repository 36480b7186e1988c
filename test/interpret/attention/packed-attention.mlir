// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-attach-target=target=cuda --ingot-decompose=keep-anchors %s | ingot-eval --expect -

// Expected values are PyTorch's, in f64.

func.func @test_plain() -> (tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %packed = ingot.constant dense<[[[[0.33700001, 1.011], [-1.4349999, 0.977], [0.52200001, 1.238]], [[-0.86500001, 0.29899999], [0.419, -0.079999998], [0.926, 0.81599998]]]]> : tensor<1x2x3x2xf32>
  %actual:2 = ingot.packed_attention %packed {key_heads = 1 : i64, scale = 0.5 : f64} : (tensor<1x2x3x2xf32>) -> (tensor<1x2x1x2xf32>, tensor<1x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[0.70167817, 1.0503164]], [[0.63386879, 1.121147]]]]> : tensor<1x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[0.84040911, 1.0909108]]]> : tensor<1x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>
}

// Two heads share keys and values.
func.func @test_grouped_causal() -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %packed = ingot.constant dense<[[[[-1.516, 0.91299999], [0.25400001, -0.69199997], [-0.45500001, 2.2119999], [-0.377, -0.14399999]], [[-1.5829999, 1.396], [-1.0319999, 1.1390001], [0.72500002, 1.08], [1.73, -1.471]], [[-0.634, -0.78899997], [-0.898, -1.888], [0.336, 0.50099999], [0.54699999, -0.264]]]]> : tensor<1x3x4x2xf32>
  %actual:2 = ingot.packed_attention %packed {key_heads = 1 : i64, right = 0 : i64, scale = 0.75 : f64} : (tensor<1x3x4x2xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x2x3xf32>)
  %expected0 = ingot.constant dense<[[[[-0.377, -0.14399999], [-0.377, -0.14399999]], [[-0.22943722, -0.23693583], [-0.098136718, -0.31962959]], [[0.64562266, -0.57007849], [0.72244024, -0.5264131]]]]> : tensor<1x3x2x2xf32>
  %expected1 = ingot.constant dense<[[[2.0320019, 2.9287705, 0.29482134], [-1.2347054, 2.3837389, -0.53691431]]]> : tensor<1x2x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

func.func @test_window() -> (tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %packed = ingot.constant dense<[[[[1.566, 0.53200001], [-1.439, 1.655], [-0.382, 0.505]], [[0.583, -0.022], [1.658, -0.97600001], [-0.51200002, -0.704]], [[-0.76599997, -1.586], [-0.176, 1.061], [0.191, -0.037999999]], [[-0.071000002, -1.152], [1.426, 0.78399998], [-0.171, 0.105]]]]> : tensor<1x4x3x2xf32>
  %actual:2 = ingot.packed_attention %packed {key_heads = 1 : i64, left = 1 : i64, right = 0 : i64, scale = 0.5 : f64} : (tensor<1x4x3x2xf32>) -> (tensor<1x4x1x2xf32>, tensor<1x1x4xf32>)
  %expected0 = ingot.constant dense<[[[[-0.382, 0.505]], [[-0.47526506, -0.36236489]], [[-0.31065878, -0.51325567]], [[0.00071552364, 0.037167623]]]]> : tensor<1x4x1x2xf32>
  %expected1 = ingot.constant dense<[[[-0.686507, 0.8261321, 0.47639077, 0.14091706]]]> : tensor<1x1x4xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
}

// The last two heads are those of keys, then those of values.
func.func @test_terms() -> (tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %packed = ingot.constant dense<[[[[0.398], [-0.071999997], [2.359], [1.499], [0.259], [-1.248]], [[-0.616], [0.21600001], [-0.29300001], [-0.87300003], [-0.333], [1.983]], [[1.288], [-0.42500001], [-1.326], [-1.8430001], [-0.052999999], [-0.79799998]]]]> : tensor<1x3x6x1xf32>
  %bias = ingot.constant dense<[[[[0.8, 0.17, 0.09]], [[-0.61, 0.05, -1.37]]]]> : tensor<1x2x1x3xf32>
  %mask = ingot.constant dense<[[[[true, false, true]]]]> : tensor<1x1x1x3xi1>
  %actual:2 = ingot.packed_attention %packed bias %bias mask %mask {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<1x3x6x1xf32>, tensor<1x2x1x3xf32>, tensor<1x1x1x3xi1>) -> (tensor<1x3x2x1xf32>, tensor<1x2x3xf32>)
  %expected0 = ingot.constant dense<[[[[0.22721692], [-1.0801508]], [[0.0011795479], [-1.1646848]], [[0.25767361], [-0.95129744]]]]> : tensor<1x3x2x1xf32>
  %expected1 = ingot.constant dense<[[[1.8463212, 1.0975557, 3.8426522], [-0.2511222, -0.081471117, -0.17020752]]]> : tensor<1x2x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x3x2x1xf32>, tensor<1x3x2x1xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

// Lengths, one of them 0.
func.func @test_lengths() -> (tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[0, 2]> : tensor<2xi32>
  %packed = ingot.constant dense<[[[[-0.462, -1.768], [1.744, 0.208], [0.744, 0.16]], [[-0.267, -0.148], [-1.011, -0.788], [0.621, -1.177]], [[0.106, -1.231], [-0.057, 2.296], [1.768, -0.122]]], [[[0.616, 0.735], [-0.178, 0.127], [0.034, -0.935]], [[-1.146, -0.659], [0.514, -0.04], [-0.73, 0.564]], [[-0.08, -0.566], [2.281, -0.532], [0.986, 0.753]]]]> : tensor<2x3x3x2xf32>
  %actual:2 = ingot.packed_attention %packed lengths %lengths {key_heads = 1 : i64, scale = 0.5 : f64} : (tensor<2x3x3x2xf32>, tensor<2xi32>) -> (tensor<2x3x1x2xf32>, tensor<2x1x3xf32>)
  %expected0 = ingot.constant dense<[[[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]], [[[-0.37693134, -0.12873553]], [[-0.28340206, -0.31224388]], [[-0.35173985, -0.17816225]]]]> : tensor<2x3x1x2xf32>
  %expected1 = ingot.constant dense<[[[0x7F800000, 0x7F800000, 0x7F800000]], [[0.7637537, 0.5970565, 0.6741646]]]> : tensor<2x1x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>
}

// Two heads share keys; the seed has more than 32 bits.
func.func @test_dropout() -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %seed = ingot.constant dense<1099511627787> : tensor<i64>
  %step = ingot.constant dense<2> : tensor<i64>
  %packed = ingot.constant dense<[[[[-0.211, -0.092], [-0.136, 1.223], [-1.534, -0.566], [0.995, 0.044]], [[-1.837, 0.366], [1.192, -0.813], [1.827, -0.894], [-2.241, -0.573]], [[1.489, 0.535], [-0.549, 0.204], [1.845, -0.082], [0.19, -1.151]]]]> : tensor<1x3x4x2xf32>
  %actual:2 = ingot.packed_attention %packed dropout %seed, %step {key_heads = 1 : i64, scale = 0.75 : f64, right = 0 : i64, ratio = 0.3 : f64, stream = 4 : i32} : (tensor<1x3x4x2xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x3x2x2xf32>, tensor<1x2x3xf32>)
  %expected0 = ingot.constant dense<[[[[1.4214286, 0.06285714], [1.4214286, 0.06285714]], [[0.0, 0.0], [-3.0211923, -0.7842063]], [[-1.1392617, -1.2871761], [0.43713436, -0.0877951]]]]> : tensor<1x3x2x2xf32>
  %expected1 = ingot.constant dense<[[[0.2818095, 1.9669715, 2.5735908], [-0.3626955, 2.218223, 0.95462054]]]> : tensor<1x2x3xf32>
  return %actual#0, %expected0, %actual#1, %expected1 : tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>
}

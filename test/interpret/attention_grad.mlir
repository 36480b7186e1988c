// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// Expected values are PyTorch's, in f64.

func.func @test_plain() -> (tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[0.66100001, 0.26699999]], [[0.061999999, 0.62099999]]]]> :
      tensor<1x2x1x2xf32>
  %k = ingot.constant dense<[[[[-0.45199999, -0.16599999]], [[-1.523, 0.382]], [[-1.028, -0.56300002]]]]> :
      tensor<1x3x1x2xf32>
  %v = ingot.constant dense<[[[[-0.89200002, -0.057999998]], [[-0.19599999, -0.96600002]], [[0.42199999, 0.26699999]]]]> :
      tensor<1x3x1x2xf32>
  %output = ingot.constant dense<[[[[-0.2792947, -0.22770323]], [[-0.24884652, -0.30974397]]]]> :
      tensor<1x2x1x2xf32>
  %lse = ingot.constant dense<[[[0.76028514, 1.0380964]]]> :
      tensor<1x1x2xf32>
  %g = ingot.constant dense<[[[[-0.421, -0.51099998]], [[-1.573, -0.123]]]]> :
      tensor<1x2x1x2xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g {scale = 0.5 : f64} : (tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x2xf32>, tensor<1x2x1x2xf32>) -> (tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[-0.0057677124, 0.061474673]], [[0.093902178, 0.064131789]]]]> :
      tensor<1x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[[0.032370724, 0.1099966]], [[0.033608202, 0.013302565]], [[-0.065978929, -0.12329917]]]]> :
      tensor<1x3x1x2xf32>
  %expected2 = ingot.constant dense<[[[[-0.68750083, -0.2420418]], [[-0.72347969, -0.19875851]], [[-0.58301938, -0.19319966]]]]> :
      tensor<1x3x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>
}

// Two heads share a key head; values have another size.

func.func @test_grouped() -> (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-1.882, -0.77700001], [2.0239999, -0.086999997], [0.097999997, -1.215], [0.73100001, 1.1720001]], [[2.4070001, 0.27900001], [0.24699999, 1.184], [-0.72799999, 1.163], [-0.0089999996, -0.84200001]]]]> :
      tensor<1x2x4x2xf32>
  %k = ingot.constant dense<[[[[0.41100001, -0.98799998], [-0.90799999, 0.542]], [[0.11, -2.2590001], [0.60699999, -0.138]]]]> :
      tensor<1x2x2x2xf32>
  %v = ingot.constant dense<[[[[0.83099997], [-0.248]], [[-0.80299997], [0.237]]]]> :
      tensor<1x2x2x1xf32>
  %output = ingot.constant dense<[[[[-0.41465917], [0.16501689], [0.07938724], [0.022609627]], [[0.32767606], [0.44821835], [-0.15361345], [0.0445958]]]]> :
      tensor<1x2x4x1xf32>
  %lse = ingot.constant dense<[[[1.4325334, 0.90343404], [1.2119017, -0.534293], [0.56337219, 1.1849579], [0.79495734, 0.5884065]]]> :
      tensor<1x4x2xf32>
  %g = ingot.constant dense<[[[[0.28600001], [0.69], [-0.63300002], [0.87900001]], [[-0.68400002], [0.45300001], [0.29100001], [-0.83200002]]]]> :
      tensor<1x2x4x1xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g {scale = 0.75 : f64} : (tensor<1x2x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x1xf32>, tensor<1x2x4x1xf32>, tensor<1x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x1xf32>)
  %expected0 = ingot.constant dense<[[[[0.019114107, 0.080711067], [0.061456941, 0.25950757], [-0.076522477, 0.034346722], [0.11947294, -0.05362482]], [[-0.053779606, -0.2270893], [0.029974926, 0.12657186], [0.025135206, -0.011281808], [-0.10973322, 0.049253196]]]]> :
      tensor<1x2x4x2xf32>
  %expected1 = ingot.constant dense<[[[[-0.11171962, 0.00095477619], [-0.041270424, -0.23407573]], [[0.11171962, -0.00095477619], [0.041270424, 0.23407573]]]]> :
      tensor<1x2x2x2xf32>
  %expected2 = ingot.constant dense<[[[[0.35031617], [0.087151505]], [[0.39468384], [-0.38215151]]]]> :
      tensor<1x2x2x1xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>
}

func.func @test_causal() -> (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-0.55299997, 0.63499999]], [[-0.39700001, -0.65700001]], [[-1.643, 0.98000002]]]]> :
      tensor<1x3x1x2xf32>
  %k = ingot.constant dense<[[[[-0.041999999, -0.82099998]], [[0.31299999, -1.135]], [[0.377, -0.28200001]]]]> :
      tensor<1x3x1x2xf32>
  %v = ingot.constant dense<[[[[-2.5669999, -1.4299999]], [[0.50099999, 0.54400003]], [[-0.40599999, 1.1339999]]]]> :
      tensor<1x3x1x2xf32>
  %output = ingot.constant dense<[[[[-2.5669999, -1.4299999]], [[-0.98288441, -0.4107548]], [[-1.1967702, -0.10639183]]]]> :
      tensor<1x3x1x2xf32>
  %lse = ingot.constant dense<[[[-0.49810898, 1.2824336, 0.080775894]]]> :
      tensor<1x1x3xf32>
  %g = ingot.constant dense<[[[[-1.112, 0.34999999]], [[-0.76999998, -0.147]], [[0.62699997, 1.0930001]]]]> :
      tensor<1x3x1x2xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g {scale = 1.0 : f64, right = 0 : i64} : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x1x3xf32>, tensor<1x3x1x2xf32>) -> (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[0.0, 0.0]], [[-0.23516147, 0.20800199]], [[0.40647173, 0.27475664]]]]> :
      tensor<1x3x1x2xf32>
  %expected1 = ingot.constant dense<[[[[1.4116898, -1.4341065]], [[-0.26600093, 0.75073755]], [[-1.1456889, 0.68336892]]]]> :
      tensor<1x3x1x2xf32>
  %expected2 = ingot.constant dense<[[[[-1.2072616, 0.76205337]], [[-0.2838724, 0.12231264]], [[0.23613404, 0.411634]]]]> :
      tensor<1x3x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>
}

func.func @test_window() -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[0.093999997]], [[1.238]], [[-1.346]], [[0.51200002]]]]> :
      tensor<1x4x1x1xf32>
  %k = ingot.constant dense<[[[[-0.69300002]], [[-0.167]], [[-1.0]], [[-1.648]]]]> :
      tensor<1x4x1x1xf32>
  %v = ingot.constant dense<[[[[0.81]], [[0.055]], [[1.1339999]], [[-0.53299999]]]]> :
      tensor<1x4x1x1xf32>
  %output = ingot.constant dense<[[[[0.42316934]], [[0.46948898]], [[-0.033111837]], [[0.43751311]]]]> :
      tensor<1x4x1x1xf32>
  %lse = ingot.constant dense<[[[0.65303272, 0.42345366, 2.6592045, 0.028955916]]]> :
      tensor<1x1x4xf32>
  %g = ingot.constant dense<[[[[0.65899998]], [[-1.596]], [[-0.377]], [[-3.102]]]]> :
      tensor<1x4x1x1xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g {scale = 1.0 : f64, left = 1 : i64, right = 1 : i64} : (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x1x4xf32>, tensor<1x4x1x1xf32>) -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>)
  %expected0 = ingot.constant dense<[[[[-0.065387197]], [[0.24710239]], [[-0.080997109]], [[-0.81507117]]]]> :
      tensor<1x4x1x1xf32>
  %expected1 = ingot.constant dense<[[[[-0.17511837]], [[0.4283219]], [[-0.73400414]], [[0.4808006]]]]> :
      tensor<1x4x1x1xf32>
  %expected2 = ingot.constant dense<[[[[-0.12177641]], [[-0.54524601]], [[-2.2103755]], [[-1.538602]]]]> :
      tensor<1x4x1x1xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>
}

// Sequences of two lengths, of which one is empty: zeros.

func.func @test_ragged() -> (tensor<2x2x1x2xf32>, tensor<2x2x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-0.098999999, -0.72100002]], [[1.271, -0.0020000001]]], [[[-1.095, 0.602]], [[0.69800001, -0.801]]]]> :
      tensor<2x2x1x2xf32>
  %k = ingot.constant dense<[[[[1.538, 1.467]], [[1.595, -1.528]], [[1.016, -0.20200001]]], [[[-1.286, 0.82300001]], [[-0.61000001, -1.296]], [[-0.94300002, 0.66799998]]]]> :
      tensor<2x3x1x2xf32>
  %v = ingot.constant dense<[[[[1.163, -0.32300001]], [[1.878, -0.56699997]], [[0.40200001, -0.115]]], [[[0.317, 0.56300002]], [[0.866, -0.35299999]], [[0.34799999, 1.137]]]]> :
      tensor<2x3x1x2xf32>
  %mask = ingot.constant dense<[[[[true, true, false]]], [[[false, false, false]]]]> :
      tensor<2x1x1x3xi1>
  %output = ingot.constant dense<[[[[1.8036535, -0.5416286]], [[1.5345135, -0.44978219]]], [[[0.0, 0.0]], [[0.0, 0.0]]]]> :
      tensor<2x2x1x2xf32>
  %lse = ingot.constant dense<[[[1.0535768, 2.6849985]], [[0x7F800000, 0x7F800000]]]> :
      tensor<2x1x2xf32>
  %g = ingot.constant dense<[[[[-0.33399999, -1.472]], [[0.73000002, -0.131]]], [[[-0.63700002, 1.043]], [[0.49000001, 1.0319999]]]]> :
      tensor<2x2x1x2xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g mask %mask {scale = 1.0 : f64} : (tensor<2x2x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x2x1x2xf32>, tensor<2x1x1x3xi1>) -> (tensor<2x2x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[0.00063917763, -0.033584837]], [[0.0078811524, -0.41410586]]], [[[0.0, 0.0]], [[0.0, 0.0]]]]> :
      tensor<2x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[[-0.17462561, 0.0083615622]], [[0.17462561, -0.0083615622]], [[0.0, 0.0]]], [[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]]> :
      tensor<2x3x1x2xf32>
  %expected2 = ingot.constant dense<[[[[0.31596288, -0.21599272]], [[0.080037139, -1.3870072]], [[0.0, 0.0]]], [[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]]> :
      tensor<2x3x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<2x2x1x2xf32>, tensor<2x2x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>
}

// A bias per head, -infinity in places; the second query may look nowhere.

func.func @test_bias() -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %q = ingot.constant dense<[[[[-0.59899998, 1.602], [-1.073, -1.217]], [[0.64700001, -0.041000001], [-0.177, -0.5]]]]> :
      tensor<1x2x2x2xf32>
  %k = ingot.constant dense<[[[[0.86699998, -0.273], [-0.461, -0.098999999]], [[0.47299999, 1.005], [-0.287, -1.1619999]]]]> :
      tensor<1x2x2x2xf32>
  %v = ingot.constant dense<[[[[0.028000001, 0.565], [-0.011, 0.671]], [[-0.493, 1.505], [-2.326, 1.617]]]]> :
      tensor<1x2x2x2xf32>
  %bias = ingot.constant dense<[[[[0.5, -1.25], [0xFF800000, 0xFF800000]], [[0.25, 0xFF800000], [1.0, 0.125]]]]> :
      tensor<1x2x2x2xf32>
  %output = ingot.constant dense<[[[[-0.30036905, 1.1574509], [-0.011, 0.671]], [[0.0, 0.0], [-0.95436913, 1.0564977]]]]> :
      tensor<1x2x2x2xf32>
  %lse = ingot.constant dense<[[[0.53829491, 0x7F800000], [0.86513597, 1.6545062]]]> :
      tensor<1x2x2xf32>
  %g = ingot.constant dense<[[[[-0.903, 0.17399999], [0.077, -0.93400002]], [[0.090999998, 1.3940001], [-0.68800002, -0.50599998]]]]> :
      tensor<1x2x2x2xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g bias %bias {scale = 1.0 : f64} : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>)
  %expected0 = ingot.constant dense<[[[[-0.058212206, 0.1888203], [0.0, 0.0]], [[0.0, 0.0], [0.046802443, -0.28592527]]]]> :
      tensor<1x2x2x2xf32>
  %expected1 = ingot.constant dense<[[[[0.088500284, -0.23669024], [0.047609385, 0.13448979]], [[-0.088500284, 0.23669024], [-0.047609385, -0.13448979]]]]> :
      tensor<1x2x2x2xf32>
  %expected2 = ingot.constant dense<[[[[-0.33386898, 0.064333558], [-0.33063802, -1.2338035]], [[-0.56913102, 0.10966644], [-0.28036198, -0.20619644]]]]> :
      tensor<1x2x2x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}


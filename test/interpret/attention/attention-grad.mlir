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


// Of no key, of some, and of more than there are.
func.func @test_lengths() -> (tensor<3x2x1x2xf32>, tensor<3x2x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[-1, 2, 7]> : tensor<3xi32>
  %q = ingot.constant dense<[[[[2.041, -2.556]], [[0.418, -0.568]]], [[[-0.453, -0.216]], [[-2.02, -0.232]]], [[[-0.865, 3.323]], [[0.226, -0.353]]]]> : tensor<3x2x1x2xf32>
  %k = ingot.constant dense<[[[[-0.281, -0.668]], [[-1.055, -0.391]], [[0.482, -0.239]]], [[[0.958, -0.2]], [[0.024, 1.546]], [[0.545, -0.505]]], [[[-0.183, 0.541]], [[1.935, -0.27]], [[-0.244, 1.002]]]]> : tensor<3x3x1x2xf32>
  %v = ingot.constant dense<[[[[-0.886, -0.292]], [[0.883, 0.58]], [[0.092, 0.67]]], [[[-2.828, 1.021]], [[-0.96, -1.669]], [[0.276, 0.701]]], [[[-0.445, -1.076]], [[0.026, -0.053]], [[1.406, 0.747]]]]> : tensor<3x3x1x2xf32>
  %output = ingot.constant dense<[[[[0.0, 0.0]], [[0.0, 0.0]]], [[[-1.8725377, -0.3549067]], [[-1.3059249, -1.1708533]]], [[[1.0891236, 0.43594363]], [[0.19797894, -0.14139913]]]]> : tensor<3x2x1x2xf32>
  %lse = ingot.constant dense<[[[0x7F800000, 0x7F800000]], [[0.32562026, -0.20235822]], [[3.7290366, 1.1507261]]]> : tensor<3x1x2xf32>
  %g = ingot.constant dense<[[[[0.194, 1.112]], [[-0.206, -0.926]]], [[[0.584, 0.583]], [[-0.215, -0.783]]], [[[0.229, -2.494]], [[0.69, 0.491]]]]> : tensor<3x2x1x2xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g lengths %lengths {scale = 1.0 : f64} : (tensor<3x2x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x2x1x2xf32>, tensor<3x1x2xf32>, tensor<3x2x1x2xf32>, tensor<3xi32>) -> (tensor<3x2x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[0.0, 0.0]], [[0.0, 0.0]]], [[[0.11140424, -0.20825675]], [[-0.24024054, 0.44910064]]], [[[0.03932809, -0.26998466]], [[-0.102195755, 0.15595198]]]]> : tensor<3x2x1x2xf32>
  %expected1 = ingot.constant dense<[[[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]], [[[0.4655458, 0.033910587]], [[-0.4655458, -0.033910587]], [[0.0, 0.0]]], [[[-0.55346906, 2.009591]], [[-0.010717495, 0.020274108]], [[0.5641866, -2.0298653]]]]> : tensor<3x3x1x2xf32>
  %expected2 = ingot.constant dense<[[[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]], [[[0.24547544, 0.13980205]], [[0.12352455, -0.33980203]], [[0.0, 0.0]]], [[[0.2119488, -0.30039054]], [[0.3723058, 0.2600518]], [[0.3347454, -1.9626611]]]]> : tensor<3x3x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<3x2x1x2xf32>, tensor<3x2x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>, tensor<3x3x1x2xf32>
}

// Lengths and bounds: the third query of the first sample sees two keys.
func.func @test_lengths_causal() -> (tensor<2x3x2x1xf32>, tensor<2x3x2x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[2, 1]> : tensor<2xi32>
  %q = ingot.constant dense<[[[[-1.639], [0.061]], [[-0.964], [0.757]], [[-2.034], [-0.914]]], [[[0.71], [1.156]], [[-2.158], [-0.498]], [[0.328], [-0.609]]]]> : tensor<2x3x2x1xf32>
  %k = ingot.constant dense<[[[[1.591]], [[-1.191]], [[0.355]]], [[[-1.048]], [[1.406]], [[-0.022]]]]> : tensor<2x3x1x1xf32>
  %v = ingot.constant dense<[[[[-0.372]], [[-1.718]], [[1.682]]], [[[0.753]], [[0.754]], [[1.138]]]]> : tensor<2x3x1x1xf32>
  %output = ingot.constant dense<[[[[-0.372], [-0.372]], [[-1.438896], [-0.7201455]], [[-1.6429449], [-1.4231962]]], [[[0.753], [0.753]], [[0.753], [0.753]], [[0.753], [0.753]]]]> : tensor<2x3x2x1xf32>
  %lse = ingot.constant dense<[[[-1.3038245, 0.8064458, 1.2686235], [0.0485255, 0.9014785, 0.79149544]], [[-0.37203997, 1.130792, -0.171872], [-0.605744, 0.260952, 0.319116]]]> : tensor<2x2x3xf32>
  %g = ingot.constant dense<[[[[0.349], [-0.639]], [[-0.8], [-0.8]], [[1.37], [-1.46]]], [[[-0.596], [-0.321]], [[0.225], [0.575]], [[-1.249], [-1.73]]]]> : tensor<2x3x2x1xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g lengths %lengths {scale = 0.5 : f64, right = 0 : i64} : (tensor<2x3x2x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x2x1xf32>, tensor<2x2x3xf32>, tensor<2x3x2x1xf32>, tensor<2xi32>) -> (tensor<2x3x2x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  %expected0 = ingot.constant dense<[[[[0.0], [0.0]], [[-0.24618427], [-0.28721035]], [[0.1350546], [-0.46757558]]], [[[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]]]]> : tensor<2x3x2x1xf32>
  %expected1 = ingot.constant dense<[[[[0.06202962]], [[-0.06202962]], [[0.0]]], [[[0.0]], [[0.0]], [[0.0]]]]> : tensor<2x3x1x1xf32>
  %expected2 = ingot.constant dense<[[[[-1.292344]], [[-0.68765604]], [[0.0]]], [[[-3.096]], [[0.0]], [[0.0]]]]> : tensor<2x3x1x1xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<2x3x2x1xf32>, tensor<2x3x2x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>
}

// A window behind all keys of the first sample.
func.func @test_lengths_window() -> (tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[1, 3]> : tensor<2xi32>
  %q = ingot.constant dense<[[[[-0.004]], [[1.214]], [[0.757]], [[0.216]]], [[[-0.317]], [[0.293]], [[-0.243]], [[0.817]]]]> : tensor<2x4x1x1xf32>
  %k = ingot.constant dense<[[[[-0.794]], [[0.134]], [[-0.111]], [[0.543]]], [[[0.225]], [[2.55]], [[1.499]], [[1.497]]]]> : tensor<2x4x1x1xf32>
  %v = ingot.constant dense<[[[[-2.04]], [[-0.34]], [[-0.609]], [[0.533]]], [[[-2.279]], [[1.174]], [[1.067]], [[-1.302]]]]> : tensor<2x4x1x1xf32>
  %output = ingot.constant dense<[[[[-2.04]], [[-2.04]], [[0.0]], [[0.0]]], [[[-2.279]], [[0.013833623]], [[1.1137052]], [[1.067]]]]> : tensor<2x4x1x1xf32>
  %lse = ingot.constant dense<[[[0.0031760002, -0.963916, 0x7F800000, 0x7F800000]], [[-0.071325, 1.156605, 0.20932482, 1.2246829]]]> : tensor<2x1x4xf32>
  %g = ingot.constant dense<[[[[-0.979]], [[-0.801]], [[0.043]], [[0.641]]], [[[2.048]], [[-0.197]], [[0.768]], [[0.155]]]]> : tensor<2x4x1x1xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g lengths %lengths {scale = 1.0 : f64, right = 0 : i64, left = 1 : i64} : (tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x1x4xf32>, tensor<2x4x1x1xf32>, tensor<2xi32>) -> (tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>)
  %expected0 = ingot.constant dense<[[[[0.0]], [[0.0]], [[0.0]], [[0.0]]], [[[0.0]], [[-0.35284618]], [[0.021243451]], [[0.0]]]]> : tensor<2x4x1x1xf32>
  %expected1 = ingot.constant dense<[[[[0.0]], [[0.0]], [[0.0]], [[0.0]]], [[[0.04446621]], [[-0.049377874]], [[0.004911664]], [[0.0]]]]> : tensor<2x4x1x1xf32>
  %expected2 = ingot.constant dense<[[[[-1.78]], [[0.0]], [[0.0]], [[0.0]]], [[[1.9818105]], [[0.20441897]], [[0.58777064]], [[0.0]]]]> : tensor<2x4x1x1xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>, tensor<2x4x1x1xf32>
}

// Weights are dropped by their place among those of all heads and queries.
func.func @test_dropout() -> (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %seed = ingot.constant dense<7> : tensor<i64>
  %step = ingot.constant dense<5> : tensor<i64>
  %q = ingot.constant dense<[[[[1.76, 0.742], [1.369, -1.078]], [[-0.192, -0.814], [1.505, 0.658]], [[-0.305, -0.452], [0.485, -0.701]]], [[[-0.931, 0.481], [2.463, -0.246]], [[-0.556, -1.171], [-1.335, 0.525]], [[0.851, 0.009], [0.333, 0.116]]]]> : tensor<2x3x2x2xf32>
  %k = ingot.constant dense<[[[[0.139, -1.526]], [[-0.458, 0.111]], [[-0.783, -0.476]]], [[[-0.819, -0.333]], [[0.853, -0.407]], [[-0.154, 0.814]]]]> : tensor<2x3x1x2xf32>
  %v = ingot.constant dense<[[[[0.645]], [[1.695]], [[-2.09]]], [[[0.857]], [[-0.482]], [[0.135]]]]> : tensor<2x3x1x1xf32>
  %output = ingot.constant dense<[[[[-0.69503427], [0.8204605]], [[-0.5095016], [-0.75488657]], [[0.7368592], [0.34377047]]], [[[0.72870076], [-0.6321708]], [[-0.23609461], [0.7357769]], [[-0.10268139], [-0.3178146]]]]> : tensor<2x3x2x1xf32>
  %lse = ingot.constant dense<[[[0.3133298, 1.6060997, 1.4110053], [1.6466994, 0.41046017, 1.4136469]], [[1.2642908, 1.2262839, 1.1699532], [1.807114, 1.3766787, 1.1049293]]]> : tensor<2x2x3xf32>
  %g = ingot.constant dense<[[[[0.838], [1.083]], [[1.039], [0.155]], [[1.61], [-0.283]]], [[[-0.141], [0.799]], [[-0.551], [2.161]], [[1.019], [2.176]]]]> : tensor<2x3x2x1xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g dropout %seed, %step {scale = 0.75 : f64, ratio = 0.4 : f64, stream = 3 : i32} : (tensor<2x3x2x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x1xf32>, tensor<2x3x2x1xf32>, tensor<2x2x3xf32>, tensor<2x3x2x1xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x3x2x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x1xf32>)
  %expected0 = ingot.constant dense<[[[[0.2116095, -0.063375846], [0.12164896, -0.20874074]], [[0.5942882, -0.6006756], [0.041485343, -0.012148988]], [[-0.11139335, 0.75633377], [-0.11492171, 0.032962177]]], [[[0.032263122, 0.02500688], [-0.11990637, 0.052667696]], [[0.10525709, -0.02222608], [-0.60517025, -0.3683933]], [[-0.43055055, 0.1023946], [-0.40612602, 0.22673498]]]]> : tensor<2x3x2x2xf32>
  %expected1 = ingot.constant dense<[[[[0.49932143, -0.30760366]], [[0.015894862, -0.049403235]], [[-0.5152163, 0.3570069]]], [[[-0.34767488, 0.34966388]], [[-0.30668253, -0.21292351]], [[0.65435743, -0.13674037]]]]> : tensor<2x3x1x2xf32>
  %expected2 = ingot.constant dense<[[[[1.9730723]], [[0.6082857]], [[0.7439614]]], [[[2.06929]], [[3.539617]], [[1.8427234]]]]> : tensor<2x3x1x1xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>
}

// Dropped are weights of keys that are seen.
func.func @test_dropout_terms() -> (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x2xf32>, tensor<2x5x1x2xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %lengths = ingot.constant dense<[4, 0]> : tensor<2xi32>
  %seed = ingot.constant dense<8589934597> : tensor<i64>
  %step = ingot.constant dense<9> : tensor<i64>
  %q = ingot.constant dense<[[[[-0.027]], [[-0.383]], [[0.167]]], [[[0.735]], [[-0.587]], [[0.38]]]]> : tensor<2x3x1x1xf32>
  %k = ingot.constant dense<[[[[-0.017]], [[1.616]], [[-0.663]], [[1.046]], [[-0.644]]], [[[-0.961]], [[-0.71]], [[-1.19]], [[0.146]], [[1.031]]]]> : tensor<2x5x1x1xf32>
  %v = ingot.constant dense<[[[[0.164, 0.624]], [[1.632, 0.27]], [[0.195, -0.275]], [[-1.608, 0.76]], [[-1.756, 0.653]]], [[[-0.014, 1.127]], [[-0.068, -0.823]], [[0.358, -0.56]], [[-0.181, 0.042]], [[-0.135, -0.189]]]]> : tensor<2x5x1x2xf32>
  %output = ingot.constant dense<[[[[1.1757616, 0.6012019]], [[0.60938495, 0.1971113]], [[0.17020045, 0.49616873]]], [[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]]> : tensor<2x3x1x2xf32>
  %lse = ingot.constant dense<[[[0.67180365, 1.0417364, 1.4800164]], [[0x7F800000, 0x7F800000, 0x7F800000]]]> : tensor<2x1x3xf32>
  %g = ingot.constant dense<[[[[-0.832, -0.189]], [[-2.138, -0.157]], [[-1.198, 1.12]]], [[[1.27, -1.951]], [[0.145, -0.126]], [[-1.047, 0.532]]]]> : tensor<2x3x1x2xf32>
  %actual:3 = ingot.attention_grad %q, %k, %v, %output, %lse, %g lengths %lengths dropout %seed, %step {scale = 1.0 : f64, right = 1 : i64, ratio = 0.25 : f64, stream = 1 : i32} : (tensor<2x3x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x2xf32>, tensor<2x3x1x2xf32>, tensor<2x1x3xf32>, tensor<2x3x1x2xf32>, tensor<2xi32>, tensor<i64>, tensor<i64>) -> (tensor<2x3x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x2xf32>)
  %expected0 = ingot.constant dense<[[[[-0.6281112]], [[-1.2927223]], [[-0.13703384]]], [[[0.0]], [[0.0]], [[0.0]]]]> : tensor<2x3x1x1xf32>
  %expected1 = ingot.constant dense<[[[[-0.098395824]], [[0.1287594]], [[-0.18209441]], [[0.15173084]], [[0.0]]], [[[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]]]]> : tensor<2x5x1x1xf32>
  %expected2 = ingot.constant dense<[[[[-1.9418728, 0.13584842]], [[-1.5603553, 0.28224492]], [[-1.6220971, 0.20909105]], [[-0.43300807, 0.40481558]], [[0.0, 0.0]]], [[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]]> : tensor<2x5x1x2xf32>
  return %actual#0, %expected0, %actual#1, %expected1, %actual#2, %expected2 : tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x1xf32>, tensor<2x5x1x2xf32>, tensor<2x5x1x2xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -

// The mask is where random_uniform with the same arguments is at least the ratio.

func.func @test_half() -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xi1>,
      tensor<2x4xi1>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[0.384, -0.155, -1.583, -1.132], [-1.272, -5.585,
      2.034, 1.133]]> : tensor<2x4xf32>
  %1 = ingot.constant dense<3> : tensor<i64>
  %2 = ingot.constant dense<5> : tensor<i64>
  %actual:2 = ingot.dropout %0, %1, %2 ratio = 0.5 stream = 1 :
      (tensor<2x4xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x4xf32>,
      tensor<2x4xi1>)
  %expected0 = ingot.constant dense<[[0.768, -0.31, -3.166, -2.264], [0.0,
      -11.17, 0.0, 2.266]]> : tensor<2x4xf32>
  %expected1 = ingot.constant dense<[[true, true, true, true], [false, true,
      false, true]]> : tensor<2x4xi1>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x4xf32>,
      tensor<2x4xf32>, tensor<2x4xi1>, tensor<2x4xi1>
}

// Columns 1 and 2 of the same tensor.
func.func @test_part() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi1>,
      tensor<2x2xi1>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[[-0.155, -1.583], [-5.585, 2.034]]> :
      tensor<2x2xf32>
  %1 = ingot.constant dense<3> : tensor<i64>
  %2 = ingot.constant dense<5> : tensor<i64>
  %3 = ingot.constant dense<1> : tensor<i64>
  %actual:2 = ingot.dropout %0, %1, %2 from %3 of [2, 4] ratio = 0.5 stream = 1
      : (tensor<2x2xf32>, tensor<i64>, tensor<i64>, tensor<i64>) ->
      (tensor<2x2xf32>, tensor<2x2xi1>)
  %expected0 = ingot.constant dense<[[-0.31, -3.166], [-11.17, 0.0]]> :
      tensor<2x2xf32>
  %expected1 = ingot.constant dense<[[true, true], [true, false]]> :
      tensor<2x2xi1>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<2x2xf32>,
      tensor<2x2xf32>, tensor<2x2xi1>, tensor<2x2xi1>
}

func.func @test_tenth() -> (tensor<12xf32>, tensor<12xf32>, tensor<12xi1>,
      tensor<12xi1>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[-0.429, 2.092, 0.876, 0.743, -4.95, -0.466, 1.064,
      3.219, 3.681, 2.852, -2.323, -4.395]> : tensor<12xf32>
  %1 = ingot.constant dense<3> : tensor<i64>
  %2 = ingot.constant dense<6> : tensor<i64>
  %actual:2 = ingot.dropout %0, %1, %2 ratio = 0.1 stream = 2 :
      (tensor<12xf32>, tensor<i64>, tensor<i64>) -> (tensor<12xf32>,
      tensor<12xi1>)
  %expected0 = ingot.constant dense<[-0.47666666, 2.3244445, 0.97333336, 0.0,
      -5.5, -0.5177778, 1.1822222, 3.5766666, 0.0, 3.1688888, -2.5811112,
      -4.883333]> : tensor<12xf32>
  %expected1 = ingot.constant dense<[true, true, true, false, true, true, true,
      true, false, true, true, true]> : tensor<12xi1>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<12xf32>,
      tensor<12xf32>, tensor<12xi1>, tensor<12xi1>
}

func.func @test_f64() -> (tensor<6xf64>, tensor<6xf64>, tensor<6xi1>,
      tensor<6xi1>) attributes {ingot.tolerance = 1.0e-14} {
  %0 = ingot.constant dense<[1.141, 0.055, 1.925, -0.252, 0.44, -3.0]> :
      tensor<6xf64>
  %1 = ingot.constant dense<8> : tensor<i64>
  %2 = ingot.constant dense<1> : tensor<i64>
  %actual:2 = ingot.dropout %0, %1, %2 ratio = 0.3 stream = 0 : (tensor<6xf64>,
      tensor<i64>, tensor<i64>) -> (tensor<6xf64>, tensor<6xi1>)
  %expected0 = ingot.constant dense<[1.6300000000000001, 0.0,
      2.7500000000000004, -0.36000000000000004, 0.0, -4.285714285714286]> :
      tensor<6xf64>
  %expected1 = ingot.constant dense<[true, false, true, true, false, true]> :
      tensor<6xi1>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<6xf64>,
      tensor<6xf64>, tensor<6xi1>, tensor<6xi1>
}

func.func @test_nothing_dropped() -> (tensor<4xf32>, tensor<4xf32>,
      tensor<4xi1>, tensor<4xi1>) attributes {ingot.tolerance = 1.0e-6} {
  %0 = ingot.constant dense<[0.896, -0.89, 0.7, 0.919]> : tensor<4xf32>
  %1 = ingot.constant dense<1> : tensor<i64>
  %2 = ingot.constant dense<1> : tensor<i64>
  %actual:2 = ingot.dropout %0, %1, %2 ratio = 0.0 stream = 1 : (tensor<4xf32>,
      tensor<i64>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi1>)
  %expected0 = ingot.constant dense<[0.896, -0.89, 0.7, 0.919]> : tensor<4xf32>
  %expected1 = ingot.constant dense<true> : tensor<4xi1>
  func.return %actual#0, %expected0, %actual#1, %expected1 : tensor<4xf32>,
      tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

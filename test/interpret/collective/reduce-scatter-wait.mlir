// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s

// What is computed from sums, element by element, in parts of two types of one layout.
func.func @test_update() -> (tensor<40xf32>, tensor<40xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<3.0> : tensor<40xbf16>
  %1 = ingot.constant dense<[5.0, 6.0]> : tensor<2xbf16>
  %n = ingot.neg %1 : tensor<2xbf16>
  %bucket = ingot.reduce_scatter_start %0, %n : (tensor<40xbf16>, tensor<2xbf16>) -> tensor<66xbf16>
  %2, %3 = ingot.reduce_scatter_wait %bucket : (tensor<66xbf16>) -> (tensor<40xbf16>, tensor<2xbf16>)
  %4 = ingot.cast %2 : tensor<40xbf16> -> tensor<40xf32>
  %5 = ingot.cast %3 : tensor<2xbf16> -> tensor<2xf32>
  %6 = ingot.mul %5, %5 : tensor<2xf32>
  %all = ingot.all_gather_start %4, %6 : (tensor<40xf32>, tensor<2xf32>) -> tensor<66xf32>
  %7, %8 = ingot.all_gather_wait %all : (tensor<66xf32>) -> (tensor<40xf32>, tensor<2xf32>)
  %9 = ingot.constant dense<3.0> : tensor<40xf32>
  %10 = ingot.constant dense<[25.0, 36.0]> : tensor<2xf32>
  func.return %7, %9, %8, %10 : tensor<40xf32>, tensor<40xf32>, tensor<2xf32>, tensor<2xf32>
}

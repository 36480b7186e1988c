// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s

// One rank: the sum is its own value. The second part starts at 64 bytes.
func.func @test_parts() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = ingot.constant dense<[5.0, 6.0, 7.0]> : tensor<3xf32>
  %bucket = ingot.all_reduce_start %0, %1 : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<19xf32>
  %2, %3 = ingot.all_reduce_wait %bucket : (tensor<19xf32>) -> (tensor<2x2xf32>, tensor<3xf32>)
  func.return %2, %0, %3, %1 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>
}

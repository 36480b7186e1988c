// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s

// One rank: its shard is the whole, the sum its own value. The second part starts at 32 elements.
func.func @test_parts() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = ingot.constant dense<[5.0, 6.0, 7.0]> : tensor<3xf32>
  %bucket = ingot.reduce_scatter_start %0, %1 : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<35xf32>
  %2, %3 = ingot.reduce_scatter_wait %bucket : (tensor<35xf32>) -> (tensor<2x2xf32>, tensor<3xf32>)
  func.return %2, %0, %3, %1 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<3xf32>
}

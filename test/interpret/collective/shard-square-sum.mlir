// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s

// One rank has all elements.
func.func @test_sum() -> (tensor<f64>, tensor<f64>) {
  %0 = ingot.constant dense<[[1.0, -2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = ingot.shard_square_sum %0 at 32 of 100 : tensor<2x2xf32> -> tensor<f64>
  %2 = ingot.constant dense<30.0> : tensor<f64>
  func.return %1, %2 : tensor<f64>, tensor<f64>
}

// More than one block, in half precision, of squares beyond its range.
func.func @test_blocks() -> (tensor<f64>, tensor<f64>) {
  %0 = ingot.constant dense<1024.0> : tensor<9000xf16>
  %1 = ingot.shard_square_sum %0 at 0 of 9000 : tensor<9000xf16> -> tensor<f64>
  %2 = ingot.constant dense<9437184000.0> : tensor<f64>
  func.return %1, %2 : tensor<f64>, tensor<f64>
}

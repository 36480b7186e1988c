// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s

// One rank has everything.
func.func @test_parts() -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
  %1 = ingot.constant dense<[5.0, 6.0, 7.0]> : tensor<3xf64>
  %bucket = ingot.all_gather_start %0, %1 : (tensor<2x2xf64>, tensor<3xf64>) -> tensor<35xf64>
  %2, %3 = ingot.all_gather_wait %bucket : (tensor<35xf64>) -> (tensor<2x2xf64>, tensor<3xf64>)
  func.return %2, %0, %3, %1 : tensor<2x2xf64>, tensor<2x2xf64>, tensor<3xf64>, tensor<3xf64>
}

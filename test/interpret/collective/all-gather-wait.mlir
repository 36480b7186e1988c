// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s

// A part that is there twice, and one that others read.
func.func @test_parts() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %n = ingot.neg %0 : tensor<2xf32>
  %bucket = ingot.all_gather_start %n, %n : (tensor<2xf32>, tensor<2xf32>) -> tensor<34xf32>
  %1, %2 = ingot.all_gather_wait %bucket : (tensor<34xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %3 = ingot.neg %1 : tensor<2xf32>
  %4 = ingot.constant dense<[-1.0, -2.0]> : tensor<2xf32>
  func.return %3, %0, %2, %4, %n, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

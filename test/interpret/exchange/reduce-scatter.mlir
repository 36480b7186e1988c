// RUN: ingot-eval --expect --ranks 6 %s

module attributes {ingot.mesh = {data = 3, tensor = 2}} {
// The rank's part of the sum.
func.func @test_parts() -> (tensor<2x1xf64>, tensor<2x1xf64>, tensor<2x3xf64>, tensor<2x3xf64>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>
  %rank = ingot.part %0 dim 0 over [data, tensor] : tensor<6xf64> -> tensor<1xf64>
  %x = ingot.constant dense<[[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]> : tensor<2x3xf64>
  %wide = ingot.broadcast %rank dims = [0] : tensor<1xf64> -> tensor<2x3xf64>
  %own = ingot.mul %x, %wide : tensor<2x3xf64>
  %1 = ingot.reduce_scatter sum %own dim 1 over [data] : tensor<2x3xf64> -> tensor<2x1xf64>
  %sum = ingot.all_reduce sum %own over [data] : tensor<2x3xf64>
  %2 = ingot.part %sum dim 1 over [data] : tensor<2x3xf64> -> tensor<2x1xf64>
  %3 = ingot.reduce_scatter max %own dim 0 over [tensor] : tensor<2x3xf64> -> tensor<1x3xf64>
  %4 = ingot.all_gather %3 dim 0 over [tensor] : tensor<1x3xf64> -> tensor<2x3xf64>
  %5 = ingot.all_reduce max %own over [tensor] : tensor<2x3xf64>
  func.return %1, %2, %4, %5 : tensor<2x1xf64>, tensor<2x1xf64>, tensor<2x3xf64>, tensor<2x3xf64>
}
}

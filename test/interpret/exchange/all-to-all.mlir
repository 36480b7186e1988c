// RUN: ingot-eval --expect --ranks 6 %s

module attributes {ingot.mesh = {data = 3, tensor = 2}} {
// Rows of all ranks become columns of all ranks, and the same dimension is split and joined.
func.func @test_all() -> (tensor<6x1xi64>, tensor<6x1xi64>, tensor<6xi64>, tensor<6xi64>) {
  %0 = ingot.constant dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [12, 13, 14], [15, 16, 17]]> : tensor<6x3xi64>
  %rows = ingot.part %0 dim 0 over [data] : tensor<6x3xi64> -> tensor<2x3xi64>
  %1 = ingot.all_to_all %rows split 1 concat 0 over [data] : tensor<2x3xi64> -> tensor<6x1xi64>
  %columns = ingot.part %0 dim 1 over [data] : tensor<6x3xi64> -> tensor<6x1xi64>
  %2 = ingot.iota {dim = 0 : i64} : tensor<36xi64>
  %own = ingot.part %2 dim 0 over [data, tensor] : tensor<36xi64> -> tensor<6xi64>
  %3 = ingot.all_to_all %own split 0 concat 0 over [data, tensor] : tensor<6xi64> -> tensor<6xi64>
  // Element i of rank r is element r of rank i.
  %4 = ingot.reshape %2 : tensor<36xi64> -> tensor<6x6xi64>
  %5 = ingot.transpose %4 [1, 0] : (tensor<6x6xi64>) -> tensor<6x6xi64>
  %6 = ingot.part %5 dim 0 over [data, tensor] : tensor<6x6xi64> -> tensor<1x6xi64>
  %7 = ingot.reshape %6 : tensor<1x6xi64> -> tensor<6xi64>
  func.return %1, %columns, %3, %7 : tensor<6x1xi64>, tensor<6x1xi64>, tensor<6xi64>, tensor<6xi64>
}
}

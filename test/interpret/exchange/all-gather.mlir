// RUN: ingot-eval --expect --ranks 6 %s

module attributes {ingot.mesh = {data = 3, tensor = 2}} {
// The order of the axes is that of the group.
func.func @test_order() -> (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) {
  %0 = ingot.iota {dim = 0 : i64} : tensor<6xi64>
  %rank = ingot.part %0 dim 0 over [data, tensor] : tensor<6xi64> -> tensor<1xi64>
  %1 = ingot.all_gather %rank dim 0 over [data, tensor] : tensor<1xi64> -> tensor<6xi64>
  %2 = ingot.all_gather %rank dim 0 over [tensor, data] : tensor<1xi64> -> tensor<6xi64>
  %3 = ingot.constant dense<[0, 2, 4, 1, 3, 5]> : tensor<6xi64>
  func.return %1, %0, %2, %3 : tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>
}

// Along the second dimension, rows stay rows.
func.func @test_columns() -> (tensor<2x6xf64>, tensor<2x6xf64>) {
  %0 = ingot.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]]> : tensor<2x6xf64>
  %1 = ingot.part %0 dim 1 over [data] : tensor<2x6xf64> -> tensor<2x2xf64>
  %2 = ingot.all_gather %1 dim 1 over [data] : tensor<2x2xf64> -> tensor<2x6xf64>
  func.return %2, %0 : tensor<2x6xf64>, tensor<2x6xf64>
}
}

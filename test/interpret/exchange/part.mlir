// Six ranks: three along data, two along tensor.
// RUN: ingot-eval --expect --ranks 6 %s

module attributes {ingot.mesh = {data = 3, tensor = 2}} {
// The parts of the group, in its order, are the whole.
func.func @test_whole() -> (tensor<12xi64>, tensor<12xi64>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = ingot.iota {dim = 0 : i64} : tensor<12xi64>
  %1 = ingot.part %0 dim 0 over [data, tensor] : tensor<12xi64> -> tensor<2xi64>
  %2 = ingot.all_gather %1 dim 0 over [data, tensor] : tensor<2xi64> -> tensor<12xi64>
  %3 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %4 = ingot.part %3 dim 1 over [tensor] : tensor<4x2xf32> -> tensor<4x1xf32>
  %5 = ingot.all_gather %4 dim 1 over [tensor] : tensor<4x1xf32> -> tensor<4x2xf32>
  func.return %2, %0, %5, %3 : tensor<12xi64>, tensor<12xi64>, tensor<4x2xf32>, tensor<4x2xf32>
}

// Of the part of a rank along one axis, the part along another.
func.func @test_nested() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.iota {dim = 0 : i64} : tensor<12xi64>
  %1 = ingot.part %0 dim 0 over [data] : tensor<12xi64> -> tensor<4xi64>
  %2 = ingot.part %1 dim 0 over [tensor] : tensor<4xi64> -> tensor<2xi64>
  %3 = ingot.part %0 dim 0 over [data, tensor] : tensor<12xi64> -> tensor<2xi64>
  func.return %2, %3 : tensor<2xi64>, tensor<2xi64>
}
}

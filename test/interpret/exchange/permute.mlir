// RUN: ingot-eval --expect --ranks 6 %s

module attributes {ingot.mesh = {data = 3, tensor = 2}} {
// Around the ring, both ways, and more than once.
func.func @test_ring() -> (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<1xi64>, tensor<1xi64>) {
  %0 = ingot.iota {dim = 0 : i64} : tensor<6xi64>
  %rank = ingot.part %0 dim 0 over [data, tensor] : tensor<6xi64> -> tensor<1xi64>
  %1 = ingot.permute %rank by 1 over [data] : tensor<1xi64>
  %2 = ingot.all_gather %1 dim 0 over [data, tensor] : tensor<1xi64> -> tensor<6xi64>
  %3 = ingot.constant dense<[4, 5, 0, 1, 2, 3]> : tensor<6xi64>
  %4 = ingot.permute %rank by -4 over [data] : tensor<1xi64>
  %5 = ingot.all_gather %4 dim 0 over [data, tensor] : tensor<1xi64> -> tensor<6xi64>
  %6 = ingot.constant dense<[2, 3, 4, 5, 0, 1]> : tensor<6xi64>
  %7 = ingot.permute %rank by 2 over [tensor] : tensor<1xi64>
  func.return %2, %3, %5, %6, %7, %rank : tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<1xi64>, tensor<1xi64>
}
}

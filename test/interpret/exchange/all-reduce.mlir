// RUN: ingot-eval --expect --ranks 6 %s

module attributes {ingot.mesh = {data = 3, tensor = 2}} {
// The numbers of all ranks, of those with one place along tensor, and of those with one place along data.
func.func @test_sums() -> (tensor<1xf64>, tensor<1xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>) {
  %0 = ingot.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>
  %rank = ingot.part %0 dim 0 over [data, tensor] : tensor<6xf64> -> tensor<1xf64>
  %all = ingot.all_reduce sum %rank over [data, tensor] : tensor<1xf64>
  %want = ingot.constant dense<15.0> : tensor<1xf64>
  %1 = ingot.all_reduce sum %rank over [data] : tensor<1xf64>
  %2 = ingot.all_gather %1 dim 0 over [data, tensor] : tensor<1xf64> -> tensor<6xf64>
  %3 = ingot.constant dense<[6.0, 9.0, 6.0, 9.0, 6.0, 9.0]> : tensor<6xf64>
  %4 = ingot.all_reduce sum %rank over [tensor] : tensor<1xf64>
  %5 = ingot.all_gather %4 dim 0 over [data, tensor] : tensor<1xf64> -> tensor<6xf64>
  %6 = ingot.constant dense<[1.0, 1.0, 5.0, 5.0, 9.0, 9.0]> : tensor<6xf64>
  func.return %all, %want, %2, %3, %5, %6 : tensor<1xf64>, tensor<1xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>
}

// A NaN of one rank is the extremum of all; integers have none.
func.func @test_extrema() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xui8>, tensor<1xui8>) {
  %0 = ingot.constant dense<[[0.0, -1.0, 1.0], [2.0, -3.0, 0.0], [1.0, 0.0, 0x7FC00000]]> : tensor<3x3xf32>
  %1 = ingot.part %0 dim 0 over [data] : tensor<3x3xf32> -> tensor<1x3xf32>
  %2 = ingot.reshape %1 : tensor<1x3xf32> -> tensor<3xf32>
  %3 = ingot.all_reduce max %2 over [data] : tensor<3xf32>
  %4 = ingot.constant dense<[2.0, 0.0, 0x7FC00000]> : tensor<3xf32>
  %5 = ingot.all_reduce min %2 over [data] : tensor<3xf32>
  %6 = ingot.constant dense<[0.0, -3.0, 0x7FC00000]> : tensor<3xf32>
  %7 = ingot.constant dense<[200, 100]> : tensor<2xui8>
  %8 = ingot.part %7 dim 0 over [tensor] : tensor<2xui8> -> tensor<1xui8>
  %9 = ingot.all_reduce max %8 over [tensor] : tensor<1xui8>
  %10 = ingot.constant dense<200> : tensor<1xui8>
  func.return %3, %4, %5, %6, %9, %10 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xui8>, tensor<1xui8>
}

// Each addition is rounded: 2048 + 1 + 1 in half precision.
func.func @test_rounding() -> (tensor<1xf16>, tensor<1xf16>) {
  %0 = ingot.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  %1 = ingot.part %0 dim 0 over [data] : tensor<3xf16> -> tensor<1xf16>
  %2 = ingot.all_reduce sum %1 over [data] : tensor<1xf16>
  %3 = ingot.constant dense<2048.0> : tensor<1xf16>
  func.return %2, %3 : tensor<1xf16>, tensor<1xf16>
}
}

// RUN: ingot-eval --expect %s
// RUN: ingot-eval --expect --compiled %s
// RUN: ingot-eval --expect --compiled --emulate %s

// A part that is there twice, one that is computed, and one that others read.
func.func @test_parts() -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<2x2xf64>, tensor<2x2xf64>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
  %1 = ingot.constant dense<[5.0, 6.0, 7.0]> : tensor<3xf64>
  %n = ingot.neg %1 : tensor<3xf64>
  %bucket = ingot.all_reduce_start %0, %n, %0 : (tensor<2x2xf64>, tensor<3xf64>, tensor<2x2xf64>) -> tensor<20xf64>
  %2, %3, %4 = ingot.all_reduce_wait %bucket : (tensor<20xf64>) -> (tensor<2x2xf64>, tensor<3xf64>, tensor<2x2xf64>)
  %5 = ingot.neg %3 : tensor<3xf64>
  func.return %2, %0, %5, %1, %4, %0 : tensor<2x2xf64>, tensor<2x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<2x2xf64>, tensor<2x2xf64>
}

// Parts may be cut otherwise than they were put together.
func.func @test_cut() -> (tensor<2xbf16>, tensor<2xbf16>) {
  %0 = ingot.constant dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>
  %1 = ingot.constant dense<[[4.0, 5.0]]> : tensor<1x2xbf16>
  %bucket = ingot.all_reduce_start %0, %1 : (tensor<3xbf16>, tensor<1x2xbf16>) -> tensor<34xbf16>
  %2, %3 = ingot.all_reduce_wait %bucket : (tensor<34xbf16>) -> (tensor<2x1xbf16>, tensor<2xbf16>)
  %4 = ingot.constant dense<[4.0, 5.0]> : tensor<2xbf16>
  func.return %3, %4 : tensor<2xbf16>, tensor<2xbf16>
}

// What is sent in fewer bytes arrives as it was.
func.func @test_int8() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = ingot.constant dense<[[127.0, 2.0, -4.0], [0.0, -1.0, -127.0]]> : tensor<2x3xf32>
  %bucket = ingot.all_reduce_start %0 {compression = #ingot<compression int8>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = ingot.all_reduce_wait %bucket : (tensor<6xf32>) -> tensor<2x3xf32>
  func.return %1, %0 : tensor<2x3xf32>, tensor<2x3xf32>
}

// One element less than are kept.
func.func @test_topk() -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = ingot.constant dense<[1.0, 0.0, 9.0, 0.0, -2.0, 0.0]> : tensor<6xf32>
  %bucket = ingot.all_reduce_start %0 {compression = #ingot<compression topk>, k = 4 : i64} : (tensor<6xf32>) -> tensor<6xf32>
  %1 = ingot.all_reduce_wait %bucket : (tensor<6xf32>) -> tensor<6xf32>
  func.return %1, %0 : tensor<6xf32>, tensor<6xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

func.func @test_rows() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.squared_deviations %0 dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[4.5, 24.5, 40.5]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_columns() -> (tensor<2xf64>, tensor<2xf64>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 4.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf64>
  %actual = ingot.squared_deviations %0 dims = [1] : (tensor<2x3xf64>) -> tensor<2xf64>
  %expected = ingot.constant dense<[18.0, 74.0]> : tensor<2xf64>
  func.return %actual, %expected : tensor<2xf64>, tensor<2xf64>
}

// The middle dimension stays.
func.func @test_middle() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[[[1.0, 3.0], [2.0, 2.0]], [[5.0, 7.0], [2.0, 6.0]]]> :
      tensor<2x2x2xf32>
  %actual = ingot.squared_deviations %0 dims = [0, 2] : (tensor<2x2x2xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[20.0, 12.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_all_bf16() -> (tensor<bf16>, tensor<bf16>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %actual = ingot.squared_deviations %0 dims = [0, 1] : (tensor<2x2xbf16>) -> tensor<bf16>
  %expected = ingot.constant dense<5.0> : tensor<bf16>
  func.return %actual, %expected : tensor<bf16>, tensor<bf16>
}

// Each element is its own mean.
func.func @test_no_dims() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.squared_deviations %0 dims = [] : (tensor<2xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<0.0> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_nothing() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<> : tensor<2x0xf32>
  %actual = ingot.squared_deviations %0 dims = [1] : (tensor<2x0xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<0.0> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_not_a_number() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, 2.0], [0x7FC00000, 1.0], [0x7F800000, 1.0]]> :
      tensor<3x2xf32>
  %actual = ingot.squared_deviations %0 dims = [1] : (tensor<3x2xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[0.5, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

// Large means: differences are taken before they are squared.
func.func @test_large_mean() -> (tensor<2xf32>, tensor<2xf32>) attributes {ingot.tolerance = 1.0e-5} {
  %0 = ingot.constant dense<[[1000.5, 999.5, 1001.5, 998.5], [1.0e6, 1000001.0, 1000002.0, 1000003.0]]> :
      tensor<2x4xf32>
  %actual = ingot.squared_deviations %0 dims = [1] : (tensor<2x4xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[5.0, 5.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

// Elements whose squares are no numbers, but whose differences are.
func.func @test_huge() -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = ingot.constant dense<[[1.0e30, 1.0e30, 1.0e30, 1.0e30]]> : tensor<1x4xf32>
  %actual = ingot.squared_deviations %0 dims = [1] : (tensor<1x4xf32>) -> tensor<1xf32>
  %expected = ingot.constant dense<0.0> : tensor<1xf32>
  func.return %actual, %expected : tensor<1xf32>, tensor<1xf32>
}

// Variances of many elements by many threads, as two passes compute them: the mean is a thousand times the deviation.

// Channels last.
func.func @test_channels_last() -> (tensor<40xf32>, tensor<40xf32>) attributes {ingot.tolerance = 1.0e-4} {
  %0 = ingot.iota {dim = 0 : i64} : tensor<81920xi64>
  %1 = ingot.constant dense<23> : tensor<81920xi64>
  %2 = ingot.rem %0, %1 : tensor<81920xi64>
  %3 = ingot.cast %2 : tensor<81920xi64> -> tensor<81920xf32>
  %4 = ingot.constant dense<0.125> : tensor<81920xf32>
  %5 = ingot.mul %3, %4 : tensor<81920xf32>
  %6 = ingot.constant dense<1000.0> : tensor<81920xf32>
  %7 = ingot.add %5, %6 : tensor<81920xf32>
  %x = ingot.reshape %7 : tensor<81920xf32> -> tensor<8x16x16x40xf32>
  %count = ingot.constant dense<2048.0> : tensor<40xf32>
  %deviations = ingot.squared_deviations %x dims = [0, 1, 2] : (tensor<8x16x16x40xf32>) -> tensor<40xf32>
  %actual = ingot.div %deviations, %count : tensor<40xf32>
  %sum = ingot.reduce sum %x dims = [0, 1, 2] : (tensor<8x16x16x40xf32>) -> tensor<40xf32>
  %mean = ingot.div %sum, %count : tensor<40xf32>
  %8 = ingot.broadcast %mean dims = [3] : tensor<40xf32> -> tensor<8x16x16x40xf32>
  %9 = ingot.sub %x, %8 : tensor<8x16x16x40xf32>
  %10 = ingot.abs %9 : tensor<8x16x16x40xf32>
  %11 = ingot.mul %10, %10 : tensor<8x16x16x40xf32>
  %squares = ingot.reduce sum %11 dims = [0, 1, 2] : (tensor<8x16x16x40xf32>) -> tensor<40xf32>
  %expected = ingot.div %squares, %count : tensor<40xf32>
  func.return %actual, %expected : tensor<40xf32>, tensor<40xf32>
}

// Channels first.
func.func @test_channels_first() -> (tensor<40xf32>, tensor<40xf32>) attributes {ingot.tolerance = 1.0e-4} {
  %0 = ingot.iota {dim = 0 : i64} : tensor<81920xi64>
  %1 = ingot.constant dense<23> : tensor<81920xi64>
  %2 = ingot.rem %0, %1 : tensor<81920xi64>
  %3 = ingot.cast %2 : tensor<81920xi64> -> tensor<81920xf32>
  %4 = ingot.constant dense<0.125> : tensor<81920xf32>
  %5 = ingot.mul %3, %4 : tensor<81920xf32>
  %6 = ingot.constant dense<1000.0> : tensor<81920xf32>
  %7 = ingot.add %5, %6 : tensor<81920xf32>
  %x = ingot.reshape %7 : tensor<81920xf32> -> tensor<8x40x16x16xf32>
  %count = ingot.constant dense<2048.0> : tensor<40xf32>
  %deviations = ingot.squared_deviations %x dims = [0, 2, 3] : (tensor<8x40x16x16xf32>) -> tensor<40xf32>
  %actual = ingot.div %deviations, %count : tensor<40xf32>
  %sum = ingot.reduce sum %x dims = [0, 2, 3] : (tensor<8x40x16x16xf32>) -> tensor<40xf32>
  %mean = ingot.div %sum, %count : tensor<40xf32>
  %8 = ingot.broadcast %mean dims = [1] : tensor<40xf32> -> tensor<8x40x16x16xf32>
  %9 = ingot.sub %x, %8 : tensor<8x40x16x16xf32>
  %10 = ingot.abs %9 : tensor<8x40x16x16xf32>
  %11 = ingot.mul %10, %10 : tensor<8x40x16x16xf32>
  %squares = ingot.reduce sum %11 dims = [0, 2, 3] : (tensor<8x40x16x16xf32>) -> tensor<40xf32>
  %expected = ingot.div %squares, %count : tensor<40xf32>
  func.return %actual, %expected : tensor<40xf32>, tensor<40xf32>
}

// Few channels, which fill no 16 bytes, and a prime number of rows.
func.func @test_odd_channels() -> (tensor<3xf32>, tensor<3xf32>) attributes {ingot.tolerance = 1.0e-4} {
  %0 = ingot.iota {dim = 0 : i64} : tensor<12297xi64>
  %1 = ingot.constant dense<23> : tensor<12297xi64>
  %2 = ingot.rem %0, %1 : tensor<12297xi64>
  %3 = ingot.cast %2 : tensor<12297xi64> -> tensor<12297xf32>
  %4 = ingot.constant dense<0.125> : tensor<12297xf32>
  %5 = ingot.mul %3, %4 : tensor<12297xf32>
  %6 = ingot.constant dense<1000.0> : tensor<12297xf32>
  %7 = ingot.add %5, %6 : tensor<12297xf32>
  %x = ingot.reshape %7 : tensor<12297xf32> -> tensor<4099x3xf32>
  %count = ingot.constant dense<4099.0> : tensor<3xf32>
  %deviations = ingot.squared_deviations %x dims = [0] : (tensor<4099x3xf32>) -> tensor<3xf32>
  %actual = ingot.div %deviations, %count : tensor<3xf32>
  %sum = ingot.reduce sum %x dims = [0] : (tensor<4099x3xf32>) -> tensor<3xf32>
  %mean = ingot.div %sum, %count : tensor<3xf32>
  %8 = ingot.broadcast %mean dims = [1] : tensor<3xf32> -> tensor<4099x3xf32>
  %9 = ingot.sub %x, %8 : tensor<4099x3xf32>
  %10 = ingot.abs %9 : tensor<4099x3xf32>
  %11 = ingot.mul %10, %10 : tensor<4099x3xf32>
  %squares = ingot.reduce sum %11 dims = [0] : (tensor<4099x3xf32>) -> tensor<3xf32>
  %expected = ingot.div %squares, %count : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

// All elements.
func.func @test_everything() -> (tensor<f32>, tensor<f32>) attributes {ingot.tolerance = 1.0e-4} {
  %0 = ingot.iota {dim = 0 : i64} : tensor<16496xi64>
  %1 = ingot.constant dense<23> : tensor<16496xi64>
  %2 = ingot.rem %0, %1 : tensor<16496xi64>
  %3 = ingot.cast %2 : tensor<16496xi64> -> tensor<16496xf32>
  %4 = ingot.constant dense<0.125> : tensor<16496xf32>
  %5 = ingot.mul %3, %4 : tensor<16496xf32>
  %6 = ingot.constant dense<1000.0> : tensor<16496xf32>
  %7 = ingot.add %5, %6 : tensor<16496xf32>
  %x = ingot.reshape %7 : tensor<16496xf32> -> tensor<16x1031xf32>
  %count = ingot.constant dense<16496.0> : tensor<f32>
  %deviations = ingot.squared_deviations %x dims = [0, 1] : (tensor<16x1031xf32>) -> tensor<f32>
  %actual = ingot.div %deviations, %count : tensor<f32>
  %sum = ingot.reduce sum %x dims = [0, 1] : (tensor<16x1031xf32>) -> tensor<f32>
  %mean = ingot.div %sum, %count : tensor<f32>
  %8 = ingot.broadcast %mean dims = [] : tensor<f32> -> tensor<16x1031xf32>
  %9 = ingot.sub %x, %8 : tensor<16x1031xf32>
  %10 = ingot.abs %9 : tensor<16x1031xf32>
  %11 = ingot.mul %10, %10 : tensor<16x1031xf32>
  %squares = ingot.reduce sum %11 dims = [0, 1] : (tensor<16x1031xf32>) -> tensor<f32>
  %expected = ingot.div %squares, %count : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

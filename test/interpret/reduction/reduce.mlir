// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Over no elements: 0, 1, the lowest and the highest value.

func.func @test_sum_rows() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce sum %0 dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[5.0, 3.0, -3.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_sum_columns() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce sum %0 dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[2.0, 3.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_sum_all() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce sum %0 dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %expected = ingot.constant dense<5.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_sum_integers() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[[3, -4], [5, 2]]> : tensor<2x2xi64>
  %actual = ingot.reduce sum %0 dims = [1] : (tensor<2x2xi64>) -> tensor<2xi64>
  %expected = ingot.constant dense<[-1, 7]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_prod_rows() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce prod %0 dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[4.0, -10.0, -18.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_prod_columns() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce prod %0 dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[-6.0, -120.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_prod_all() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce prod %0 dims = [0, 1] : (tensor<2x3xf32>) ->
      tensor<f32>
  %expected = ingot.constant dense<720.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_prod_integers() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[[3, -4], [5, 2]]> : tensor<2x2xi64>
  %actual = ingot.reduce prod %0 dims = [1] : (tensor<2x2xi64>) -> tensor<2xi64>
  %expected = ingot.constant dense<[-12, 10]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_max_rows() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce max %0 dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[4.0, 5.0, 3.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_max_columns() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce max %0 dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[3.0, 5.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_max_all() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce max %0 dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %expected = ingot.constant dense<5.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_max_integers() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[[3, -4], [5, 2]]> : tensor<2x2xi64>
  %actual = ingot.reduce max %0 dims = [1] : (tensor<2x2xi64>) -> tensor<2xi64>
  %expected = ingot.constant dense<[3, 5]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_min_rows() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce min %0 dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[1.0, -2.0, -6.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_min_columns() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce min %0 dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[-2.0, -6.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_min_all() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> :
      tensor<2x3xf32>
  %actual = ingot.reduce min %0 dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %expected = ingot.constant dense<-6.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_min_integers() -> (tensor<2xi64>, tensor<2xi64>) {
  %0 = ingot.constant dense<[[3, -4], [5, 2]]> : tensor<2x2xi64>
  %actual = ingot.reduce min %0 dims = [1] : (tensor<2x2xi64>) -> tensor<2xi64>
  %expected = ingot.constant dense<[-4, 2]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_sum_middle() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = ingot.constant dense<[[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0],
      [8.0, 9.0], [10.0, 11.0]]]> : tensor<2x3x2xf32>
  %actual = ingot.reduce sum %0 dims = [1] : (tensor<2x3x2xf32>) ->
      tensor<2x2xf32>
  %expected = ingot.constant dense<[[6.0, 9.0], [24.0, 27.0]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_sum_outer() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0],
      [8.0, 9.0], [10.0, 11.0]]]> : tensor<2x3x2xf32>
  %actual = ingot.reduce sum %0 dims = [0, 2] : (tensor<2x3x2xf32>) ->
      tensor<3xf32>
  %expected = ingot.constant dense<[14.0, 22.0, 30.0]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_sum_no_dims() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %actual = ingot.reduce sum %0 dims = [] : (tensor<2xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_sum_scalar() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<3.0> : tensor<f32>
  %actual = ingot.reduce sum %0 dims = [] : (tensor<f32>) -> tensor<f32>
  %expected = ingot.constant dense<3.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_sum_wraps() -> (tensor<i32>, tensor<i32>) {
  %0 = ingot.constant dense<[2147483647, 1]> : tensor<2xi32>
  %actual = ingot.reduce sum %0 dims = [0] : (tensor<2xi32>) -> tensor<i32>
  %expected = ingot.constant dense<-2147483648> : tensor<i32>
  func.return %actual, %expected : tensor<i32>, tensor<i32>
}

func.func @test_sum_wraps_i8() -> (tensor<i8>, tensor<i8>) {
  %0 = ingot.constant dense<100> : tensor<2xi8>
  %actual = ingot.reduce sum %0 dims = [0] : (tensor<2xi8>) -> tensor<i8>
  %expected = ingot.constant dense<-56> : tensor<i8>
  func.return %actual, %expected : tensor<i8>, tensor<i8>
}

func.func @test_prod_wraps_ui8() -> (tensor<ui8>, tensor<ui8>) {
  %0 = ingot.constant dense<[16, 17]> : tensor<2xui8>
  %actual = ingot.reduce prod %0 dims = [0] : (tensor<2xui8>) -> tensor<ui8>
  %expected = ingot.constant dense<16> : tensor<ui8>
  func.return %actual, %expected : tensor<ui8>, tensor<ui8>
}

func.func @test_max_nan() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, 0x7FC00000, 3.0], [0x7FC00000, 1.0, 2.0],
      [1.0, 2.0, 0x7FC00000]]> : tensor<3x3xf32>
  %actual = ingot.reduce max %0 dims = [1] : (tensor<3x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> :
      tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_min_nan() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<[[1.0, 0x7FC00000, 3.0], [0x7FC00000, 1.0, 2.0],
      [1.0, 2.0, 0x7FC00000]]> : tensor<3x3xf32>
  %actual = ingot.reduce min %0 dims = [1] : (tensor<3x3xf32>) -> tensor<3xf32>
  %expected = ingot.constant dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> :
      tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_max_infinite() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[0xFF800000, 0xFF800000]> : tensor<2xf32>
  %actual = ingot.reduce max %0 dims = [0] : (tensor<2xf32>) -> tensor<f32>
  %expected = ingot.constant dense<0xFF800000> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_sum_infinite() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
  %actual = ingot.reduce sum %0 dims = [0] : (tensor<2xf32>) -> tensor<f32>
  %expected = ingot.constant dense<0x7FC00000> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_sum_of_nothing() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<> : tensor<2x0xf32>
  %actual = ingot.reduce sum %0 dims = [1] : (tensor<2x0xf32>) -> tensor<2xf32>
  %expected = ingot.constant dense<[0.0, 0.0]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_prod_of_nothing() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<> : tensor<0xf32>
  %actual = ingot.reduce prod %0 dims = [0] : (tensor<0xf32>) -> tensor<f32>
  %expected = ingot.constant dense<1.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_max_of_nothing() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<> : tensor<0xf32>
  %actual = ingot.reduce max %0 dims = [0] : (tensor<0xf32>) -> tensor<f32>
  %expected = ingot.constant dense<0xFF800000> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_min_of_nothing() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<> : tensor<0xf32>
  %actual = ingot.reduce min %0 dims = [0] : (tensor<0xf32>) -> tensor<f32>
  %expected = ingot.constant dense<0x7F800000> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_max_of_no_integers() -> (tensor<i32>, tensor<i32>) {
  %0 = ingot.constant dense<> : tensor<0xi32>
  %actual = ingot.reduce max %0 dims = [0] : (tensor<0xi32>) -> tensor<i32>
  %expected = ingot.constant dense<-2147483648> : tensor<i32>
  func.return %actual, %expected : tensor<i32>, tensor<i32>
}

func.func @test_min_of_no_integers() -> (tensor<ui8>, tensor<ui8>) {
  %0 = ingot.constant dense<> : tensor<0xui8>
  %actual = ingot.reduce min %0 dims = [0] : (tensor<0xui8>) -> tensor<ui8>
  %expected = ingot.constant dense<255> : tensor<ui8>
  func.return %actual, %expected : tensor<ui8>, tensor<ui8>
}

func.func @test_max_ui8() -> (tensor<ui8>, tensor<ui8>) {
  %0 = ingot.constant dense<[200, 100]> : tensor<2xui8>
  %actual = ingot.reduce max %0 dims = [0] : (tensor<2xui8>) -> tensor<ui8>
  %expected = ingot.constant dense<200> : tensor<ui8>
  func.return %actual, %expected : tensor<ui8>, tensor<ui8>
}

func.func @test_sum_f16_accumulates_in_f32() -> (tensor<f16>, tensor<f16>) {
  %0 = ingot.constant dense<[2048.0, 1.0, 1.0, 1.0, 1.0]> : tensor<5xf16>
  %actual = ingot.reduce sum %0 dims = [0] : (tensor<5xf16>) -> tensor<f16>
  %expected = ingot.constant dense<2052.0> : tensor<f16>
  func.return %actual, %expected : tensor<f16>, tensor<f16>
}

func.func @test_sum_bf16_accumulates_in_f32() -> (tensor<bf16>, tensor<bf16>) {
  %0 = ingot.constant dense<[256.0, 1.0, 1.0, 1.0, 1.0]> : tensor<5xbf16>
  %actual = ingot.reduce sum %0 dims = [0] : (tensor<5xbf16>) -> tensor<bf16>
  %expected = ingot.constant dense<260.0> : tensor<bf16>
  func.return %actual, %expected : tensor<bf16>, tensor<bf16>
}

func.func @test_prod_f16_accumulates_in_f32() -> (tensor<f16>, tensor<f16>) {
  %0 = ingot.constant dense<[60000.0, 2.0, 0.25]> : tensor<3xf16>
  %actual = ingot.reduce prod %0 dims = [0] : (tensor<3xf16>) -> tensor<f16>
  %expected = ingot.constant dense<30000.0> : tensor<f16>
  func.return %actual, %expected : tensor<f16>, tensor<f16>
}

func.func @test_no_rows() -> (tensor<0xf32>, tensor<0xf32>) {
  %0 = ingot.constant dense<> : tensor<0x2xf32>
  %actual = ingot.reduce sum %0 dims = [1] : (tensor<0x2xf32>) -> tensor<0xf32>
  %expected = ingot.constant dense<> : tensor<0xf32>
  func.return %actual, %expected : tensor<0xf32>, tensor<0xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// 1 and 1.0078125 are neighbours in bf16; the operand is three quarters of the
// way.
func.func @test_chance() -> (tensor<6xbf16>, tensor<6xbf16>) {
  %x = ingot.constant dense<[1.005859375, 1.005859375, 1.005859375, -1.005859375,
      -1.005859375, 1.005859375]> : tensor<6xf32>
  %drawn = ingot.constant dense<[0.0, 0.2499847412109375, 0.25, 0.2499847412109375,
      0.25, 0.99999994]> : tensor<6xf32>
  %actual = ingot.stochastic_round %x, %drawn : (tensor<6xf32>, tensor<6xf32>)
      -> tensor<6xbf16>
  %expected = ingot.constant dense<[1.0, 1.0, 1.0078125, -1.0, -1.0078125,
      1.0078125]> : tensor<6xbf16>
  func.return %actual, %expected : tensor<6xbf16>, tensor<6xbf16>
}

func.func @test_numbers_of_bf16_stay() -> (tensor<6xbf16>, tensor<6xbf16>) {
  %x = ingot.constant dense<[0.0, 1.0, -2.5, 0x7F7F0000, 0x00010000, 0x80800000]>
      : tensor<6xf32>
  %drawn = ingot.constant dense<0.99999994> : tensor<6xf32>
  %actual = ingot.stochastic_round %x, %drawn : (tensor<6xf32>, tensor<6xf32>)
      -> tensor<6xbf16>
  %expected = ingot.constant dense<[0.0, 1.0, -2.5, 0x7F7F, 0x0001, 0x8080]> :
      tensor<6xbf16>
  func.return %actual, %expected : tensor<6xbf16>, tensor<6xbf16>
}

// The largest number has no next one; what is subnormal has a fixed distance.
func.func @test_ends() -> (tensor<7xbf16>, tensor<7xbf16>) {
  %x = ingot.constant dense<[0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
      0x7FFFFFFF, 0x00004000, 0x00004000]> : tensor<7xf32>
  %drawn = ingot.constant dense<[0.99999994, 0.99999994, 0.99999994, 0.5,
      0.99999994, 0.7499847412109375, 0.75]> : tensor<7xf32>
  %actual = ingot.stochastic_round %x, %drawn : (tensor<7xf32>, tensor<7xf32>)
      -> tensor<7xbf16>
  %expected = ingot.constant dense<[0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0,
      0x0000, 0x0001]> : tensor<7xbf16>
  func.return %actual, %expected : tensor<7xbf16>, tensor<7xbf16>
}

// The mean of many roundings is the operand: 1.001953125 is a quarter of the
// way, and the numbers drawn round up 980 of 4,096 times.
func.func @test_mean() -> (tensor<f32>, tensor<f32>) {
  %zero = ingot.constant dense<0> : tensor<i64>
  %drawn = ingot.random_uniform %zero, %zero stream = 1 : (tensor<i64>, tensor<i64>)
      -> tensor<4096xf32>
  %x = ingot.constant dense<1.001953125> : tensor<4096xf32>
  %rounded = ingot.stochastic_round %x, %drawn : (tensor<4096xf32>, tensor<4096xf32>)
      -> tensor<4096xbf16>
  %wide = ingot.cast %rounded : tensor<4096xbf16> -> tensor<4096xf32>
  %one = ingot.constant dense<1.0> : tensor<4096xf32>
  %excess = ingot.sub %wide, %one : tensor<4096xf32>
  %sum = ingot.reduce sum %excess dims = [0] : (tensor<4096xf32>) -> tensor<f32>
  %scale = ingot.constant dense<128.0> : tensor<f32>
  %actual = ingot.mul %sum, %scale : tensor<f32>
  %expected = ingot.constant dense<980.0> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

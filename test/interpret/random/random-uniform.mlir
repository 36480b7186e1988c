// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// The first is the known answer of Philox-4x32-10 for key and counter 0: words
// 6627e8d5 e169c58d bc57ac4c 9b00dbd8. The others were computed by a second
// implementation, which gives all known answers of its authors.

func.func @test_known_answer() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.constant dense<0> : tensor<i64>
  %1 = ingot.constant dense<0> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 0 : (tensor<i64>, tensor<i64>)
      -> tensor<4xf32>
  %expected = ingot.constant dense<[0.39904642, 0.88052016, 0.73571277,
      0.6054818]> : tensor<4xf32>
  func.return %actual, %expected : tensor<4xf32>, tensor<4xf32>
}

func.func @test_f64() -> (tensor<2x2xf64>, tensor<2x2xf64>) {
  %0 = ingot.constant dense<0> : tensor<i64>
  %1 = ingot.constant dense<0> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 0 : (tensor<i64>, tensor<i64>)
      -> tensor<2x2xf64>
  %expected = ingot.constant dense<[[0.3990464210510254, 0.8805201649665833],
      [0.7357127666473389, 0.6054818034172058]]> : tensor<2x2xf64>
  func.return %actual, %expected : tensor<2x2xf64>, tensor<2x2xf64>
}

func.func @test_past_a_block() -> (tensor<2x5xf32>, tensor<2x5xf32>) {
  %0 = ingot.constant dense<42> : tensor<i64>
  %1 = ingot.constant dense<7> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 3 : (tensor<i64>, tensor<i64>)
      -> tensor<2x5xf32>
  %expected = ingot.constant dense<[[0.032142043, 0.82903314, 0.62353575,
      0.7586871, 0.085647464], [0.8738184, 0.7985859, 0.69380367, 0.17881441,
      0.4145226]]> : tensor<2x5xf32>
  func.return %actual, %expected : tensor<2x5xf32>, tensor<2x5xf32>
}

// Columns 1 and 2 of the same numbers, and then the last row alone.
func.func @test_part() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %0 = ingot.constant dense<42> : tensor<i64>
  %1 = ingot.constant dense<7> : tensor<i64>
  %2 = ingot.constant dense<1> : tensor<i64>
  %3 = ingot.constant dense<8> : tensor<i64>
  %actual0 = ingot.random_uniform %0, %1 from %2 of [2, 5] stream = 3 : (tensor<i64>, tensor<i64>, tensor<i64>)
      -> tensor<2x2xf32>
  %actual1 = ingot.random_uniform %0, %1 from %3 of [2, 5] stream = 3 : (tensor<i64>, tensor<i64>, tensor<i64>)
      -> tensor<1x2xf32>
  %expected0 = ingot.constant dense<[[0.82903314, 0.62353575], [0.7985859, 0.69380367]]> : tensor<2x2xf32>
  %expected1 = ingot.constant dense<[[0.17881441, 0.4145226]]> : tensor<1x2xf32>
  func.return %actual0, %expected0, %actual1, %expected1 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2xf32>,
      tensor<1x2xf32>
}

func.func @test_wide_seed() -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = ingot.constant dense<2999170649027065890> : tensor<i64>
  %1 = ingot.constant dense<0> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 0 : (tensor<i64>, tensor<i64>)
      -> tensor<5xf32>
  %expected = ingot.constant dense<[0.056708813, 0.67912406, 0.35042918,
      0.4390056, 0.97518235]> : tensor<5xf32>
  func.return %actual, %expected : tensor<5xf32>, tensor<5xf32>
}

func.func @test_negative_seed() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ingot.constant dense<-1> : tensor<i64>
  %1 = ingot.constant dense<1> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 1 : (tensor<i64>, tensor<i64>)
      -> tensor<4xf32>
  %expected = ingot.constant dense<[0.59928936, 0.34074926, 0.066476166,
      0.2902835]> : tensor<4xf32>
  func.return %actual, %expected : tensor<4xf32>, tensor<4xf32>
}

func.func @test_step_takes_its_low_word() -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = ingot.constant dense<0> : tensor<i64>
  %1 = ingot.constant dense<21474836489> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 0 : (tensor<i64>, tensor<i64>)
      -> tensor<2xf32>
  %expected = ingot.constant dense<[0.9095875, 0.6570195]> : tensor<2xf32>
  func.return %actual, %expected : tensor<2xf32>, tensor<2xf32>
}

func.func @test_stream() -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = ingot.constant dense<0> : tensor<i64>
  %1 = ingot.constant dense<0> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 2147483647 : (tensor<i64>,
      tensor<i64>) -> tensor<3xf32>
  %expected = ingot.constant dense<[0.12026864, 0.5966044, 0.2914788]> :
      tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_scalar() -> (tensor<f32>, tensor<f32>) {
  %0 = ingot.constant dense<1> : tensor<i64>
  %1 = ingot.constant dense<2> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 3 : (tensor<i64>, tensor<i64>)
      -> tensor<f32>
  %expected = ingot.constant dense<0.04678291> : tensor<f32>
  func.return %actual, %expected : tensor<f32>, tensor<f32>
}

func.func @test_empty() -> (tensor<0xf32>, tensor<0xf32>) {
  %0 = ingot.constant dense<1> : tensor<i64>
  %1 = ingot.constant dense<2> : tensor<i64>
  %actual = ingot.random_uniform %0, %1 stream = 3 : (tensor<i64>, tensor<i64>)
      -> tensor<0xf32>
  %expected = ingot.constant dense<> : tensor<0xf32>
  func.return %actual, %expected : tensor<0xf32>, tensor<0xf32>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -

// Booleans, signs, splats, empty tensors and bits survive.

func.func @test_splat() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %actual = ingot.constant dense<0.5> : tensor<2x2xf32>
  %expected = ingot.constant dense<[[0.5, 0.5], [0.5, 0.5]]> : tensor<2x2xf32>
  func.return %actual, %expected : tensor<2x2xf32>, tensor<2x2xf32>
}

func.func @test_resource_f32() -> (tensor<3xf32>, tensor<3xf32>) {
  %actual = ingot.constant dense_resource<floats> : tensor<3xf32>
  %expected = ingot.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  func.return %actual, %expected : tensor<3xf32>, tensor<3xf32>
}

func.func @test_resource_i64() -> (tensor<2xi64>, tensor<2xi64>) {
  %actual = ingot.constant dense_resource<integers> : tensor<2xi64>
  %expected = ingot.constant dense<[7, -1]> : tensor<2xi64>
  func.return %actual, %expected : tensor<2xi64>, tensor<2xi64>
}

func.func @test_resource_bf16() -> (tensor<2xbf16>, tensor<2xbf16>) {
  %actual = ingot.constant dense_resource<halves> : tensor<2xbf16>
  %expected = ingot.constant dense<[1.0, -3.0]> : tensor<2xbf16>
  func.return %actual, %expected : tensor<2xbf16>, tensor<2xbf16>
}

// The bits of the lowest i8 and the highest ui8 through a cast.
func.func @test_signs() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = ingot.constant dense<[-128, 127]> : tensor<2xi8>
  %actual = ingot.cast %0 : tensor<2xi8> -> tensor<2xi32>
  %expected = ingot.constant dense<[-128, 127]> : tensor<2xi32>
  func.return %actual, %expected : tensor<2xi32>, tensor<2xi32>
}

{-#
  dialect_resources: {
    builtin: {
      floats: "0x040000000000803F000000C00000003F",
      integers: "0x080000000700000000000000FFFFFFFFFFFFFFFF",
      halves: "0x02000000803F40C0"
    }
  }
#-}

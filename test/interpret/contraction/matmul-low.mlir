// RUN: ingot-eval %s --expect
// RUN: ingot-eval %s --expect --compiled
// RUN: ingot-eval %s --expect --compiled=0

// Half precision multiplies exactly and accumulates in f32; an f32 result keeps
// what the rounded one loses: 256 + 1 is no bf16.
func.func @test_widened() -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xbf16>, tensor<1x1xbf16>) {
  %a = ingot.constant dense<[[16.0, 1.0]]> : tensor<1x2xbf16>
  %b = ingot.constant dense<[[16.0], [1.0]]> : tensor<2x1xbf16>
  %0 = ingot.matmul %a, %b : (tensor<1x2xbf16>, tensor<2x1xbf16>) -> tensor<1x1xf32>
  %1 = ingot.constant dense<257.0> : tensor<1x1xf32>
  %2 = ingot.matmul %a, %b : (tensor<1x2xbf16>, tensor<2x1xbf16>) -> tensor<1x1xbf16>
  %3 = ingot.constant dense<256.0> : tensor<1x1xbf16>
  return %0, %1, %2, %3 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xbf16>, tensor<1x1xbf16>
}

func.func @test_f16() -> (tensor<1x1xf32>, tensor<1x1xf32>, tensor<2x2xf16>, tensor<2x2xf16>) {
  %a = ingot.constant dense<[[2048.0, 1.0]]> : tensor<1x2xf16>
  %b = ingot.constant dense<[[1.0, 1.0]]> : tensor<1x2xf16>
  %0 = ingot.matmul %a, %b transposed : (tensor<1x2xf16>, tensor<1x2xf16>) -> tensor<1x1xf32>
  %1 = ingot.constant dense<2049.0> : tensor<1x1xf32>
  %2 = ingot.matmul %a transposed, %b : (tensor<1x2xf16>, tensor<1x2xf16>) -> tensor<2x2xf16>
  %3 = ingot.constant dense<[[2048.0, 2048.0], [1.0, 1.0]]> : tensor<2x2xf16>
  return %0, %1, %2, %3 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<2x2xf16>, tensor<2x2xf16>
}

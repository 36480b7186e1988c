// RUN: ingot-eval --expect %s
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-attach-target=target=cuda --ingot-decompose=keep-anchors %s | ingot-eval --expect -

// In half precision and sizes that a device's library takes whole, against
// attention of three tensors in f32, which it does not.

func.func @test_causal_bf16() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
  %p0 = ingot.iota {dim = 0 : i64} : tensor<6144xi64>
  %p1 = ingot.constant dense<23> : tensor<6144xi64>
  %p2 = ingot.rem %p0, %p1 : tensor<6144xi64>
  %p3 = ingot.constant dense<11> : tensor<6144xi64>
  %p4 = ingot.sub %p2, %p3 : tensor<6144xi64>
  %p5 = ingot.cast %p4 : tensor<6144xi64> -> tensor<6144xf32>
  %p6 = ingot.constant dense<0.125> : tensor<6144xf32>
  %p7 = ingot.mul %p5, %p6 : tensor<6144xf32>
  %pw = ingot.reshape %p7 : tensor<6144xf32> -> tensor<2x16x12x16xf32>
  %p = ingot.cast %pw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.25> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %r, %l = ingot.packed_attention %p {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dp = ingot.packed_attention_grad %p, %r, %l, %g {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>) -> tensor<2x16x12x16xbf16>
  %q = ingot.slice %pw starts = [0, 0, 0, 0] limits = [2, 16, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %k = ingot.slice %pw starts = [0, 0, 4, 0] limits = [2, 16, 8, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %v = ingot.slice %pw starts = [0, 0, 8, 0] limits = [2, 16, 12, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %rw, %lw = ingot.attention %q, %k, %v {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %rw, %lw, %gw {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %dw = ingot.concat %dq, %dk, %dv dim = 2 : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x12x16xf32>
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dx = ingot.cast %dw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  return %r, %rx, %l, %lw, %dp, %dx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>
}

// Two heads share keys and values.
func.func @test_grouped_bf16() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x8x16xbf16>, tensor<2x16x8x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
  %p0 = ingot.iota {dim = 0 : i64} : tensor<4096xi64>
  %p1 = ingot.constant dense<23> : tensor<4096xi64>
  %p2 = ingot.rem %p0, %p1 : tensor<4096xi64>
  %p3 = ingot.constant dense<11> : tensor<4096xi64>
  %p4 = ingot.sub %p2, %p3 : tensor<4096xi64>
  %p5 = ingot.cast %p4 : tensor<4096xi64> -> tensor<4096xf32>
  %p6 = ingot.constant dense<0.125> : tensor<4096xf32>
  %p7 = ingot.mul %p5, %p6 : tensor<4096xf32>
  %pw = ingot.reshape %p7 : tensor<4096xf32> -> tensor<2x16x8x16xf32>
  %p = ingot.cast %pw : tensor<2x16x8x16xf32> -> tensor<2x16x8x16xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.25> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %r, %l = ingot.packed_attention %p {key_heads = 2 : i64, scale = 0.25 : f64} : (tensor<2x16x8x16xbf16>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dp = ingot.packed_attention_grad %p, %r, %l, %g {key_heads = 2 : i64, scale = 0.25 : f64} : (tensor<2x16x8x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>) -> tensor<2x16x8x16xbf16>
  %q = ingot.slice %pw starts = [0, 0, 0, 0] limits = [2, 16, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x16x8x16xf32>) -> tensor<2x16x4x16xf32>
  %k = ingot.slice %pw starts = [0, 0, 4, 0] limits = [2, 16, 6, 16] strides = [1, 1, 1, 1] : (tensor<2x16x8x16xf32>) -> tensor<2x16x2x16xf32>
  %v = ingot.slice %pw starts = [0, 0, 6, 0] limits = [2, 16, 8, 16] strides = [1, 1, 1, 1] : (tensor<2x16x8x16xf32>) -> tensor<2x16x2x16xf32>
  %rw, %lw = ingot.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x2x16xf32>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %rw, %lw, %gw {scale = 0.25 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>) -> (tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x2x16xf32>)
  %dw = ingot.concat %dq, %dk, %dv dim = 2 : (tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x2x16xf32>) -> tensor<2x16x8x16xf32>
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dx = ingot.cast %dw : tensor<2x16x8x16xf32> -> tensor<2x16x8x16xbf16>
  return %r, %rx, %l, %lw, %dp, %dx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x8x16xbf16>, tensor<2x16x8x16xbf16>
}

func.func @test_causal_f16() -> (tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xf16>, tensor<2x16x12x16xf16>) attributes {ingot.tolerance = 3.0e-3} {
  %p0 = ingot.iota {dim = 0 : i64} : tensor<6144xi64>
  %p1 = ingot.constant dense<23> : tensor<6144xi64>
  %p2 = ingot.rem %p0, %p1 : tensor<6144xi64>
  %p3 = ingot.constant dense<11> : tensor<6144xi64>
  %p4 = ingot.sub %p2, %p3 : tensor<6144xi64>
  %p5 = ingot.cast %p4 : tensor<6144xi64> -> tensor<6144xf32>
  %p6 = ingot.constant dense<0.125> : tensor<6144xf32>
  %p7 = ingot.mul %p5, %p6 : tensor<6144xf32>
  %pw = ingot.reshape %p7 : tensor<6144xf32> -> tensor<2x16x12x16xf32>
  %p = ingot.cast %pw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.25> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %r, %l = ingot.packed_attention %p {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xf16>) -> (tensor<2x16x4x16xf16>, tensor<2x4x16xf32>)
  %dp = ingot.packed_attention_grad %p, %r, %l, %g {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xf16>, tensor<2x16x4x16xf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xf16>) -> tensor<2x16x12x16xf16>
  %q = ingot.slice %pw starts = [0, 0, 0, 0] limits = [2, 16, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %k = ingot.slice %pw starts = [0, 0, 4, 0] limits = [2, 16, 8, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %v = ingot.slice %pw starts = [0, 0, 8, 0] limits = [2, 16, 12, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %rw, %lw = ingot.attention %q, %k, %v {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %rw, %lw, %gw {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %dw = ingot.concat %dq, %dk, %dv dim = 2 : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x12x16xf32>
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %dx = ingot.cast %dw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xf16>
  return %r, %rx, %l, %lw, %dp, %dx : tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xf16>, tensor<2x16x12x16xf16>
}

// Keys that are hidden, as a device's library has to be told.
func.func @test_masked_bf16() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
  %mask = ingot.constant dense<[[[[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]]], [[[true, true, true, false, true, true, true, true, true, false, false, false, false, false, false, false]]]]> : tensor<2x1x1x16xi1>
  %shown = ingot.constant dense<0.0> : tensor<2x1x1x16xf32>
  %hidden = ingot.constant dense<-16777216.0> : tensor<2x1x1x16xf32>
  %bias = ingot.select %mask, %shown, %hidden : tensor<2x1x1x16xi1>, tensor<2x1x1x16xf32>
  %p0 = ingot.iota {dim = 0 : i64} : tensor<6144xi64>
  %p1 = ingot.constant dense<23> : tensor<6144xi64>
  %p2 = ingot.rem %p0, %p1 : tensor<6144xi64>
  %p3 = ingot.constant dense<11> : tensor<6144xi64>
  %p4 = ingot.sub %p2, %p3 : tensor<6144xi64>
  %p5 = ingot.cast %p4 : tensor<6144xi64> -> tensor<6144xf32>
  %p6 = ingot.constant dense<0.125> : tensor<6144xf32>
  %p7 = ingot.mul %p5, %p6 : tensor<6144xf32>
  %pw = ingot.reshape %p7 : tensor<6144xf32> -> tensor<2x16x12x16xf32>
  %p = ingot.cast %pw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.25> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %r, %l = ingot.packed_attention %p bias %bias {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x1x1x16xf32>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dp = ingot.packed_attention_grad %p, %r, %l, %g bias %bias {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2x1x1x16xf32>) -> tensor<2x16x12x16xbf16>
  %q = ingot.slice %pw starts = [0, 0, 0, 0] limits = [2, 16, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %k = ingot.slice %pw starts = [0, 0, 4, 0] limits = [2, 16, 8, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %v = ingot.slice %pw starts = [0, 0, 8, 0] limits = [2, 16, 12, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %rw, %lw = ingot.attention %q, %k, %v mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %rw, %lw, %gw mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %dw = ingot.concat %dq, %dk, %dv dim = 2 : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x12x16xf32>
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dx = ingot.cast %dw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  return %r, %rx, %l, %lw, %dp, %dx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>
}

// The same with a bias of each query, as the library's gradient needs it.
func.func @test_masked_each_bf16() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
  %mask = ingot.constant dense<[[[[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]]], [[[true, true, true, false, true, true, true, true, true, false, false, false, false, false, false, false]]]]> : tensor<2x1x1x16xi1>
  %shown = ingot.constant dense<0.0> : tensor<2x1x1x16xf32>
  %hidden = ingot.constant dense<-16777216.0> : tensor<2x1x1x16xf32>
  %shared = ingot.select %mask, %shown, %hidden : tensor<2x1x1x16xi1>, tensor<2x1x1x16xf32>
  %bias = ingot.broadcast %shared dims = [0, 1, 2, 3] : tensor<2x1x1x16xf32> -> tensor<2x1x16x16xf32>
  %p0 = ingot.iota {dim = 0 : i64} : tensor<6144xi64>
  %p1 = ingot.constant dense<23> : tensor<6144xi64>
  %p2 = ingot.rem %p0, %p1 : tensor<6144xi64>
  %p3 = ingot.constant dense<11> : tensor<6144xi64>
  %p4 = ingot.sub %p2, %p3 : tensor<6144xi64>
  %p5 = ingot.cast %p4 : tensor<6144xi64> -> tensor<6144xf32>
  %p6 = ingot.constant dense<0.125> : tensor<6144xf32>
  %p7 = ingot.mul %p5, %p6 : tensor<6144xf32>
  %pw = ingot.reshape %p7 : tensor<6144xf32> -> tensor<2x16x12x16xf32>
  %p = ingot.cast %pw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.25> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %r, %l = ingot.packed_attention %p bias %bias {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dp = ingot.packed_attention_grad %p, %r, %l, %g bias %bias {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2x1x16x16xf32>) -> tensor<2x16x12x16xbf16>
  %q = ingot.slice %pw starts = [0, 0, 0, 0] limits = [2, 16, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %k = ingot.slice %pw starts = [0, 0, 4, 0] limits = [2, 16, 8, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %v = ingot.slice %pw starts = [0, 0, 8, 0] limits = [2, 16, 12, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %rw, %lw = ingot.attention %q, %k, %v mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %rw, %lw, %gw mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %dw = ingot.concat %dq, %dk, %dv dim = 2 : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x12x16xf32>
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dx = ingot.cast %dw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  return %r, %rx, %l, %lw, %dp, %dx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>
}

// Queries that see no key: the call has the mean of their values, and numbers.
func.func @test_blind_bf16() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
  %mask = ingot.constant dense<[[[[true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]]], [[[false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false]]]]> : tensor<2x1x1x16xi1>
  %shown = ingot.constant dense<0.0> : tensor<2x1x1x16xf32>
  %hidden = ingot.constant dense<-16777216.0> : tensor<2x1x1x16xf32>
  %bias = ingot.select %mask, %shown, %hidden : tensor<2x1x1x16xi1>, tensor<2x1x1x16xf32>
  %p0 = ingot.iota {dim = 0 : i64} : tensor<6144xi64>
  %p1 = ingot.constant dense<23> : tensor<6144xi64>
  %p2 = ingot.rem %p0, %p1 : tensor<6144xi64>
  %p3 = ingot.constant dense<11> : tensor<6144xi64>
  %p4 = ingot.sub %p2, %p3 : tensor<6144xi64>
  %p5 = ingot.cast %p4 : tensor<6144xi64> -> tensor<6144xf32>
  %p6 = ingot.constant dense<0.125> : tensor<6144xf32>
  %p7 = ingot.mul %p5, %p6 : tensor<6144xf32>
  %pw = ingot.reshape %p7 : tensor<6144xf32> -> tensor<2x16x12x16xf32>
  %p = ingot.cast %pw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.25> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %r, %l = ingot.packed_attention %p bias %bias {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x1x1x16xf32>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %sample = ingot.constant dense<[true, false]> : tensor<2xi1>
  %sees = ingot.broadcast %sample dims = [0] : tensor<2xi1> -> tensor<2x16x4x16xi1>
  %none = ingot.constant dense<0.0> : tensor<2x16x4x16xbf16>
  %rs = ingot.select %sees, %r, %none : tensor<2x16x4x16xi1>, tensor<2x16x4x16xbf16>
  %gs = ingot.select %sees, %g, %none : tensor<2x16x4x16xi1>, tensor<2x16x4x16xbf16>
  %dp = ingot.packed_attention_grad %p, %r, %l, %gs bias %bias {key_heads = 4 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x12x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2x1x1x16xf32>) -> tensor<2x16x12x16xbf16>
  %q = ingot.slice %pw starts = [0, 0, 0, 0] limits = [2, 16, 4, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %k = ingot.slice %pw starts = [0, 0, 4, 0] limits = [2, 16, 8, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %v = ingot.slice %pw starts = [0, 0, 8, 0] limits = [2, 16, 12, 16] strides = [1, 1, 1, 1] : (tensor<2x16x12x16xf32>) -> tensor<2x16x4x16xf32>
  %rw, %lw = ingot.attention %q, %k, %v mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %rw, %lw, %gw mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %dw = ingot.concat %dq, %dk, %dv dim = 2 : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x12x16xf32>
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dx = ingot.cast %dw : tensor<2x16x12x16xf32> -> tensor<2x16x12x16xbf16>
  return %rs, %rx, %dp, %dx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x12x16xbf16>, tensor<2x16x12x16xbf16>
}

// RUN: ingot-eval --expect %s
// RUN: ingot-opt --ingot-decompose %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-attach-target=target=cuda --ingot-decompose=keep-anchors %s | ingot-eval --expect -

// In half precision and sizes that a device's library takes whole.

// Lengths, against a mask in f32, which a library does not take.
func.func @test_lengths_bf16() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
  %q0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %q1 = ingot.constant dense<23> : tensor<2048xi64>
  %q2 = ingot.rem %q0, %q1 : tensor<2048xi64>
  %q3 = ingot.constant dense<11> : tensor<2048xi64>
  %q4 = ingot.sub %q2, %q3 : tensor<2048xi64>
  %q5 = ingot.cast %q4 : tensor<2048xi64> -> tensor<2048xf32>
  %q6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %q7 = ingot.mul %q5, %q6 : tensor<2048xf32>
  %qw = ingot.reshape %q7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %q = ingot.cast %qw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %k0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %k1 = ingot.constant dense<19> : tensor<2048xi64>
  %k2 = ingot.rem %k0, %k1 : tensor<2048xi64>
  %k3 = ingot.constant dense<9> : tensor<2048xi64>
  %k4 = ingot.sub %k2, %k3 : tensor<2048xi64>
  %k5 = ingot.cast %k4 : tensor<2048xi64> -> tensor<2048xf32>
  %k6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %k7 = ingot.mul %k5, %k6 : tensor<2048xf32>
  %kw = ingot.reshape %k7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %k = ingot.cast %kw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %v0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %v1 = ingot.constant dense<17> : tensor<2048xi64>
  %v2 = ingot.rem %v0, %v1 : tensor<2048xi64>
  %v3 = ingot.constant dense<8> : tensor<2048xi64>
  %v4 = ingot.sub %v2, %v3 : tensor<2048xi64>
  %v5 = ingot.cast %v4 : tensor<2048xi64> -> tensor<2048xf32>
  %v6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %v7 = ingot.mul %v5, %v6 : tensor<2048xf32>
  %vw = ingot.reshape %v7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %v = ingot.cast %vw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %lengths = ingot.constant dense<[5, 16]> : tensor<2xi32>
  %r, %l = ingot.attention %q, %k, %v lengths %lengths {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2xi32>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %r, %l, %g lengths %lengths {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2xi32>) -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>)
  %at = ingot.iota {dim = 3 : i64} : tensor<2x1x1x16xi32>
  %end = ingot.broadcast %lengths dims = [0] : tensor<2xi32> -> tensor<2x1x1x16xi32>
  %mask = ingot.compare lt %at, %end : (tensor<2x1x1x16xi32>, tensor<2x1x1x16xi32>) -> tensor<2x1x1x16xi1>
  %rw, %lw = ingot.attention %qw, %kw, %vw mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dqw, %dkw, %dvw = ingot.attention_grad %qw, %kw, %vw, %rw, %lw, %gw mask %mask {scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dqx = ingot.cast %dqw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dkx = ingot.cast %dkw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  %dvx = ingot.cast %dvw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xbf16>
  return %r, %rx, %l, %lw, %dq, %dqx, %dk, %dkx, %dv, %dvx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>
}

func.func @test_lengths_f16() -> (tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>) attributes {ingot.tolerance = 2.0e-2} {
  %q0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %q1 = ingot.constant dense<23> : tensor<2048xi64>
  %q2 = ingot.rem %q0, %q1 : tensor<2048xi64>
  %q3 = ingot.constant dense<11> : tensor<2048xi64>
  %q4 = ingot.sub %q2, %q3 : tensor<2048xi64>
  %q5 = ingot.cast %q4 : tensor<2048xi64> -> tensor<2048xf32>
  %q6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %q7 = ingot.mul %q5, %q6 : tensor<2048xf32>
  %qw = ingot.reshape %q7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %q = ingot.cast %qw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %k0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %k1 = ingot.constant dense<19> : tensor<2048xi64>
  %k2 = ingot.rem %k0, %k1 : tensor<2048xi64>
  %k3 = ingot.constant dense<9> : tensor<2048xi64>
  %k4 = ingot.sub %k2, %k3 : tensor<2048xi64>
  %k5 = ingot.cast %k4 : tensor<2048xi64> -> tensor<2048xf32>
  %k6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %k7 = ingot.mul %k5, %k6 : tensor<2048xf32>
  %kw = ingot.reshape %k7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %k = ingot.cast %kw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %v0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %v1 = ingot.constant dense<17> : tensor<2048xi64>
  %v2 = ingot.rem %v0, %v1 : tensor<2048xi64>
  %v3 = ingot.constant dense<8> : tensor<2048xi64>
  %v4 = ingot.sub %v2, %v3 : tensor<2048xi64>
  %v5 = ingot.cast %v4 : tensor<2048xi64> -> tensor<2048xf32>
  %v6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %v7 = ingot.mul %v5, %v6 : tensor<2048xf32>
  %vw = ingot.reshape %v7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %v = ingot.cast %vw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %g0 = ingot.iota {dim = 0 : i64} : tensor<2048xi64>
  %g1 = ingot.constant dense<7> : tensor<2048xi64>
  %g2 = ingot.rem %g0, %g1 : tensor<2048xi64>
  %g3 = ingot.constant dense<3> : tensor<2048xi64>
  %g4 = ingot.sub %g2, %g3 : tensor<2048xi64>
  %g5 = ingot.cast %g4 : tensor<2048xi64> -> tensor<2048xf32>
  %g6 = ingot.constant dense<0.125> : tensor<2048xf32>
  %g7 = ingot.mul %g5, %g6 : tensor<2048xf32>
  %gw = ingot.reshape %g7 : tensor<2048xf32> -> tensor<2x16x4x16xf32>
  %g = ingot.cast %gw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %lengths = ingot.constant dense<[1, 13]> : tensor<2xi32>
  %r, %l = ingot.attention %q, %k, %v lengths %lengths {scale = 0.25 : f64} : (tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2xi32>) -> (tensor<2x16x4x16xf16>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %v, %r, %l, %g lengths %lengths {scale = 0.25 : f64} : (tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xf16>, tensor<2xi32>) -> (tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>)
  %at = ingot.iota {dim = 3 : i64} : tensor<2x1x1x16xi32>
  %end = ingot.broadcast %lengths dims = [0] : tensor<2xi32> -> tensor<2x1x1x16xi32>
  %mask = ingot.compare lt %at, %end : (tensor<2x1x1x16xi32>, tensor<2x1x1x16xi32>) -> tensor<2x1x1x16xi1>
  %rw, %lw = ingot.attention %qw, %kw, %vw mask %mask {scale = 0.25 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>)
  %dqw, %dkw, %dvw = ingot.attention_grad %qw, %kw, %vw, %rw, %lw, %gw mask %mask {scale = 0.25 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x1x1x16xi1>) -> (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>)
  %rx = ingot.cast %rw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %dqx = ingot.cast %dqw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %dkx = ingot.cast %dkw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  %dvx = ingot.cast %dvw : tensor<2x16x4x16xf32> -> tensor<2x16x4x16xf16>
  return %r, %rx, %l, %lw, %dq, %dqx, %dk, %dkx, %dv, %dvx : tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>, tensor<2x16x4x16xf16>
}

// Two heads share keys; dropout of nothing, with lengths, is lengths.
func.func @test_packed_nothing_dropped() -> (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x8x16xbf16>, tensor<2x16x8x16xbf16>) attributes {ingot.tolerance = 2.0e-2} {
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
  %lengths = ingot.constant dense<[16, 7]> : tensor<2xi32>
  %seed = ingot.constant dense<3> : tensor<i64>
  %r, %l = ingot.packed_attention %p lengths %lengths dropout %seed, %seed {key_heads = 2 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x8x16xbf16>, tensor<2xi32>, tensor<i64>, tensor<i64>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dp = ingot.packed_attention_grad %p, %r, %l, %g lengths %lengths dropout %seed, %seed {key_heads = 2 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x8x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x16x8x16xbf16>
  %rx, %lx = ingot.packed_attention %p lengths %lengths {key_heads = 2 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x8x16xbf16>, tensor<2xi32>) -> (tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>)
  %dx = ingot.packed_attention_grad %p, %rx, %lx, %g lengths %lengths {key_heads = 2 : i64, scale = 0.25 : f64, right = 0 : i64} : (tensor<2x16x8x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x16x4x16xbf16>, tensor<2xi32>) -> tensor<2x16x8x16xbf16>
  return %r, %rx, %l, %lx, %dp, %dx : tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x16x8x16xbf16>, tensor<2x16x8x16xbf16>
}

// A device's library drops other weights than the processor: what holds for any that are a half of all, drawn apart.
// Scores are 0 and values 1, so that a result is twice the share that its query keeps, 1 on average. With 2,048 queries
// of 256 keys, the mean is within 0.007 (five deviations), and the squares of what results differ by from 1 add up to 8,
// a fifth more or less (six deviations); so does half the square of what they differ by from those of another seed.
// With c the result less 1 as its cotangent, the gradient of the values, summed up, is the sum of result * c, and the
// gradient of the queries, whose keys are equal, is 0, if the same weights are dropped in both directions: with others
// the sum of c * c is missing in one, and is left in the other.
func.func @test_dropout() -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %q = ingot.constant dense<0.0> : tensor<2x256x4x16xbf16>
  %k = ingot.constant dense<1.0> : tensor<2x256x2x16xbf16>
  %seed = ingot.constant dense<1234567> : tensor<i64>
  %step = ingot.constant dense<8> : tensor<i64>
  %next = ingot.constant dense<7654321> : tensor<i64>
  %r, %l = ingot.attention %q, %k, %k dropout %seed, %step {scale = 1.0 : f64, ratio = 0.5 : f64, stream = 2 : i32} : (tensor<2x256x4x16xbf16>, tensor<2x256x2x16xbf16>, tensor<2x256x2x16xbf16>, tensor<i64>, tensor<i64>) -> (tensor<2x256x4x16xbf16>, tensor<2x4x256xf32>)
  %n, %ln = ingot.attention %q, %k, %k dropout %next, %step {scale = 1.0 : f64, ratio = 0.5 : f64, stream = 2 : i32} : (tensor<2x256x4x16xbf16>, tensor<2x256x2x16xbf16>, tensor<2x256x2x16xbf16>, tensor<i64>, tensor<i64>) -> (tensor<2x256x4x16xbf16>, tensor<2x4x256xf32>)
  %one = ingot.constant dense<1.0> : tensor<2x256x4x16xbf16>
  %c = ingot.sub %r, %one : tensor<2x256x4x16xbf16>
  %dq, %dk, %dv = ingot.attention_grad %q, %k, %k, %r, %l, %c dropout %seed, %step {scale = 1.0 : f64, ratio = 0.5 : f64, stream = 2 : i32} : (tensor<2x256x4x16xbf16>, tensor<2x256x2x16xbf16>, tensor<2x256x2x16xbf16>, tensor<2x256x4x16xbf16>, tensor<2x4x256xf32>, tensor<2x256x4x16xbf16>, tensor<i64>, tensor<i64>) -> (tensor<2x256x4x16xbf16>, tensor<2x256x2x16xbf16>, tensor<2x256x2x16xbf16>)

  // One of the equal columns.
  %rf = ingot.cast %r : tensor<2x256x4x16xbf16> -> tensor<2x256x4x16xf32>
  %r0 = ingot.slice %rf starts = [0, 0, 0, 0] limits = [2, 256, 4, 1] strides = [1, 1, 1, 1] : (tensor<2x256x4x16xf32>) -> tensor<2x256x4x1xf32>
  %rs = ingot.reshape %r0 : tensor<2x256x4x1xf32> -> tensor<2048xf32>
  %nf = ingot.cast %n : tensor<2x256x4x16xbf16> -> tensor<2x256x4x16xf32>
  %n0 = ingot.slice %nf starts = [0, 0, 0, 0] limits = [2, 256, 4, 1] strides = [1, 1, 1, 1] : (tensor<2x256x4x16xf32>) -> tensor<2x256x4x1xf32>
  %ns = ingot.reshape %n0 : tensor<2x256x4x1xf32> -> tensor<2048xf32>
  %ones = ingot.constant dense<1.0> : tensor<2048xf32>
  %cs = ingot.sub %rs, %ones : tensor<2048xf32>
  %count = ingot.constant dense<2048.0> : tensor<f32>

  %sum = ingot.reduce sum %cs dims = [0] : (tensor<2048xf32>) -> tensor<f32>
  %mean = ingot.div %sum, %count : tensor<f32>
  %off = ingot.abs %mean : tensor<f32>
  %most = ingot.constant dense<0.007> : tensor<f32>
  %isCentred = ingot.compare lt %off, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %squares = ingot.mul %cs, %cs : tensor<2048xf32>
  %variance = ingot.reduce sum %squares dims = [0] : (tensor<2048xf32>) -> tensor<f32>
  %expected = ingot.constant dense<8.00000000> : tensor<f32>
  %fifth = ingot.constant dense<1.60000000> : tensor<f32>
  %away = ingot.sub %variance, %expected : tensor<f32>
  %far = ingot.abs %away : tensor<f32>
  %isSpread = ingot.compare lt %far, %fifth : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %d = ingot.sub %rs, %ns : tensor<2048xf32>
  %dd = ingot.mul %d, %d : tensor<2048xf32>
  %apart = ingot.reduce sum %dd dims = [0] : (tensor<2048xf32>) -> tensor<f32>
  %half = ingot.constant dense<0.5> : tensor<f32>
  %halved = ingot.mul %apart, %half : tensor<f32>
  %gap = ingot.sub %halved, %expected : tensor<f32>
  %wide = ingot.abs %gap : tensor<f32>
  %areOthers = ingot.compare lt %wide, %fifth : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %dvf = ingot.cast %dv : tensor<2x256x2x16xbf16> -> tensor<2x256x2x16xf32>
  %dv0 = ingot.slice %dvf starts = [0, 0, 0, 0] limits = [2, 256, 2, 1] strides = [1, 1, 1, 1] : (tensor<2x256x2x16xf32>) -> tensor<2x256x2x1xf32>
  %through = ingot.reduce sum %dv0 dims = [0, 1, 2, 3] : (tensor<2x256x2x1xf32>) -> tensor<f32>
  %rc = ingot.mul %rs, %cs : tensor<2048xf32>
  %direct = ingot.reduce sum %rc dims = [0] : (tensor<2048xf32>) -> tensor<f32>
  %difference = ingot.sub %through, %direct : tensor<f32>
  %error = ingot.abs %difference : tensor<f32>
  %isLinear = ingot.compare lt %error, %fifth : (tensor<f32>, tensor<f32>) -> tensor<i1>

  // Squares of gradients, as a share of those of (columns * c * c), about what each would be.
  %dqf = ingot.cast %dq : tensor<2x256x4x16xbf16> -> tensor<2x256x4x16xf32>
  %dq0 = ingot.slice %dqf starts = [0, 0, 0, 0] limits = [2, 256, 4, 1] strides = [1, 1, 1, 1] : (tensor<2x256x4x16xf32>) -> tensor<2x256x4x1xf32>
  %dqs = ingot.reshape %dq0 : tensor<2x256x4x1xf32> -> tensor<2048xf32>
  %dqq = ingot.mul %dqs, %dqs : tensor<2048xf32>
  %left = ingot.reduce sum %dqq dims = [0] : (tensor<2048xf32>) -> tensor<f32>
  %columns = ingot.constant dense<16.0> : tensor<2048xf32>
  %whole = ingot.mul %squares, %columns : tensor<2048xf32>
  %wholes = ingot.mul %whole, %whole : tensor<2048xf32>
  %total = ingot.reduce sum %wholes dims = [0] : (tensor<2048xf32>) -> tensor<f32>
  %twentieth = ingot.constant dense<0.05> : tensor<f32>
  %bound = ingot.mul %total, %twentieth : tensor<f32>
  %cancels = ingot.compare lt %left, %bound : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %true = ingot.constant dense<true> : tensor<i1>
  return %isCentred, %true, %isSpread, %true, %areOthers, %true, %isLinear, %true, %cancels, %true : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}

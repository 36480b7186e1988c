// RUN: ingot-eval %s --expect
// RUN: ingot-eval %s --expect --compiled
// RUN: ingot-opt %s --ingot-form-fusions="library-epilogues" | FileCheck %s

// What libraries of devices finish products with (docs/design/epilogues.md), as
// loops that kernels and the emulator run where a library does not: values of
// NumPy. Residuals are reshaped, as results may not replace what they read.
//
// CHECK-LABEL: func @test_bias_f32
//       CHECK: library = #ingot.library_epilogue<identity bias = {{.*}}result = 0>
func.func @test_bias_f32() -> (tensor<3x8xf32>, tensor<3x8xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf32>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %want0 = ingot.constant dense<[[0.265625, 0.25, -0.984375, -2.9375, 0.5625, 0.25, -1.046875, 1.4375], [-0.609375, 0.8125, -0.5625, -0.125, -0.84375, 0.375, -1.03125, 0.875], [0.71875, -0.40625, -2.28125, -1.40625, -0.5625, -0.40625, -1.34375, 0.875]]> : tensor<3x8xf32>
  return %x, %want0 : tensor<3x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: func @test_residual_relu_f32
//       CHECK: library = #ingot.library_epilogue<relu bias = {{.*}} addend = {{.*}} result = 0>
func.func @test_residual_relu_f32() -> (tensor<3x8xf32>, tensor<3x8xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf32>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf32>
  %r = ingot.constant dense<[-0.375, -0.625, 0.125, 0.875, 0.875, 0.75, -0.375, -1.0, 0.625, 0.5, 0.625, -1.0, -1.0, 0.0, -0.375, -0.125, 0.875, -0.625, 0.0, -0.375, -0.375, 0.625, -0.75, -0.375]> : tensor<24xf32>
  %zero = ingot.constant dense<0.0> : tensor<3x8xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %rr = ingot.reshape %r : tensor<24xf32> -> tensor<3x8xf32>
  %x1 = ingot.add %rr, %x : tensor<3x8xf32>
  %m = ingot.max %x1, %zero : tensor<3x8xf32>
  %want0 = ingot.constant dense<[[0.0, 0.0, 0.0, 0.0, 1.4375, 1.0, 0.0, 0.4375], [0.015625, 1.3125, 0.0625, 0.0, 0.0, 0.375, 0.0, 0.75], [1.59375, 0.0, 0.0, 0.0, 0.0, 0.21875, 0.0, 0.5]]> : tensor<3x8xf32>
  return %m, %want0 : tensor<3x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: func @test_gelu_f32
//       CHECK: library = #ingot.library_epilogue<gelu bias = {{.*}} result = 0>
func.func @test_gelu_f32() -> (tensor<3x8xf32>, tensor<3x8xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %k = ingot.constant dense<0.797884583> : tensor<3x8xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<3x8xf32>
  %one = ingot.constant dense<1.0> : tensor<3x8xf32>
  %half = ingot.constant dense<0.5> : tensor<3x8xf32>
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf32>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %x2 = ingot.mul %x, %x : tensor<3x8xf32>
  %x3 = ingot.mul %x2, %x : tensor<3x8xf32>
  %cx3 = ingot.mul %x3, %c : tensor<3x8xf32>
  %s = ingot.add %x, %cx3 : tensor<3x8xf32>
  %ks = ingot.mul %s, %k : tensor<3x8xf32>
  %t = ingot.tanh %ks : tensor<3x8xf32>
  %t1 = ingot.add %t, %one : tensor<3x8xf32>
  %h = ingot.mul %t1, %half : tensor<3x8xf32>
  %u = ingot.mul %x, %h : tensor<3x8xf32>
  %want0 = ingot.constant dense<[[0.1606314331293106, 0.14967535436153412, -0.16007430851459503, -0.004426346160471439, 0.40109938383102417, 0.14967535436153412, -0.15466532111167908, 1.3290444612503052], [-0.1652594357728958, 0.6432069540023804, -0.16140060126781464, -0.05628279969096184, -0.16834576427936554, 0.24230776727199554, -0.156100794672966, 0.7079526782035828], [0.5489587783813477, -0.13905900716781616, -0.025376664474606514, -0.11248603463172913, -0.16140060126781464, -0.13905900716781616, -0.12051858752965927, 0.7079526782035828]]> : tensor<3x8xf32>
  return %u, %want0 : tensor<3x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: func @test_gelu_gradient_f32
//       CHECK: library = #ingot.library_epilogue<gelu bias = {{.*}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<gelu_grad auxiliary = {{.*}} result = 0>
func.func @test_gelu_gradient_f32() -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %k = ingot.constant dense<0.797884583> : tensor<3x8xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<3x8xf32>
  %one = ingot.constant dense<1.0> : tensor<3x8xf32>
  %half = ingot.constant dense<0.5> : tensor<3x8xf32>
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf32>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf32>
  %g = ingot.constant dense<[[-0.75, -0.75, -0.5, 0.375], [0.125, -0.125, -0.75, 0.625], [0.625, -0.5, -0.875, -0.375]]> : tensor<3x4xf32>
  %v = ingot.constant dense<[[-0.75, 0.625, 0.0, 0.0, -0.5, 0.0, 1.0, -0.5], [0.625, -1.0, -0.375, 0.875, 0.75, -0.875, 0.75, 0.75], [-0.125, -0.25, 1.0, 1.0, 0.375, -0.25, -0.625, 0.875], [-0.5, 0.125, 0.375, -0.5, -0.375, 0.5, -0.625, 0.375]]> : tensor<4x8xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %x2 = ingot.mul %x, %x : tensor<3x8xf32>
  %x3 = ingot.mul %x2, %x : tensor<3x8xf32>
  %cx3 = ingot.mul %x3, %c : tensor<3x8xf32>
  %s = ingot.add %x, %cx3 : tensor<3x8xf32>
  %ks = ingot.mul %s, %k : tensor<3x8xf32>
  %t = ingot.tanh %ks : tensor<3x8xf32>
  %t1 = ingot.add %t, %one : tensor<3x8xf32>
  %h = ingot.mul %t1, %half : tensor<3x8xf32>
  %u = ingot.mul %x, %h : tensor<3x8xf32>
  %x2z = ingot.mul %x, %x : tensor<3x8xf32>
  %x3z = ingot.mul %x2z, %x : tensor<3x8xf32>
  %cx3z = ingot.mul %x3z, %c : tensor<3x8xf32>
  %sz = ingot.add %x, %cx3z : tensor<3x8xf32>
  %ksz = ingot.mul %sz, %k : tensor<3x8xf32>
  %tz = ingot.tanh %ksz : tensor<3x8xf32>
  %t1z = ingot.add %tz, %one : tensor<3x8xf32>
  %hz = ingot.mul %t1z, %half : tensor<3x8xf32>
  %q = ingot.matmul %g, %v : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %d0 = ingot.mul %q, %hz : tensor<3x8xf32>
  %dh = ingot.mul %q, %x : tensor<3x8xf32>
  %dt = ingot.mul %dh, %half : tensor<3x8xf32>
  %tt = ingot.mul %tz, %tz : tensor<3x8xf32>
  %slope = ingot.sub %one, %tt : tensor<3x8xf32>
  %dks = ingot.mul %dt, %slope : tensor<3x8xf32>
  %ds = ingot.mul %dks, %k : tensor<3x8xf32>
  %d1 = ingot.add %d0, %ds : tensor<3x8xf32>
  %dc = ingot.mul %ds, %c : tensor<3x8xf32>
  %three = ingot.constant dense<3.0> : tensor<3x8xf32>
  %d3 = ingot.mul %dc, %three : tensor<3x8xf32>
  %d2 = ingot.mul %d3, %x2z : tensor<3x8xf32>
  %dx = ingot.add %d1, %d2 : tensor<3x8xf32>
  %want0 = ingot.constant dense<[[0.1606314331293106, 0.14967535436153412, -0.16007430851459503, -0.004426346160471439, 0.40109938383102417, 0.14967535436153412, -0.15466532111167908, 1.3290444612503052], [-0.1652594357728958, 0.6432069540023804, -0.16140060126781464, -0.05628279969096184, -0.16834576427936554, 0.24230776727199554, -0.156100794672966, 0.7079526782035828], [0.5489587783813477, -0.13905900716781616, -0.025376664474606514, -0.11248603463172913, -0.16140060126781464, -0.13905900716781616, -0.12051858752965927, 0.7079526782035828]]> : tensor<3x8xf32>
  %want1 = ingot.constant dense<[[-0.02209402807056904, 0.315082311630249, 0.00617907103151083, 0.018422424793243408, -0.46639135479927063, 0.6736242771148682, 0.11545190960168839, -0.5468207001686096], [-0.027118567377328873, 0.48020708560943604, -0.044757865369319916, -0.4696694314479828, 0.024225780740380287, 0.4786979854106903, -0.009863588027656078, -0.6052494049072266], [-0.4771340489387512, 0.20519012212753296, 0.04710066318511963, 0.14508230984210968, -0.08354801684617996, 0.0905250534415245, -0.13178199529647827, -1.6685253381729126]]> : tensor<3x8xf32>
  return %u, %want0, %dx, %want1 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
}

// CHECK-LABEL: func @test_bias_bf16
//       CHECK: library = #ingot.library_epilogue<identity bias = {{.*}}result = 0>
func.func @test_bias_bf16() -> (tensor<3x8xbf16>, tensor<3x8xbf16>) attributes {ingot.tolerance = 2.0e-2 : f64} {
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xbf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xbf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xbf16>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %p = ingot.cast %p0 : tensor<3x8xbf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xbf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %y = ingot.cast %x : tensor<3x8xf32> -> tensor<3x8xbf16>
  %want0 = ingot.constant dense<[[0.265625, 0.25, -0.984375, -2.9375, 0.5625, 0.25, -1.046875, 1.4375], [-0.609375, 0.8125, -0.5625, -0.125, -0.84375, 0.375, -1.03125, 0.875], [0.71875, -0.40625, -2.28125, -1.40625, -0.5625, -0.40625, -1.34375, 0.875]]> : tensor<3x8xbf16>
  return %y, %want0 : tensor<3x8xbf16>, tensor<3x8xbf16>
}

// CHECK-LABEL: func @test_residual_relu_bf16
//       CHECK: library = #ingot.library_epilogue<relu bias = {{.*}} addend = {{.*}} result = 0>
func.func @test_residual_relu_bf16() -> (tensor<3x8xbf16>, tensor<3x8xbf16>) attributes {ingot.tolerance = 2.0e-2 : f64} {
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xbf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xbf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xbf16>
  %r = ingot.constant dense<[-0.375, -0.625, 0.125, 0.875, 0.875, 0.75, -0.375, -1.0, 0.625, 0.5, 0.625, -1.0, -1.0, 0.0, -0.375, -0.125, 0.875, -0.625, 0.0, -0.375, -0.375, 0.625, -0.75, -0.375]> : tensor<24xbf16>
  %zero = ingot.constant dense<0.0> : tensor<3x8xf32>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %p = ingot.cast %p0 : tensor<3x8xbf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xbf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %rr = ingot.reshape %r : tensor<24xbf16> -> tensor<3x8xbf16>
  %rw = ingot.cast %rr : tensor<3x8xbf16> -> tensor<3x8xf32>
  %x1 = ingot.add %rw, %x : tensor<3x8xf32>
  %m = ingot.max %x1, %zero : tensor<3x8xf32>
  %y = ingot.cast %m : tensor<3x8xf32> -> tensor<3x8xbf16>
  %want0 = ingot.constant dense<[[0.0, 0.0, 0.0, 0.0, 1.4375, 1.0, 0.0, 0.4375], [0.015625, 1.3125, 0.0625, 0.0, 0.0, 0.375, 0.0, 0.75], [1.59375, 0.0, 0.0, 0.0, 0.0, 0.21875, 0.0, 0.5]]> : tensor<3x8xbf16>
  return %y, %want0 : tensor<3x8xbf16>, tensor<3x8xbf16>
}

// CHECK-LABEL: func @test_gelu_bf16
//       CHECK: library = #ingot.library_epilogue<gelu bias = {{.*}} result = 0>
func.func @test_gelu_bf16() -> (tensor<3x8xbf16>, tensor<3x8xbf16>) attributes {ingot.tolerance = 2.0e-2 : f64} {
  %k = ingot.constant dense<0.797884583> : tensor<3x8xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<3x8xf32>
  %one = ingot.constant dense<1.0> : tensor<3x8xf32>
  %half = ingot.constant dense<0.5> : tensor<3x8xf32>
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xbf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xbf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xbf16>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %p = ingot.cast %p0 : tensor<3x8xbf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xbf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %x2 = ingot.mul %x, %x : tensor<3x8xf32>
  %x3 = ingot.mul %x2, %x : tensor<3x8xf32>
  %cx3 = ingot.mul %x3, %c : tensor<3x8xf32>
  %s = ingot.add %x, %cx3 : tensor<3x8xf32>
  %ks = ingot.mul %s, %k : tensor<3x8xf32>
  %t = ingot.tanh %ks : tensor<3x8xf32>
  %t1 = ingot.add %t, %one : tensor<3x8xf32>
  %h = ingot.mul %t1, %half : tensor<3x8xf32>
  %u = ingot.mul %x, %h : tensor<3x8xf32>
  %y = ingot.cast %u : tensor<3x8xf32> -> tensor<3x8xbf16>
  %want0 = ingot.constant dense<[[0.16015625, 0.1494140625, -0.16015625, -0.004425048828125, 0.400390625, 0.1494140625, -0.154296875, 1.328125], [-0.1650390625, 0.64453125, -0.1611328125, -0.056396484375, -0.16796875, 0.2421875, -0.15625, 0.70703125], [0.55078125, -0.138671875, -0.025390625, -0.1123046875, -0.1611328125, -0.138671875, -0.12060546875, 0.70703125]]> : tensor<3x8xbf16>
  return %y, %want0 : tensor<3x8xbf16>, tensor<3x8xbf16>
}

// CHECK-LABEL: func @test_gelu_gradient_bf16
//       CHECK: library = #ingot.library_epilogue<gelu bias = {{.*}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<gelu_grad auxiliary = {{.*}} result = 0>
func.func @test_gelu_gradient_bf16() -> (tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<3x8xbf16>) attributes {ingot.tolerance = 2.0e-2 : f64} {
  %k = ingot.constant dense<0.797884583> : tensor<3x8xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<3x8xf32>
  %one = ingot.constant dense<1.0> : tensor<3x8xf32>
  %half = ingot.constant dense<0.5> : tensor<3x8xf32>
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xbf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xbf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xbf16>
  %g = ingot.constant dense<[[-0.75, -0.75, -0.5, 0.375], [0.125, -0.125, -0.75, 0.625], [0.625, -0.5, -0.875, -0.375]]> : tensor<3x4xbf16>
  %v = ingot.constant dense<[[-0.75, 0.625, 0.0, 0.0, -0.5, 0.0, 1.0, -0.5], [0.625, -1.0, -0.375, 0.875, 0.75, -0.875, 0.75, 0.75], [-0.125, -0.25, 1.0, 1.0, 0.375, -0.25, -0.625, 0.875], [-0.5, 0.125, 0.375, -0.5, -0.375, 0.5, -0.625, 0.375]]> : tensor<4x8xbf16>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %p = ingot.cast %p0 : tensor<3x8xbf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xbf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %x2 = ingot.mul %x, %x : tensor<3x8xf32>
  %x3 = ingot.mul %x2, %x : tensor<3x8xf32>
  %cx3 = ingot.mul %x3, %c : tensor<3x8xf32>
  %s = ingot.add %x, %cx3 : tensor<3x8xf32>
  %ks = ingot.mul %s, %k : tensor<3x8xf32>
  %t = ingot.tanh %ks : tensor<3x8xf32>
  %t1 = ingot.add %t, %one : tensor<3x8xf32>
  %h = ingot.mul %t1, %half : tensor<3x8xf32>
  %u = ingot.mul %x, %h : tensor<3x8xf32>
  %y = ingot.cast %u : tensor<3x8xf32> -> tensor<3x8xbf16>
  %xl = ingot.cast %x : tensor<3x8xf32> -> tensor<3x8xbf16>
  %z = ingot.cast %xl : tensor<3x8xbf16> -> tensor<3x8xf32>
  %x2z = ingot.mul %z, %z : tensor<3x8xf32>
  %x3z = ingot.mul %x2z, %z : tensor<3x8xf32>
  %cx3z = ingot.mul %x3z, %c : tensor<3x8xf32>
  %sz = ingot.add %z, %cx3z : tensor<3x8xf32>
  %ksz = ingot.mul %sz, %k : tensor<3x8xf32>
  %tz = ingot.tanh %ksz : tensor<3x8xf32>
  %t1z = ingot.add %tz, %one : tensor<3x8xf32>
  %hz = ingot.mul %t1z, %half : tensor<3x8xf32>
  %q0 = ingot.matmul %g, %v : (tensor<3x4xbf16>, tensor<4x8xbf16>) -> tensor<3x8xbf16>
  %q = ingot.cast %q0 : tensor<3x8xbf16> -> tensor<3x8xf32>
  %d0 = ingot.mul %q, %hz : tensor<3x8xf32>
  %dh = ingot.mul %q, %z : tensor<3x8xf32>
  %dt = ingot.mul %dh, %half : tensor<3x8xf32>
  %tt = ingot.mul %tz, %tz : tensor<3x8xf32>
  %slope = ingot.sub %one, %tt : tensor<3x8xf32>
  %dks = ingot.mul %dt, %slope : tensor<3x8xf32>
  %ds = ingot.mul %dks, %k : tensor<3x8xf32>
  %d1 = ingot.add %d0, %ds : tensor<3x8xf32>
  %dc = ingot.mul %ds, %c : tensor<3x8xf32>
  %three = ingot.constant dense<3.0> : tensor<3x8xf32>
  %d3 = ingot.mul %dc, %three : tensor<3x8xf32>
  %d2 = ingot.mul %d3, %x2z : tensor<3x8xf32>
  %dx = ingot.add %d1, %d2 : tensor<3x8xf32>
  %dy = ingot.cast %dx : tensor<3x8xf32> -> tensor<3x8xbf16>
  %want0 = ingot.constant dense<[[0.16015625, 0.1494140625, -0.16015625, -0.004425048828125, 0.400390625, 0.1494140625, -0.154296875, 1.328125], [-0.1650390625, 0.64453125, -0.1611328125, -0.056396484375, -0.16796875, 0.2421875, -0.15625, 0.70703125], [0.55078125, -0.138671875, -0.025390625, -0.1123046875, -0.1611328125, -0.138671875, -0.12060546875, 0.70703125]]> : tensor<3x8xbf16>
  %want1 = ingot.constant dense<[[-0.0220947265625, 0.314453125, 0.00616455078125, 0.0184326171875, -0.466796875, 0.671875, 0.115234375, -0.546875], [-0.027099609375, 0.48046875, -0.044677734375, -0.46875, 0.024169921875, 0.478515625, -0.0098876953125, -0.60546875], [-0.4765625, 0.205078125, 0.047119140625, 0.1455078125, -0.08349609375, 0.09033203125, -0.1318359375, -1.671875]]> : tensor<3x8xbf16>
  return %y, %want0, %dy, %want1 : tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<3x8xbf16>, tensor<3x8xbf16>
}

// CHECK-LABEL: func @test_bias_f16
//       CHECK: library = #ingot.library_epilogue<identity bias = {{.*}}result = 0>
func.func @test_bias_f16() -> (tensor<3x8xf16>, tensor<3x8xf16>) attributes {ingot.tolerance = 3.0e-3 : f64} {
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf16>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xf16>, tensor<4x8xf16>) -> tensor<3x8xf16>
  %p = ingot.cast %p0 : tensor<3x8xf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %y = ingot.cast %x : tensor<3x8xf32> -> tensor<3x8xf16>
  %want0 = ingot.constant dense<[[0.265625, 0.25, -0.984375, -2.9375, 0.5625, 0.25, -1.046875, 1.4375], [-0.609375, 0.8125, -0.5625, -0.125, -0.84375, 0.375, -1.03125, 0.875], [0.71875, -0.40625, -2.28125, -1.40625, -0.5625, -0.40625, -1.34375, 0.875]]> : tensor<3x8xf16>
  return %y, %want0 : tensor<3x8xf16>, tensor<3x8xf16>
}

// CHECK-LABEL: func @test_residual_relu_f16
//       CHECK: library = #ingot.library_epilogue<relu bias = {{.*}} addend = {{.*}} result = 0>
func.func @test_residual_relu_f16() -> (tensor<3x8xf16>, tensor<3x8xf16>) attributes {ingot.tolerance = 3.0e-3 : f64} {
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf16>
  %r = ingot.constant dense<[-0.375, -0.625, 0.125, 0.875, 0.875, 0.75, -0.375, -1.0, 0.625, 0.5, 0.625, -1.0, -1.0, 0.0, -0.375, -0.125, 0.875, -0.625, 0.0, -0.375, -0.375, 0.625, -0.75, -0.375]> : tensor<24xf16>
  %zero = ingot.constant dense<0.0> : tensor<3x8xf32>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xf16>, tensor<4x8xf16>) -> tensor<3x8xf16>
  %p = ingot.cast %p0 : tensor<3x8xf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %rr = ingot.reshape %r : tensor<24xf16> -> tensor<3x8xf16>
  %rw = ingot.cast %rr : tensor<3x8xf16> -> tensor<3x8xf32>
  %x1 = ingot.add %rw, %x : tensor<3x8xf32>
  %m = ingot.max %x1, %zero : tensor<3x8xf32>
  %y = ingot.cast %m : tensor<3x8xf32> -> tensor<3x8xf16>
  %want0 = ingot.constant dense<[[0.0, 0.0, 0.0, 0.0, 1.4375, 1.0, 0.0, 0.4375], [0.015625, 1.3125, 0.0625, 0.0, 0.0, 0.375, 0.0, 0.75], [1.59375, 0.0, 0.0, 0.0, 0.0, 0.21875, 0.0, 0.5]]> : tensor<3x8xf16>
  return %y, %want0 : tensor<3x8xf16>, tensor<3x8xf16>
}

// CHECK-LABEL: func @test_gelu_f16
//       CHECK: library = #ingot.library_epilogue<gelu bias = {{.*}} result = 0>
func.func @test_gelu_f16() -> (tensor<3x8xf16>, tensor<3x8xf16>) attributes {ingot.tolerance = 3.0e-3 : f64} {
  %k = ingot.constant dense<0.797884583> : tensor<3x8xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<3x8xf32>
  %one = ingot.constant dense<1.0> : tensor<3x8xf32>
  %half = ingot.constant dense<0.5> : tensor<3x8xf32>
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf16>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xf16>, tensor<4x8xf16>) -> tensor<3x8xf16>
  %p = ingot.cast %p0 : tensor<3x8xf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %x2 = ingot.mul %x, %x : tensor<3x8xf32>
  %x3 = ingot.mul %x2, %x : tensor<3x8xf32>
  %cx3 = ingot.mul %x3, %c : tensor<3x8xf32>
  %s = ingot.add %x, %cx3 : tensor<3x8xf32>
  %ks = ingot.mul %s, %k : tensor<3x8xf32>
  %t = ingot.tanh %ks : tensor<3x8xf32>
  %t1 = ingot.add %t, %one : tensor<3x8xf32>
  %h = ingot.mul %t1, %half : tensor<3x8xf32>
  %u = ingot.mul %x, %h : tensor<3x8xf32>
  %y = ingot.cast %u : tensor<3x8xf32> -> tensor<3x8xf16>
  %want0 = ingot.constant dense<[[0.16015625, 0.1494140625, -0.16015625, -0.004425048828125, 0.400390625, 0.1494140625, -0.154296875, 1.328125], [-0.1650390625, 0.64453125, -0.1611328125, -0.056396484375, -0.16796875, 0.2421875, -0.15625, 0.70703125], [0.55078125, -0.138671875, -0.025390625, -0.1123046875, -0.1611328125, -0.138671875, -0.12060546875, 0.70703125]]> : tensor<3x8xf16>
  return %y, %want0 : tensor<3x8xf16>, tensor<3x8xf16>
}

// CHECK-LABEL: func @test_gelu_gradient_f16
//       CHECK: library = #ingot.library_epilogue<gelu bias = {{.*}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<gelu_grad auxiliary = {{.*}} result = 0>
func.func @test_gelu_gradient_f16() -> (tensor<3x8xf16>, tensor<3x8xf16>, tensor<3x8xf16>, tensor<3x8xf16>) attributes {ingot.tolerance = 3.0e-3 : f64} {
  %k = ingot.constant dense<0.797884583> : tensor<3x8xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<3x8xf32>
  %one = ingot.constant dense<1.0> : tensor<3x8xf32>
  %half = ingot.constant dense<0.5> : tensor<3x8xf32>
  %a = ingot.constant dense<[[0.375, 0.625, -1.0, 0.625], [-0.125, 0.0, 0.25, -0.5], [1.0, -1.0, -0.5, -0.25]]> : tensor<3x4xf16>
  %w = ingot.constant dense<[[0.125, -0.25, -0.75, -1.0, -1.0, -1.0, -0.75, 1.0], [-0.625, 0.375, 0.5, -0.625, -0.5, -0.125, -0.5, 1.0], [-0.625, 0.875, 0.625, 0.75, -0.875, -0.25, 0.25, 0.0], [0.375, 0.375, 0.375, -0.875, 1.0, 0.125, 0.875, -0.5]]> : tensor<4x8xf16>
  %b = ingot.constant dense<[-0.25, 0.75, -0.625, -0.875, -0.25, 0.375, -0.75, 0.75]> : tensor<8xf16>
  %g = ingot.constant dense<[[-0.75, -0.75, -0.5, 0.375], [0.125, -0.125, -0.75, 0.625], [0.625, -0.5, -0.875, -0.375]]> : tensor<3x4xf16>
  %v = ingot.constant dense<[[-0.75, 0.625, 0.0, 0.0, -0.5, 0.0, 1.0, -0.5], [0.625, -1.0, -0.375, 0.875, 0.75, -0.875, 0.75, 0.75], [-0.125, -0.25, 1.0, 1.0, 0.375, -0.25, -0.625, 0.875], [-0.5, 0.125, 0.375, -0.5, -0.375, 0.5, -0.625, 0.375]]> : tensor<4x8xf16>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xf16>, tensor<4x8xf16>) -> tensor<3x8xf16>
  %p = ingot.cast %p0 : tensor<3x8xf16> -> tensor<3x8xf32>
  %bw = ingot.cast %b : tensor<8xf16> -> tensor<8xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %x = ingot.add %p, %bias : tensor<3x8xf32>
  %x2 = ingot.mul %x, %x : tensor<3x8xf32>
  %x3 = ingot.mul %x2, %x : tensor<3x8xf32>
  %cx3 = ingot.mul %x3, %c : tensor<3x8xf32>
  %s = ingot.add %x, %cx3 : tensor<3x8xf32>
  %ks = ingot.mul %s, %k : tensor<3x8xf32>
  %t = ingot.tanh %ks : tensor<3x8xf32>
  %t1 = ingot.add %t, %one : tensor<3x8xf32>
  %h = ingot.mul %t1, %half : tensor<3x8xf32>
  %u = ingot.mul %x, %h : tensor<3x8xf32>
  %y = ingot.cast %u : tensor<3x8xf32> -> tensor<3x8xf16>
  %xl = ingot.cast %x : tensor<3x8xf32> -> tensor<3x8xf16>
  %z = ingot.cast %xl : tensor<3x8xf16> -> tensor<3x8xf32>
  %x2z = ingot.mul %z, %z : tensor<3x8xf32>
  %x3z = ingot.mul %x2z, %z : tensor<3x8xf32>
  %cx3z = ingot.mul %x3z, %c : tensor<3x8xf32>
  %sz = ingot.add %z, %cx3z : tensor<3x8xf32>
  %ksz = ingot.mul %sz, %k : tensor<3x8xf32>
  %tz = ingot.tanh %ksz : tensor<3x8xf32>
  %t1z = ingot.add %tz, %one : tensor<3x8xf32>
  %hz = ingot.mul %t1z, %half : tensor<3x8xf32>
  %q0 = ingot.matmul %g, %v : (tensor<3x4xf16>, tensor<4x8xf16>) -> tensor<3x8xf16>
  %q = ingot.cast %q0 : tensor<3x8xf16> -> tensor<3x8xf32>
  %d0 = ingot.mul %q, %hz : tensor<3x8xf32>
  %dh = ingot.mul %q, %z : tensor<3x8xf32>
  %dt = ingot.mul %dh, %half : tensor<3x8xf32>
  %tt = ingot.mul %tz, %tz : tensor<3x8xf32>
  %slope = ingot.sub %one, %tt : tensor<3x8xf32>
  %dks = ingot.mul %dt, %slope : tensor<3x8xf32>
  %ds = ingot.mul %dks, %k : tensor<3x8xf32>
  %d1 = ingot.add %d0, %ds : tensor<3x8xf32>
  %dc = ingot.mul %ds, %c : tensor<3x8xf32>
  %three = ingot.constant dense<3.0> : tensor<3x8xf32>
  %d3 = ingot.mul %dc, %three : tensor<3x8xf32>
  %d2 = ingot.mul %d3, %x2z : tensor<3x8xf32>
  %dx = ingot.add %d1, %d2 : tensor<3x8xf32>
  %dy = ingot.cast %dx : tensor<3x8xf32> -> tensor<3x8xf16>
  %want0 = ingot.constant dense<[[0.16015625, 0.1494140625, -0.16015625, -0.004425048828125, 0.400390625, 0.1494140625, -0.154296875, 1.328125], [-0.1650390625, 0.64453125, -0.1611328125, -0.056396484375, -0.16796875, 0.2421875, -0.15625, 0.70703125], [0.55078125, -0.138671875, -0.025390625, -0.1123046875, -0.1611328125, -0.138671875, -0.12060546875, 0.70703125]]> : tensor<3x8xf16>
  %want1 = ingot.constant dense<[[-0.0220947265625, 0.314453125, 0.00616455078125, 0.0184326171875, -0.466796875, 0.671875, 0.115234375, -0.546875], [-0.027099609375, 0.48046875, -0.044677734375, -0.46875, 0.024169921875, 0.478515625, -0.0098876953125, -0.60546875], [-0.4765625, 0.205078125, 0.047119140625, 0.1455078125, -0.08349609375, 0.09033203125, -0.1318359375, -1.671875]]> : tensor<3x8xf16>
  return %y, %want0, %dy, %want1 : tensor<3x8xf16>, tensor<3x8xf16>, tensor<3x8xf16>, tensor<3x8xf16>
}

// What is no number stays none: overflow is to be seen behind ReLU.
// CHECK-LABEL: func @test_relu_of_nan
//       CHECK: library = #ingot.library_epilogue<relu bias = {{.*}} result = 0>
func.func @test_relu_of_nan() -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %a = ingot.constant dense<[[0x7FC00000, 1.0], [-1.0, -2.0]]> : tensor<2x2xf32>
  %w = ingot.constant dense<1.0> : tensor<2x8xf32>
  %b = ingot.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %zero = ingot.constant dense<0.0> : tensor<2x8xf32>
  %0 = ingot.matmul %a, %w : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %2 = ingot.add %0, %1 : tensor<2x8xf32>
  %3 = ingot.max %2, %zero : tensor<2x8xf32>
  %want = ingot.constant dense<[[0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]> : tensor<2x8xf32>
  return %3, %want : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func @test_bias_gradient_lhs_f32(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of lhs>
func.func @test_bias_gradient_lhs_f32() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %dy = ingot.constant dense<[[1.0, 0.25, 0.375, 0.875], [0.125, 0.625, 0.75, -0.625], [-1.0, -0.375, -0.5, 0.75], [0.875, -1.0, 0.0, 0.625], [-0.75, 0.625, -0.75, -0.125], [0.625, -0.375, -0.375, -0.5]]> : tensor<6x4xf32>
  %x = ingot.constant dense<[[0.5, -0.5, 1.0, -0.125, 0.0, 0.0, 0.125, 0.125], [0.0, 1.0, 0.625, 0.625, 0.375, 0.25, -0.375, 1.0], [-0.125, -0.625, 0.75, -0.75, 0.75, 0.25, -0.875, -1.0], [-0.125, -1.0, -0.75, 0.0, 1.0, -0.125, 0.625, 0.875], [0.625, 0.25, -0.125, 0.0, -0.5, 0.0, -0.25, -0.5], [1.0, -1.0, -0.875, -0.625, 1.0, 0.375, 0.75, -0.625]]> : tensor<6x8xf32>
  %s = ingot.reduce sum %dy dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %dy transposed, %x : (tensor<6x4xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %want0 = ingot.constant dense<[[0.671875, -1.4375, -0.78125, 0.3125, 1.171875, -0.09375, 2.15625, 2.0], [0.3125, 2.265625, 1.359375, 0.875, -1.734375, 0.046875, -0.9375, 0.078125], [-0.59375, 1.0625, 0.890625, 1.03125, -0.09375, -0.078125, 0.109375, 1.90625], [-0.3125, -1.6875, 1.03125, -0.75, 0.515625, -0.234375, -0.265625, -0.34375]]> : tensor<4x8xf32>
  %want1 = ingot.constant dense<[0.875, -0.25, -0.5, 1.0]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @test_bias_gradient_rhs_f32(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of rhs>
func.func @test_bias_gradient_rhs_f32() -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %dy = ingot.constant dense<[[1.0, 0.25, 0.375, 0.875], [0.125, 0.625, 0.75, -0.625], [-1.0, -0.375, -0.5, 0.75], [0.875, -1.0, 0.0, 0.625], [-0.75, 0.625, -0.75, -0.125], [0.625, -0.375, -0.375, -0.5]]> : tensor<6x4xf32>
  %x = ingot.constant dense<[[0.5, -0.5, 1.0, -0.125, 0.0, 0.0, 0.125, 0.125], [0.0, 1.0, 0.625, 0.625, 0.375, 0.25, -0.375, 1.0], [-0.125, -0.625, 0.75, -0.75, 0.75, 0.25, -0.875, -1.0], [-0.125, -1.0, -0.75, 0.0, 1.0, -0.125, 0.625, 0.875], [0.625, 0.25, -0.125, 0.0, -0.5, 0.0, -0.25, -0.5], [1.0, -1.0, -0.875, -0.625, 1.0, 0.375, 0.75, -0.625]]> : tensor<6x8xf32>
  %s = ingot.reduce sum %dy dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %x transposed, %dy : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %want0 = ingot.constant dense<[[0.671875, 0.3125, -0.59375, -0.3125], [-1.4375, 2.265625, 1.0625, -1.6875], [-0.78125, 1.359375, 0.890625, 1.03125], [0.3125, 0.875, 1.03125, -0.75], [1.171875, -1.734375, -0.09375, 0.515625], [-0.09375, 0.046875, -0.078125, -0.234375], [2.15625, -0.9375, 0.109375, -0.265625], [2.0, 0.078125, 1.90625, -0.34375]]> : tensor<8x4xf32>
  %want1 = ingot.constant dense<[0.875, -0.25, -0.5, 1.0]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @test_bias_gradient_lhs_bf16(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of lhs>
func.func @test_bias_gradient_lhs_bf16() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %dy = ingot.constant dense<[[0.5, -0.25, 0.0, -1.0], [0.25, 0.75, 0.375, -0.75], [0.125, -0.5, 1.0, 0.75], [-0.625, 0.0, 0.875, 0.75], [0.5, 0.25, -1.0, 0.5], [0.0, -0.875, -0.5, 0.125]]> : tensor<6x4xbf16>
  %x = ingot.constant dense<[[0.5, 0.0, 0.25, 0.75, 0.375, -0.25, 0.25, 0.25], [-0.875, -0.875, 0.375, -0.25, 0.25, -0.375, -0.625, -0.75], [-0.25, 0.625, -0.25, -0.25, 0.125, 1.0, -0.25, 0.25], [-0.125, 0.25, -0.125, 0.25, 0.125, 0.375, 1.0, -0.75], [0.125, -0.125, -0.25, -0.5, -1.0, -0.25, 0.75, -0.875], [-0.25, 1.0, 1.0, -0.625, -1.0, 0.375, -1.0, -0.375]]> : tensor<6x8xbf16>
  %wide = ingot.cast %dy : tensor<6x4xbf16> -> tensor<6x4xf32>
  %s = ingot.reduce sum %wide dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %dy transposed, %x : (tensor<6x4xbf16>, tensor<6x8xbf16>) -> tensor<4x8xf32>
  %want0 = ingot.constant dense<[[0.140625, -0.359375, 0.140625, -0.125, -0.3125, -0.453125, -0.3125, 0.0], [-0.40625, -1.875, -0.59375, 0.171875, 0.65625, -1.109375, 0.65625, -0.640625], [-0.6875, 0.140625, -0.46875, 0.6875, 1.828125, 1.25, 0.140625, 0.375], [-0.09375, 1.375, -0.8125, -0.890625, -1.0, 1.484375, 1.03125, -0.546875]]> : tensor<4x8xf32>
  %want1 = ingot.constant dense<[0.75, -0.625, 0.75, 0.375]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @test_bias_gradient_rhs_bf16(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of rhs>
func.func @test_bias_gradient_rhs_bf16() -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %dy = ingot.constant dense<[[0.5, -0.25, 0.0, -1.0], [0.25, 0.75, 0.375, -0.75], [0.125, -0.5, 1.0, 0.75], [-0.625, 0.0, 0.875, 0.75], [0.5, 0.25, -1.0, 0.5], [0.0, -0.875, -0.5, 0.125]]> : tensor<6x4xbf16>
  %x = ingot.constant dense<[[0.5, 0.0, 0.25, 0.75, 0.375, -0.25, 0.25, 0.25], [-0.875, -0.875, 0.375, -0.25, 0.25, -0.375, -0.625, -0.75], [-0.25, 0.625, -0.25, -0.25, 0.125, 1.0, -0.25, 0.25], [-0.125, 0.25, -0.125, 0.25, 0.125, 0.375, 1.0, -0.75], [0.125, -0.125, -0.25, -0.5, -1.0, -0.25, 0.75, -0.875], [-0.25, 1.0, 1.0, -0.625, -1.0, 0.375, -1.0, -0.375]]> : tensor<6x8xbf16>
  %wide = ingot.cast %dy : tensor<6x4xbf16> -> tensor<6x4xf32>
  %s = ingot.reduce sum %wide dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %x transposed, %dy : (tensor<6x8xbf16>, tensor<6x4xbf16>) -> tensor<8x4xf32>
  %want0 = ingot.constant dense<[[0.140625, -0.40625, -0.6875, -0.09375], [-0.359375, -1.875, 0.140625, 1.375], [0.140625, -0.59375, -0.46875, -0.8125], [-0.125, 0.171875, 0.6875, -0.890625], [-0.3125, 0.65625, 1.828125, -1.0], [-0.453125, -1.109375, 1.25, 1.484375], [-0.3125, 0.65625, 0.140625, 1.03125], [0.0, -0.640625, 0.375, -0.546875]]> : tensor<8x4xf32>
  %want1 = ingot.constant dense<[0.75, -0.625, 0.75, 0.375]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @test_bias_gradient_lhs_f16(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of lhs>
func.func @test_bias_gradient_lhs_f16() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %dy = ingot.constant dense<[[0.0, 0.75, -0.875, 0.375], [0.125, -0.75, 0.75, 0.75], [0.0, 1.0, 0.25, 0.875], [1.0, 0.125, -0.5, -0.75], [0.125, -0.625, 0.5, 0.875], [-0.5, 0.125, -1.0, -0.625]]> : tensor<6x4xf16>
  %x = ingot.constant dense<[[-0.25, 0.875, 1.0, 0.25, 0.125, 0.125, -0.875, -0.25], [1.0, -0.25, -0.625, -0.5, 0.5, -1.0, 1.0, 0.75], [0.125, -0.125, 0.5, 0.125, 0.0, -0.375, -0.125, 0.5], [-1.0, -1.0, 0.5, -0.25, 0.625, -1.0, 0.875, -0.75], [-0.125, 1.0, -0.875, 0.375, 0.5, -0.125, -0.875, 0.0], [-0.125, 0.75, 0.375, -0.375, -1.0, 0.25, -0.5, 0.375]]> : tensor<6x8xf16>
  %wide = ingot.cast %dy : tensor<6x4xf16> -> tensor<6x4xf32>
  %s = ingot.reduce sum %wide dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %dy transposed, %x : (tensor<6x4xf16>, tensor<6x8xf16>) -> tensor<4x8xf32>
  %want0 = ingot.constant dense<[[-0.828125, -1.28125, 0.125, -0.078125, 1.25, -1.265625, 1.140625, -0.84375], [-0.875, 0.0625, 2.375, 0.375, -0.640625, 0.453125, -0.9375, -0.296875], [1.5625, -0.734375, -2.28125, 0.125, 1.203125, -0.765625, 1.109375, 0.90625], [1.484375, 1.1875, -1.03125, 0.578125, 1.015625, -0.546875, -0.796875, 1.234375]]> : tensor<4x8xf32>
  %want1 = ingot.constant dense<[0.75, 0.625, -0.875, 1.5]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @test_bias_gradient_rhs_f16(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of rhs>
func.func @test_bias_gradient_rhs_f16() -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %dy = ingot.constant dense<[[0.0, 0.75, -0.875, 0.375], [0.125, -0.75, 0.75, 0.75], [0.0, 1.0, 0.25, 0.875], [1.0, 0.125, -0.5, -0.75], [0.125, -0.625, 0.5, 0.875], [-0.5, 0.125, -1.0, -0.625]]> : tensor<6x4xf16>
  %x = ingot.constant dense<[[-0.25, 0.875, 1.0, 0.25, 0.125, 0.125, -0.875, -0.25], [1.0, -0.25, -0.625, -0.5, 0.5, -1.0, 1.0, 0.75], [0.125, -0.125, 0.5, 0.125, 0.0, -0.375, -0.125, 0.5], [-1.0, -1.0, 0.5, -0.25, 0.625, -1.0, 0.875, -0.75], [-0.125, 1.0, -0.875, 0.375, 0.5, -0.125, -0.875, 0.0], [-0.125, 0.75, 0.375, -0.375, -1.0, 0.25, -0.5, 0.375]]> : tensor<6x8xf16>
  %wide = ingot.cast %dy : tensor<6x4xf16> -> tensor<6x4xf32>
  %s = ingot.reduce sum %wide dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %x transposed, %dy : (tensor<6x8xf16>, tensor<6x4xf16>) -> tensor<8x4xf32>
  %want0 = ingot.constant dense<[[-0.828125, -0.875, 1.5625, 1.484375], [-1.28125, 0.0625, -0.734375, 1.1875], [0.125, 2.375, -2.28125, -1.03125], [-0.078125, 0.375, 0.125, 0.578125], [1.25, -0.640625, 1.203125, 1.015625], [-1.265625, 0.453125, -0.765625, -0.546875], [1.140625, -0.9375, 1.109375, -0.796875], [-0.84375, -0.296875, 0.90625, 1.234375]]> : tensor<8x4xf32>
  %want1 = ingot.constant dense<[0.75, 0.625, -0.875, 1.5]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @test_relu_gradient_f32(
//       CHECK: library = #ingot.library_epilogue<relu bias = {{[0-9]}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}}>
func.func @test_relu_gradient_f32() -> (tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %a = ingot.constant dense<[[-0.75, -0.75, 0.625, 0.0], [0.25, 0.25, 0.5, -1.0], [0.0, -0.75, -0.25, 0.875]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.125, -0.875, 0.125, -0.75, 0.5, 1.0, 1.0, 0.25, 0.75, -0.25, -0.75, 0.0, -0.125, 0.375, 1.0, -0.5, 0.75, -0.75, -0.375, 0.625, -0.5, 0.375, -0.125, 0.0], [1.0, 0.625, 0.75, 0.125, 1.0, 1.0, -0.75, -0.625, -0.375, 0.125, 0.75, 0.0, 1.0, -0.25, 0.875, 0.25, 0.5, -0.5, 0.25, 0.625, 0.875, 0.75, 1.0, -0.75], [0.625, -0.125, 0.375, -0.5, -1.0, -0.875, 1.0, 0.875, -0.375, -0.125, -0.5, -0.75, 0.75, 0.375, -0.875, -0.625, 0.125, 0.875, 1.0, -0.625, 0.25, -1.0, -0.75, -0.625], [-0.125, -0.375, 0.5, -0.125, -0.375, 0.875, 0.25, 0.375, 0.5, -0.375, 0.875, -1.0, -0.375, -0.75, -1.0, 1.0, -0.875, -0.125, 0.625, 0.375, 0.75, -1.0, 0.0, -1.0]]> : tensor<4x24xf32>
  %b = ingot.constant dense<[-0.6171875, 0.7578125, -0.8671875, 0.1328125, -0.9921875, -0.3671875, 0.8828125, -0.3671875, -0.3671875, -0.8671875, 0.6328125, -0.7421875, 0.0078125, -0.9921875, -0.9921875, 0.7578125, -0.9921875, -0.1171875, -0.1171875, -0.7421875, 0.2578125, 0.5078125, 1.0078125, -0.6171875]> : tensor<24xf32>
  %g = ingot.constant dense<[[0.875, -0.875, -0.75, 0.25], [0.75, 0.875, 0.5, -1.0], [-0.125, 0.625, 0.0, -0.625]]> : tensor<3x4xf32>
  %v = ingot.constant dense<[[0.375, -0.875, 0.375, -1.0, -0.25, -0.5, 0.875, 0.5, 0.375, 0.0, -0.5, 0.75, 1.0, -0.625, -0.5, -0.375, 0.0, -0.5, -0.25, 1.0, -0.25, 0.875, 0.0, -0.375], [0.875, -0.125, 0.625, -0.375, 1.0, 0.5, 0.75, -1.0, -0.875, -0.875, 0.125, -0.25, 1.0, -0.5, -0.75, 0.75, -0.375, 0.5, -0.5, 0.125, -0.875, 0.375, 0.875, 0.375], [0.75, 0.625, 0.125, 0.875, 0.0, -0.75, 0.125, 0.25, -0.75, -0.75, 0.375, -0.125, 0.0, 0.625, 0.375, 0.875, -0.75, 0.5, 0.125, -1.0, -0.875, -0.25, 0.25, -0.75], [0.125, 1.0, -0.75, -0.75, 1.0, -0.5, 0.75, -0.25, 0.5, -0.875, 0.25, 0.75, -0.375, 0.25, -0.625, -0.75, -1.0, 0.0, 0.0, -0.875, -0.625, 0.25, -0.25, -0.625]]> : tensor<4x24xf32>
  %zero = ingot.constant dense<0.0> : tensor<3x24xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<24xf32> -> tensor<3x24xf32>
  %x = ingot.add %p, %bias : tensor<3x24xf32>
  %y = ingot.max %x, %zero : tensor<3x24xf32>
  %c = ingot.compare gt %y, %zero : (tensor<3x24xf32>, tensor<3x24xf32>) -> tensor<3x24xi1>
  %bits = ingot.pack_bits %c : tensor<3x24xi1> -> tensor<3x16xui8>
  %u = ingot.unpack_bits %bits : tensor<3x16xui8> -> tensor<3x24xi1>
  %q = ingot.matmul %g, %v : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %dx = ingot.select %u, %q, %zero : tensor<3x24xi1>, tensor<3x24xf32>
  %want0 = ingot.constant dense<[[0.0, 0.8671875, 0.0, 0.2890625, 0.0, 0.0, 1.3203125, 0.4609375, 0.0, 0.0, 0.3203125, 0.0, 0.0, 0.0, 0.0, 0.5546875, 0.0, 1.3671875, 0.6015625, 0.0, 0.1328125, 0.0, 0.0, 0.0], [0.1015625, 1.0078125, 0.0, 0.0, 0.0, 0.0, 1.1953125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9765625, 0.0, 0.0390625, 0.0, 0.2578125, 0.1328125, 0.0, 0.0, 0.0, 1.2890625, 0.8515625, 0.0], [0.0, 0.0, 0.0, 0.0546875, 0.0, 0.0, 1.4140625, 0.2109375, 0.4453125, 0.0, 0.9609375, 0.0, 0.0, 0.0, 0.0, 1.6015625, 0.0, 0.0, 0.0, 0.0, 0.1953125, 0.0, 0.4453125, 0.0]]> : tensor<3x24xf32>
  %want1 = ingot.constant dense<[[-0.0, -0.875, -0.0, -1.390625, -0.0, -0.0, 0.203125, 1.0625, 0.0, 0.0, -0.765625, 0.0, -0.0, -0.0, -0.0, -1.828125, 0.0, -1.25, 0.125, 0.0, 1.046875, 0.0, -0.0, -0.0], [1.296875, -1.453125, 0.0, 0.0, -0.0, 0.0, 0.625, -0.0, -0.0, -0.0, -0.0, -0.0, 2.0, -0.0, -0.21875, 0.0, 0.296875, 0.3125, -0.0, 0.0, -0.0, 0.609375, 1.140625, 0.0], [0.0, -0.0, 0.0, 0.359375, 0.0, 0.0, -0.109375, -0.53125, -0.90625, 0.0, -0.015625, -0.0, 0.0, -0.0, -0.0, 0.984375, 0.0, 0.0, -0.0, 0.0, -0.125, -0.0, 0.703125, 0.0]]> : tensor<3x24xf32>
  return %y, %want0, %dx, %want1 : tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>
}

// CHECK-LABEL: func @test_relu_gradient_bf16(
//       CHECK: library = #ingot.library_epilogue<relu bias = {{[0-9]}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}}>
func.func @test_relu_gradient_bf16() -> (tensor<3x24xbf16>, tensor<3x24xbf16>, tensor<3x24xbf16>, tensor<3x24xbf16>) attributes {ingot.tolerance = 2.0e-2 : f64} {
  %a = ingot.constant dense<[[-1.0, -1.0, 0.25, -0.875], [0.75, 0.125, -0.5, 0.25], [-0.75, -0.375, 0.0, 0.25]]> : tensor<3x4xbf16>
  %w = ingot.constant dense<[[-0.75, -0.375, -0.875, -0.75, -0.625, -0.375, 0.875, -0.25, -0.875, 0.875, 0.125, -0.875, -0.875, -0.875, 0.875, 0.125, 0.375, 1.0, -0.25, 0.875, -0.25, 0.375, 0.75, -0.875], [0.5, 0.625, 1.0, 0.375, 0.0, -0.75, 0.625, -0.125, 0.625, -1.0, -0.375, 0.625, 0.25, 0.5, 0.25, 0.625, 0.75, 0.5, 0.375, -0.5, -0.875, 0.625, -0.375, -0.5], [-1.0, -0.75, -1.0, -0.25, -0.375, 0.0, 0.125, -0.5, 0.125, 0.25, 0.375, 0.25, -1.0, -0.5, 0.625, 0.25, -0.375, -0.25, 0.875, 0.5, -0.25, -0.5, -0.75, 0.625], [0.25, -0.125, 0.375, 0.125, 0.125, 0.375, 0.625, 0.0, -0.125, -0.5, -0.375, 1.0, -0.625, -0.875, 0.25, -0.375, -0.875, 0.125, 0.5, -1.0, 0.0, -0.75, 0.125, 0.625]]> : tensor<4x24xbf16>
  %b = ingot.constant dense<[0.6328125, 0.6328125, -0.3671875, 0.2578125, 0.3828125, 0.8828125, 0.3828125, 0.5078125, -0.8671875, -0.3671875, -0.2421875, 0.2578125, 0.7578125, -0.3671875, 0.0078125, 0.5078125, -0.6171875, -0.2421875, -0.6171875, -0.7421875, 0.3828125, 0.7578125, -0.7421875, 0.3828125]> : tensor<24xbf16>
  %g = ingot.constant dense<[[0.375, 0.5, 0.375, 0.125], [-0.875, 0.625, -0.625, -0.125], [1.0, 0.125, -0.5, -0.875]]> : tensor<3x4xbf16>
  %v = ingot.constant dense<[[-0.5, 0.125, 0.75, 0.625, -0.625, 0.375, 0.375, 0.625, 0.0, 0.0, -0.125, 0.75, 0.0, -0.875, 0.0, 0.75, 0.75, -0.25, 0.75, -0.875, 0.5, 0.25, -1.0, -0.125], [-0.25, -0.125, -0.5, 0.75, 0.75, -0.75, 0.5, 0.25, -0.625, -0.125, -0.5, 0.0, -0.75, 0.0, -0.875, -0.75, 0.75, 0.0, -0.5, 0.75, -0.375, -0.75, 0.875, -1.0], [1.0, -0.875, 0.625, -0.125, -0.75, 1.0, -0.125, -1.0, 0.5, 1.0, -0.75, 0.125, 0.875, -0.75, 0.625, -0.125, -1.0, -0.625, 0.75, 0.5, 0.875, 0.125, -0.75, -0.5], [-0.375, -0.5, -0.875, 0.75, -0.875, 0.625, 0.5, -0.125, 0.25, -0.25, 0.0, 0.5, -0.125, 1.0, 0.75, -0.875, 0.875, -0.75, -0.625, -0.25, 0.625, 0.0, 0.5, -0.875]]> : tensor<4x24xbf16>
  %zero = ingot.constant dense<0.0> : tensor<3x24xf32>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xbf16>, tensor<4x24xbf16>) -> tensor<3x24xbf16>
  %p = ingot.cast %p0 : tensor<3x24xbf16> -> tensor<3x24xf32>
  %bw = ingot.cast %b : tensor<24xbf16> -> tensor<24xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<24xf32> -> tensor<3x24xf32>
  %x = ingot.add %p, %bias : tensor<3x24xf32>
  %m = ingot.max %x, %zero : tensor<3x24xf32>
  %y = ingot.cast %m : tensor<3x24xf32> -> tensor<3x24xbf16>
  %yw = ingot.cast %y : tensor<3x24xbf16> -> tensor<3x24xf32>
  %c = ingot.compare gt %yw, %zero : (tensor<3x24xf32>, tensor<3x24xf32>) -> tensor<3x24xi1>
  %bits = ingot.pack_bits %c : tensor<3x24xi1> -> tensor<3x16xui8>
  %u = ingot.unpack_bits %bits : tensor<3x16xui8> -> tensor<3x24xi1>
  %q0 = ingot.matmul %g, %v : (tensor<3x4xbf16>, tensor<4x24xbf16>) -> tensor<3x24xbf16>
  %q = ingot.cast %q0 : tensor<3x24xbf16> -> tensor<3x24xf32>
  %d = ingot.select %u, %q, %zero : tensor<3x24xi1>, tensor<3x24xf32>
  %dx = ingot.cast %d : tensor<3x24xf32> -> tensor<3x24xbf16>
  %want0 = ingot.constant dense<[[0.4140625, 0.3046875, 0.0, 0.4609375, 0.8046875, 1.6796875, 0.0, 0.7578125, 0.0, 0.2578125, 0.4296875, 0.0, 1.6796875, 0.6484375, 0.0, 0.1484375, 0.0, 0.0, 0.0, 0.0, 1.4453125, 0.2890625, 0.0, 1.3671875], [0.6953125, 0.7734375, 0.0, 0.0, 0.1328125, 0.6015625, 1.2109375, 0.5546875, 0.0, 0.0, 0.0, 0.0, 0.4765625, 0.0, 0.4453125, 0.4609375, 0.0, 0.7265625, 0.0, 0.0, 0.2109375, 1.1796875, 0.1796875, 0.0], [1.0703125, 0.6484375, 0.0078125, 0.7109375, 0.8828125, 1.5390625, 0.0, 0.7421875, 0.0, 0.0, 0.0, 0.9296875, 1.1640625, 0.0, 0.0, 0.0859375, 0.0, 0.0, 0.0, 0.0, 0.8984375, 0.0546875, 0.0, 1.3828125]]> : tensor<3x24xbf16>
  %want1 = ingot.constant dense<[[0.015625, -0.40625, 0.0, 0.65625, -0.25, 0.21875, 0.0, -0.03125, -0.0, 0.28125, -0.578125, 0.0, -0.0625, -0.484375, -0.0, -0.25, 0.0, -0.0, 0.0, 0.0, 0.40625, -0.234375, -0.0, -0.84375], [-0.296875, 0.421875, -0.0, -0.0, 1.59375, -1.5, 0.0, 0.25, -0.0, -0.0, 0.0, -0.0, -1.0, 0.0, -1.03125, -0.9375, 0.0, 0.703125, -0.0, 0.0, -1.296875, -0.765625, 1.828125, -0.0], [-0.703125, 0.984375, 1.140625, 0.125, 0.609375, -0.765625, 0.0, 1.265625, -0.0, -0.0, 0.0, 0.25, -0.421875, -0.0, -0.0, 1.484375, 0.0, 0.0, 0.0, -0.0, -0.53125, 0.09375, -0.0, 0.765625]]> : tensor<3x24xbf16>
  return %y, %want0, %dx, %want1 : tensor<3x24xbf16>, tensor<3x24xbf16>, tensor<3x24xbf16>, tensor<3x24xbf16>
}

// CHECK-LABEL: func @test_relu_gradient_f16(
//       CHECK: library = #ingot.library_epilogue<relu bias = {{[0-9]}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}}>
func.func @test_relu_gradient_f16() -> (tensor<3x24xf16>, tensor<3x24xf16>, tensor<3x24xf16>, tensor<3x24xf16>) attributes {ingot.tolerance = 2.0e-2 : f64} {
  %a = ingot.constant dense<[[0.5, -1.0, -0.5, -0.625], [0.75, -0.25, 0.625, 0.5], [0.375, 0.25, 0.75, -1.0]]> : tensor<3x4xf16>
  %w = ingot.constant dense<[[0.375, -1.0, 0.25, -0.125, 1.0, 0.75, -0.875, 0.875, -0.625, -0.25, 0.125, 0.875, -0.375, 0.875, -0.375, -0.25, 0.875, 0.5, 0.375, -0.25, -1.0, -0.75, -0.375, 0.125], [0.75, -0.875, -1.0, 0.375, -0.5, 0.625, 0.125, 0.875, -0.125, -0.125, 0.625, -0.875, -0.625, 0.875, -0.75, 0.75, 0.375, 1.0, -0.5, 0.25, -1.0, 0.375, -1.0, -0.25], [-0.375, -0.625, 0.125, -0.5, -0.875, 0.5, -0.625, -0.375, -0.375, 0.375, 0.5, 0.0, -0.875, -0.125, 0.375, 1.0, 1.0, -0.75, -0.5, 0.0, -0.5, -0.75, -0.625, 0.875], [0.5, 0.0, 0.125, -0.375, 0.125, -0.75, -0.875, 0.25, 0.125, -0.25, -0.125, -0.75, 0.75, -1.0, 0.0, -0.25, 0.625, 0.125, -0.625, 0.0, 0.25, 0.875, 0.0, 0.875]]> : tensor<4x24xf16>
  %b = ingot.constant dense<[-0.3671875, 0.8828125, 1.0078125, 0.6328125, 0.7578125, 0.0078125, 0.8828125, 0.0078125, 0.2578125, -0.2421875, 0.1328125, -0.2421875, 0.1328125, -0.9921875, -0.8671875, 0.6328125, 0.7578125, -0.4921875, -0.9921875, -0.9921875, 0.6328125, -0.1171875, -0.4921875, 0.5078125]> : tensor<24xf16>
  %g = ingot.constant dense<[[0.0, -0.125, -0.875, -0.25], [0.625, 0.375, 0.0, -0.75], [0.25, -1.0, 1.0, 0.25]]> : tensor<3x4xf16>
  %v = ingot.constant dense<[[0.5, 0.125, -0.375, 0.75, -1.0, -0.125, 0.5, 0.625, -0.5, -1.0, 1.0, -1.0, 0.625, 0.25, -1.0, -0.625, -0.625, -0.875, 0.25, -0.75, -0.375, -0.25, -1.0, -0.375], [0.25, 0.125, 0.125, 0.875, -0.625, -0.25, 0.375, -0.625, -0.375, 0.125, 0.5, -1.0, -0.25, -0.25, -0.375, -0.375, 0.75, -0.25, 0.25, -1.0, 0.625, 0.125, -0.25, 0.25], [0.5, 0.5, 0.75, 1.0, 0.5, -0.25, 0.5, 0.375, -0.375, -0.125, -1.0, -0.625, -0.75, 0.875, 0.875, 0.5, -0.5, 1.0, -0.5, 0.625, 0.625, 0.875, 0.5, -0.75], [-1.0, -1.0, 1.0, -0.625, 0.75, -0.125, 0.75, 0.375, -0.875, -0.125, 0.375, 0.0, -0.75, 0.5, 0.375, -0.875, -0.625, 0.375, -0.75, -1.0, -0.25, -0.5, -0.25, 0.5]]> : tensor<4x24xf16>
  %zero = ingot.constant dense<0.0> : tensor<3x24xf32>
  %p0 = ingot.matmul %a, %w : (tensor<3x4xf16>, tensor<4x24xf16>) -> tensor<3x24xf16>
  %p = ingot.cast %p0 : tensor<3x24xf16> -> tensor<3x24xf32>
  %bw = ingot.cast %b : tensor<24xf16> -> tensor<24xf32>
  %bias = ingot.broadcast %bw dims = [1] : tensor<24xf32> -> tensor<3x24xf32>
  %x = ingot.add %p, %bias : tensor<3x24xf32>
  %m = ingot.max %x, %zero : tensor<3x24xf32>
  %y = ingot.cast %m : tensor<3x24xf32> -> tensor<3x24xf16>
  %yw = ingot.cast %y : tensor<3x24xf16> -> tensor<3x24xf32>
  %c = ingot.compare gt %yw, %zero : (tensor<3x24xf32>, tensor<3x24xf32>) -> tensor<3x24xi1>
  %bits = ingot.pack_bits %c : tensor<3x24xi1> -> tensor<3x16xui8>
  %u = ingot.unpack_bits %bits : tensor<3x16xui8> -> tensor<3x24xi1>
  %q0 = ingot.matmul %g, %v : (tensor<3x4xf16>, tensor<4x24xf16>) -> tensor<3x24xf16>
  %q = ingot.cast %q0 : tensor<3x24xf16> -> tensor<3x24xf32>
  %d = ingot.select %u, %q, %zero : tensor<3x24xi1>, tensor<3x24xf32>
  %dx = ingot.cast %d : tensor<3x24xf32> -> tensor<3x24xf16>
  %want0 = ingot.constant dense<[[0.0, 1.5703125, 1.9921875, 0.6796875, 2.1171875, 0.0, 1.1796875, 0.0, 0.1796875, 0.0, 0.0, 1.5390625, 0.5390625, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3359375, 0.0, 1.2265625, 0.0, 0.6328125, 0.0], [0.0, 0.0, 1.5859375, 0.0, 1.1484375, 0.3515625, 0.0, 0.3359375, 0.0, 0.0, 0.3203125, 0.2578125, 0.0, 0.0, 0.0, 0.7578125, 2.2578125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.6484375], [0.0, 0.0, 0.8203125, 0.6796875, 0.2265625, 1.5703125, 0.9921875, 0.0234375, 0.0, 0.1640625, 0.8359375, 0.6171875, 0.0, 0.4609375, 0.0, 1.7265625, 1.3046875, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2734375]]> : tensor<3x24xf16>
  %want1 = ingot.constant dense<[[-0.0, -0.203125, -0.921875, -0.828125, -0.546875, 0.0, -0.671875, -0.0, 0.59375, 0.0, 0.0, 0.671875, 0.875, -0.0, -0.0, -0.0, 0.0, -0.0, 0.59375, -0.0, -0.5625, -0.0, -0.34375, 0.0], [0.0, 0.0, -0.9375, 0.0, -1.421875, -0.078125, -0.0, -0.125, 0.0, -0.0, 0.53125, -1.0, 0.0, -0.0, -0.0, 0.125, 0.359375, -0.0, 0.0, -0.0, 0.0, 0.0, -0.0, -0.515625], [0.0, 0.0, 0.78125, 0.15625, 1.0625, -0.0625, 0.4375, 1.25, -0.0, -0.53125, -1.15625, 0.125, -0.0, 1.3125, 0.0, 0.5, -1.5625, 0.0, -0.0, 0.0, -0.0, 0.0, 0.0, -0.96875]]> : tensor<3x24xf16>
  return %y, %want0, %dx, %want1 : tensor<3x24xf16>, tensor<3x24xf16>, tensor<3x24xf16>, tensor<3x24xf16>
}

// CHECK-LABEL: func @test_relu_gradient_summed_f32(
//       CHECK: library = #ingot.library_epilogue<relu bias = {{[0-9]}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}} bias_grad = {{[01]}} of result>
func.func @test_relu_gradient_summed_f32() -> (tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<24xf32>, tensor<24xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %a = ingot.constant dense<[[-0.625, 0.375, 0.125, -0.25], [-0.875, -0.375, -0.25, 0.75], [-1.0, -0.5, 0.5, -1.0]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.125, -0.5, -0.125, -1.0, -0.5, 0.625, 1.0, -0.75, 0.875, 1.0, 0.375, -0.625, 0.375, -0.375, -0.375, 0.125, -0.75, -0.375, 1.0, -0.25, 0.25, -0.875, 0.5, -0.25], [0.25, -1.0, -0.625, -0.625, -0.75, 0.875, 0.0, -0.5, -0.5, -0.5, -0.5, 0.375, 0.125, 0.875, 0.75, -0.375, -0.375, -0.25, 0.75, 0.5, -0.125, 0.625, 0.25, 0.25], [0.5, -0.625, 0.375, -0.625, -0.875, 0.5, -1.0, 0.5, -0.625, 0.875, -1.0, 0.625, 0.875, -0.125, 1.0, -0.75, 0.75, 0.875, -0.625, 0.375, 0.5, 0.125, -1.0, 0.375], [-0.875, -0.25, -0.5, -0.375, 1.0, 0.125, -0.375, 0.0, 0.5, 0.5, 0.625, 0.875, 0.875, 0.75, 0.25, -0.25, -0.25, -0.25, -0.125, 0.875, 0.375, -0.25, 0.625, 0.625]]> : tensor<4x24xf32>
  %b = ingot.constant dense<[-0.7421875, -0.8671875, -0.1171875, -0.1171875, -0.9921875, 0.0078125, 0.2578125, 0.6328125, 0.1328125, 0.7578125, -0.1171875, -0.7421875, 0.5078125, 0.2578125, 0.0078125, 0.2578125, -0.6171875, -0.7421875, -0.3671875, 0.7578125, 0.6328125, 0.1328125, -0.4921875, 1.0078125]> : tensor<24xf32>
  %g = ingot.constant dense<[[1.0, -0.625, 0.375, 0.0], [0.75, -0.375, 0.0, 0.25], [0.375, 0.25, -0.5, 0.0]]> : tensor<3x4xf32>
  %v = ingot.constant dense<[[0.875, -0.375, -0.625, 0.0, -0.125, -0.25, 1.0, 0.875, -0.875, -0.125, 0.25, 0.0, 1.0, -0.5, 0.875, -0.5, 0.75, 1.0, -0.5, -0.375, -0.875, 0.75, -0.75, 0.25], [-0.375, 1.0, 0.25, -0.75, 0.625, 1.0, 0.125, 0.625, 0.5, 0.125, 0.625, 0.5, -0.625, 0.5, 0.125, -0.125, 0.25, 0.25, -0.75, -0.625, 0.625, -1.0, -0.875, 0.375], [-0.625, 0.0, 0.625, 0.875, 0.75, -0.5, -0.375, 0.625, 0.625, 1.0, 0.5, 0.875, -0.25, 1.0, -0.375, -0.75, 0.125, -0.75, -1.0, -0.625, -0.25, -0.25, -1.0, -0.875], [-0.75, -0.75, 0.625, -1.0, -0.375, 0.875, -0.25, -0.25, 0.5, 0.25, -0.5, -0.125, 0.0, 0.5, -0.125, 0.625, -0.125, -0.25, -0.375, 0.125, 0.0, -0.875, -0.25, -0.5]]> : tensor<4x24xf32>
  %zero = ingot.constant dense<0.0> : tensor<3x24xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<24xf32> -> tensor<3x24xf32>
  %x = ingot.add %p, %bias : tensor<3x24xf32>
  %y = ingot.max %x, %zero : tensor<3x24xf32>
  %c = ingot.compare gt %y, %zero : (tensor<3x24xf32>, tensor<3x24xf32>) -> tensor<3x24xi1>
  %bits = ingot.pack_bits %c : tensor<3x24xi1> -> tensor<3x16xui8>
  %u = ingot.unpack_bits %bits : tensor<3x16xui8> -> tensor<3x24xi1>
  %q = ingot.matmul %g, %v : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %dx = ingot.select %u, %q, %zero : tensor<3x24xi1>, tensor<3x24xf32>
  %s = ingot.reduce sum %dx dims = [0] : (tensor<3x24xf32>) -> tensor<24xf32>
  %want0 = ingot.constant dense<[[0.0, 0.0, 0.0, 0.2890625, 0.0, 0.0, 0.0, 0.9765625, 0.0, 0.0, 0.0, 0.0, 0.2109375, 0.6171875, 0.5859375, 0.0078125, 0.0, 0.0, 0.0, 0.9296875, 0.3984375, 0.9921875, 0.0, 1.1484375], [0.0, 0.0, 0.0, 0.8671875, 0.6953125, 0.0, 0.0, 1.3515625, 0.0859375, 0.2265625, 0.4609375, 0.1640625, 0.5703125, 0.8515625, 0.0, 0.2890625, 0.0, 0.0, 0.0, 1.3515625, 0.6171875, 0.4453125, 0.0, 1.5078125], [0.1328125, 0.0703125, 1.0078125, 1.2578125, 0.0, 0.0, 0.0, 1.8828125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2578125, 0.1953125, 0.9453125, 0.4453125, 0.0, 0.0703125, 0.3203125, 1.0078125, 0.0, 0.6953125]]> : tensor<3x24xf32>
  %want1 = ingot.constant dense<[[0.0, -0.0, -0.0, 0.796875, -0.0, -0.0, 0.0, 0.71875, -0.0, 0.0, 0.0, 0.0, 1.296875, -0.4375, 0.65625, -0.703125, 0.0, 0.0, -0.0, -0.21875, -1.359375, 1.28125, -0.0, -0.3125], [0.0, -0.0, -0.0, 0.03125, -0.421875, -0.0, 0.0, 0.359375, -0.71875, -0.078125, -0.171875, -0.21875, 0.984375, -0.4375, 0.0, -0.171875, 0.0, 0.0, -0.0, -0.015625, -0.890625, 0.71875, -0.0, -0.078125], [0.546875, 0.109375, -0.484375, -0.625, -0.0, 0.0, 0.0, 0.171875, -0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.546875, 0.15625, 0.28125, 0.8125, 0.0, 0.015625, -0.046875, 0.15625, 0.0, 0.625]]> : tensor<3x24xf32>
  %want2 = ingot.constant dense<[0.546875, 0.109375, -0.484375, 0.203125, -0.421875, 0.0, 0.0, 1.25, -0.71875, -0.078125, -0.171875, -0.21875, 2.28125, -0.875, 1.203125, -0.71875, 0.28125, 0.8125, 0.0, -0.21875, -2.296875, 2.15625, 0.0, 0.234375]> : tensor<24xf32>
  return %y, %want0, %dx, %want1, %s, %want2 : tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<24xf32>, tensor<24xf32>
}

// Rows of 128 bits are full: what fills others up is not compared.
// CHECK-LABEL: func @test_relu_signs_f32(
//       CHECK: library = #ingot.library_epilogue<relu bias = {{[0-9]}} auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}}>
func.func @test_relu_signs_f32() -> (tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x16xui8>, tensor<2x16xui8>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %a = ingot.constant dense<[[0.0, -0.625], [0.75, -0.375]]> : tensor<2x2xf32>
  %w = ingot.constant dense<[[0.0, -0.375, 0.125, 0.125, -0.25, -0.375, 0.375, -0.375, -0.125, 0.75, -1.0, -1.0, 0.0, -1.0, 0.125, -1.0, -0.625, 0.75, 0.0, 0.25, -0.625, 0.5, -0.75, 1.0, -0.875, -0.625, 0.875, 0.875, -0.625, -0.5, 1.0, 0.0, 0.375, 0.375, 0.25, 0.625, -0.75, -0.5, -0.75, 0.0, -1.0, -1.0, -0.375, -0.5, 0.625, 1.0, -0.375, 0.875, 0.75, 0.125, 0.0, 0.625, -0.875, 0.875, -0.625, -0.375, 0.75, 1.0, -0.875, -0.125, 0.875, -0.75, 0.0, 0.125, -1.0, 0.25, -0.125, 0.375, 0.75, 0.375, 0.875, -1.0, 0.75, 0.25, 1.0, 0.875, 0.25, 0.375, 0.125, 1.0, -0.75, 0.0, 0.75, 0.625, -0.25, -0.75, -0.375, 0.875, -0.375, -0.125, -0.75, 0.75, 0.0, -0.375, -0.875, 0.25, -0.125, 0.75, 1.0, 0.5, -0.75, 0.25, 0.75, 1.0, -0.375, -0.875, -0.625, -0.875, 0.25, 0.125, -0.125, 1.0, -0.625, 0.375, 1.0, -0.375, 0.125, -0.875, -0.25, -0.125, 0.5, 0.0, 0.625, -0.125, -0.625, 0.25, -0.75, -0.5], [0.875, 0.75, 0.625, -0.5, 0.375, -0.875, 0.5, -0.375, -0.75, 0.875, 0.0, -0.75, 0.375, -0.5, 0.375, 0.875, -0.25, -0.375, -0.625, 0.75, -0.25, -1.0, -0.125, 0.875, -0.875, -0.5, 1.0, -0.625, -0.875, 0.5, -0.875, 1.0, 0.75, 1.0, 0.375, 0.5, -0.75, 0.875, 0.875, 1.0, 0.25, 0.125, -0.625, -0.75, 0.25, 0.75, 0.5, -0.25, 0.25, -0.375, -1.0, 0.0, 0.875, -1.0, -0.5, -1.0, -0.25, -0.5, -0.75, 0.25, 0.75, 0.5, 0.75, 1.0, 0.625, 0.625, -0.875, 0.875, -0.875, 0.25, 1.0, 0.5, 0.5, 0.125, -0.5, -0.875, 0.25, -0.875, 0.0, 0.5, -0.75, -0.625, 0.875, 0.625, 0.5, -0.125, 1.0, -1.0, -0.5, 0.125, -1.0, -0.125, 0.0, -0.875, -0.75, -0.5, 1.0, -0.375, 0.375, -0.375, -0.5, 0.5, 0.625, -0.75, -0.75, -0.125, 0.0, 0.25, 0.375, 1.0, 0.875, -0.875, -0.625, -0.875, 1.0, -0.625, 0.25, -0.625, -0.625, -0.75, 1.0, -0.875, 0.75, -0.625, -1.0, -0.625, -0.25, 0.0]]> : tensor<2x128xf32>
  %b = ingot.constant dense<[0.2578125, 0.3828125, 0.1328125, -0.2421875, -0.3671875, -0.7421875, -0.2421875, -0.8671875, -0.1171875, -0.4921875, 0.2578125, -0.7421875, 0.1328125, 0.0078125, -0.1171875, 0.7578125, -0.1171875, 0.5078125, -0.8671875, -0.6171875, 0.2578125, -0.9921875, 1.0078125, -0.8671875, 0.3828125, -0.1171875, 0.6328125, -0.2421875, 1.0078125, 0.3828125, -0.8671875, -0.8671875, -0.4921875, -0.4921875, 0.7578125, 0.3828125, 0.6328125, 0.1328125, -0.7421875, 0.0078125, 0.3828125, 0.8828125, -0.2421875, -0.8671875, -0.4921875, -0.6171875, -0.3671875, 0.1328125, 0.2578125, 0.1328125, -0.9921875, 1.0078125, -0.4921875, 1.0078125, -0.9921875, 0.1328125, 0.3828125, 0.5078125, 0.7578125, 0.3828125, -0.6171875, -0.7421875, 0.3828125, 0.2578125, 0.0078125, -0.3671875, -0.8671875, -0.2421875, -0.3671875, -0.7421875, -0.9921875, -0.9921875, 0.2578125, 0.7578125, 0.3828125, 0.5078125, -0.3671875, 0.5078125, 0.5078125, -0.4921875, -0.9921875, -0.1171875, 0.8828125, -0.7421875, -0.4921875, 0.2578125, -0.4921875, 0.7578125, -0.1171875, 0.6328125, -0.6171875, 0.8828125, -0.3671875, -0.4921875, -0.1171875, 0.3828125, -0.3671875, -0.7421875, 0.6328125, 0.1328125, 0.8828125, -0.8671875, 0.5078125, 0.1328125, 0.5078125, 0.1328125, -0.8671875, -0.3671875, -0.1171875, -0.3671875, -0.3671875, 0.5078125, -0.8671875, 0.0078125, 1.0078125, -0.2421875, -0.9921875, -0.8671875, 1.0078125, -0.4921875, -0.4921875, 0.7578125, -0.4921875, 1.0078125, -0.7421875, -0.2421875, 0.0078125, 0.7578125]> : tensor<128xf32>
  %g = ingot.constant dense<[[0.125, 0.75], [1.0, -0.625]]> : tensor<2x2xf32>
  %v = ingot.constant dense<[[0.5, -0.5, 1.0, 0.375, 0.0, -0.375, 0.25, 1.0, -0.75, -0.25, 0.75, 0.5, 0.125, 0.5, -0.25, -0.625, -0.375, 0.75, -0.625, -0.375, -0.875, -0.875, 0.125, -1.0, 0.625, -0.125, 0.25, 0.25, 1.0, -0.5, -0.5, 0.75, 0.125, -0.5, -1.0, 0.75, -0.625, -1.0, 1.0, -0.5, -1.0, -0.75, -0.25, -0.125, 0.0, -0.375, 0.25, -0.25, -0.25, 0.75, 0.0, 0.125, -0.5, 0.25, 0.375, -0.25, -0.125, 0.625, -0.375, 0.0, -0.875, 0.5, -0.75, 0.875, -0.25, 0.25, 0.5, -0.125, -0.625, -0.5, 0.375, 0.875, 0.75, 0.625, 0.75, 0.625, -0.375, -0.625, 0.875, -0.125, 0.25, 0.875, 0.625, -0.5, 0.875, 0.625, -1.0, 0.125, -1.0, -0.625, 0.25, -0.25, 0.25, -0.875, -0.75, 0.375, -0.625, 0.5, -0.625, -1.0, -1.0, -0.375, -1.0, 0.625, -0.875, -0.625, 0.25, 0.125, 0.25, 0.625, 0.375, 0.125, -0.5, -0.75, 1.0, 0.875, 0.375, 0.5, 0.0, 0.125, 0.375, -0.375, -0.125, 0.125, 0.75, -0.25, -1.0, -0.75], [-0.875, -0.75, 0.75, -1.0, 0.5, -0.75, -0.625, -0.5, 0.0, 0.25, 0.25, 0.125, -0.75, 0.25, -0.875, 0.625, -0.875, -0.875, -0.625, -0.25, 0.75, -0.875, -0.625, -0.125, -0.625, -0.875, 0.125, -0.875, 0.5, -0.875, -0.125, -0.25, 0.5, 0.5, 0.0, -0.5, 0.75, 0.5, -0.5, -0.625, 0.75, -0.5, -0.75, 0.0, 0.125, -0.875, 0.875, -0.125, 0.25, 0.125, 0.875, 0.75, -0.25, -1.0, 0.25, 0.625, 0.75, 0.125, 0.125, 0.125, -0.75, -1.0, -0.125, 0.75, -0.375, -0.5, 1.0, 0.125, -0.875, 0.125, -1.0, 0.875, 0.625, 0.25, 1.0, 1.0, -0.25, -0.625, -0.5, 0.375, -0.5, 0.125, 0.0, 0.0, 0.625, 0.25, 0.125, 0.125, -0.25, -0.375, 0.75, 0.25, -0.25, -0.875, 0.625, 0.0, 0.625, -0.125, 0.375, -0.625, -0.625, 0.125, 0.5, 0.375, 0.375, -0.75, 0.5, -0.375, 0.125, -0.875, -0.75, 0.25, 1.0, -0.875, -0.625, -0.625, 0.5, -0.125, 0.625, -0.125, 0.875, -1.0, 0.125, 1.0, 0.5, -0.625, -0.75, 0.25]]> : tensor<2x128xf32>
  %zero = ingot.constant dense<0.0> : tensor<2x128xf32>
  %p = ingot.matmul %a, %w : (tensor<2x2xf32>, tensor<2x128xf32>) -> tensor<2x128xf32>
  %bias = ingot.broadcast %b dims = [1] : tensor<128xf32> -> tensor<2x128xf32>
  %x = ingot.add %p, %bias : tensor<2x128xf32>
  %y = ingot.max %x, %zero : tensor<2x128xf32>
  %c = ingot.compare gt %y, %zero : (tensor<2x128xf32>, tensor<2x128xf32>) -> tensor<2x128xi1>
  %bits = ingot.pack_bits %c : tensor<2x128xi1> -> tensor<2x16xui8>
  %u = ingot.unpack_bits %bits : tensor<2x16xui8> -> tensor<2x128xi1>
  %q = ingot.matmul %g, %v : (tensor<2x2xf32>, tensor<2x128xf32>) -> tensor<2x128xf32>
  %dx = ingot.select %u, %q, %zero : tensor<2x128xi1>, tensor<2x128xf32>
  %want0 = ingot.constant dense<[[0.0, 0.0, 0.0, 0.0703125, 0.0, 0.0, 0.0, 0.0, 0.3515625, 0.0, 0.2578125, 0.0, 0.0, 0.3203125, 0.0, 0.2109375, 0.0390625, 0.7421875, 0.0, 0.0, 0.4140625, 0.0, 1.0859375, 0.0, 0.9296875, 0.1953125, 0.0078125, 0.1484375, 1.5546875, 0.0703125, 0.0, 0.0, 0.0, 0.0, 0.5234375, 0.0703125, 1.1015625, 0.0, 0.0, 0.0, 0.2265625, 0.8046875, 0.1484375, 0.0, 0.0, 0.0, 0.0, 0.2890625, 0.1015625, 0.3671875, 0.0, 1.0078125, 0.0, 1.6328125, 0.0, 0.7578125, 0.5390625, 0.8203125, 1.2265625, 0.2265625, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1796875, 0.0, 0.0, 0.0, 0.0, 0.6796875, 0.6953125, 1.0546875, 0.0, 1.0546875, 0.5078125, 0.0, 0.0, 0.2734375, 0.3359375, 0.0, 0.0, 0.3359375, 0.0, 1.3828125, 0.1953125, 0.5546875, 0.0078125, 0.9609375, 0.0, 0.0546875, 0.3515625, 0.6953125, 0.0, 0.0, 0.3984375, 0.3671875, 1.1953125, 0.0, 0.1171875, 0.6015625, 0.9765625, 0.2109375, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0546875, 0.0, 0.5546875, 0.3828125, 0.1484375, 0.0, 0.0, 1.3984375, 0.0, 0.0, 1.3046875, 0.0, 1.3984375, 0.0, 0.1484375, 0.1640625, 0.7578125], [0.0, 0.0, 0.0, 0.0390625, 0.0, 0.0, 0.0, 0.0, 0.0703125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2109375, 0.0, 0.0, 0.0, 0.0, 0.4921875, 0.0, 0.0546875, 0.0, 0.9140625, 0.6484375, 0.8671875, 0.0, 0.2109375, 0.0, 0.0, 0.0, 0.8046875, 0.6640625, 0.3515625, 0.0, 0.0, 0.0, 0.0, 0.0859375, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8828125, 0.7265625, 0.3671875, 0.0, 1.4765625, 0.0, 2.0390625, 0.0, 0.2265625, 1.0390625, 1.4453125, 0.3828125, 0.1953125, 0.0, 0.0, 0.1015625, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5234375, 0.0, 0.0, 0.0, 0.6328125, 0.8984375, 1.3203125, 1.4921875, 0.0, 1.1171875, 0.6015625, 0.0703125, 0.0, 0.1171875, 1.1171875, 0.0, 0.0, 0.0, 0.0, 1.7890625, 0.0, 0.4921875, 0.0, 1.4921875, 0.0, 0.0, 0.0, 0.7578125, 0.0, 0.0, 1.2421875, 0.6484375, 0.5078125, 0.0, 0.8359375, 1.1640625, 0.5078125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5859375, 0.0, 0.6171875, 1.3828125, 0.0, 0.0, 0.0, 1.0546875, 0.0, 0.0, 1.0859375, 0.0, 1.1484375, 0.0, 0.1796875, 0.0, 0.3828125]]> : tensor<2x128xf32>
  %want1 = ingot.constant dense<[[-0.0, -0.0, 0.0, -0.703125, 0.0, -0.0, -0.0, -0.0, -0.09375, 0.0, 0.28125, 0.0, -0.0, 0.25, -0.0, 0.390625, -0.703125, -0.5625, -0.0, -0.0, 0.453125, -0.0, -0.453125, -0.0, -0.390625, -0.671875, 0.125, -0.625, 0.5, -0.71875, -0.0, -0.0, 0.0, 0.0, -0.125, -0.28125, 0.484375, 0.0, -0.0, -0.0, 0.4375, -0.46875, -0.59375, -0.0, 0.0, -0.0, 0.0, -0.125, 0.15625, 0.1875, 0.0, 0.578125, -0.0, -0.71875, 0.0, 0.4375, 0.546875, 0.171875, 0.046875, 0.09375, -0.0, -0.0, -0.0, 0.0, -0.0, -0.0, 0.0, 0.0, -0.734375, 0.0, -0.0, 0.0, 0.0, 0.265625, 0.84375, 0.828125, -0.0, -0.546875, -0.265625, 0.0, -0.0, 0.203125, 0.078125, -0.0, 0.0, 0.265625, -0.0, 0.109375, -0.3125, -0.359375, 0.59375, 0.15625, -0.0, -0.765625, 0.375, 0.046875, 0.0, -0.0, 0.203125, -0.59375, -0.59375, 0.0, 0.25, 0.359375, 0.171875, -0.640625, 0.0, -0.0, 0.0, -0.0, -0.0, 0.203125, 0.0, -0.75, -0.34375, -0.359375, 0.0, -0.0, 0.46875, -0.0, 0.0, -0.796875, 0.0, 0.765625, 0.0, -0.5, -0.6875, 0.09375], [0.0, -0.0, 0.0, 1.0, -0.0, 0.0, 0.0, 0.0, -0.75, -0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0, 0.0, 1.296875, -0.0, -0.0, -0.0, -0.0, 0.515625, -0.0, 1.015625, 0.0, 0.171875, 0.796875, 0.6875, 0.0, -0.421875, 0.0, -0.0, -0.0, -1.0, 1.0625, -1.09375, -0.0, 0.0, -0.0, -0.0, -0.4375, 0.0, -0.0, -0.0, 0.0, -0.0, -0.171875, -0.40625, 0.671875, -0.0, -0.34375, -0.0, 0.875, 0.0, -0.640625, -0.59375, 0.546875, -0.453125, -0.078125, -0.0, 0.0, -0.671875, 0.0, -0.0, 0.0, -0.0, -0.0, -0.078125, -0.0, 0.0, 0.0, 0.359375, 0.46875, 0.125, 0.0, -0.0, -0.234375, 1.1875, -0.359375, 0.0, 0.796875, 0.625, -0.0, 0.0, 0.0, -0.0, 0.046875, -0.0, -0.390625, -0.0, -0.40625, 0.0, -0.0, -0.0, 0.375, -0.0, 0.0, -0.859375, -0.609375, -0.609375, -0.0, -1.3125, 0.390625, -1.109375, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0, -0.03125, -0.0, -0.203125, 1.390625, 0.0, 0.0, 0.0, -0.390625, 0.0, -0.0, 0.25, -0.0, -0.5, 0.0, 0.140625, -0.0, -0.90625]]> : tensor<2x128xf32>
  %want2 = ingot.constant dense<[[8, 165, 83, 63, 28, 135, 171, 15, 16, 110, 166, 239, 220, 131, 78, 234], [8, 1, 66, 93, 28, 130, 171, 79, 16, 239, 134, 138, 220, 129, 70, 170]]> : tensor<2x16xui8>
  return %y, %want0, %dx, %want1, %bits, %want2 : tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x16xui8>, tensor<2x16xui8>
}

// At 0 the derivative is 0.
// CHECK-LABEL: func @test_relu_gradient_at_zero_f32(
//       CHECK: library = #ingot.library_epilogue<relu auxiliary = {{[01]}} result = {{[01]}}>
//       CHECK: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}}>
func.func @test_relu_gradient_at_zero_f32() -> (tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %a = ingot.constant dense<[[-0.875, -0.625, 0.0, 0.25], [0.0, 0.0, 0.0, 0.0], [0.125, 0.0, -1.0, 0.125]]> : tensor<3x4xf32>
  %w = ingot.constant dense<[[0.5, 0.25, 0.0, 0.375, 0.0, -0.5, -0.75, -0.875, -0.25, -0.5, 0.375, -0.375, 0.125, 0.25, 0.5, -0.125, -0.25, -0.375, 0.375, -0.875, 0.25, 0.25, -0.625, -0.875], [-0.375, 0.0, -0.5, 0.375, 0.25, 0.25, -0.25, -0.75, 0.0, -0.25, 0.625, 0.875, -1.0, -0.875, -0.125, 0.375, -0.875, -0.125, -0.125, 0.25, 0.625, -0.25, -0.875, -0.75], [0.375, 0.125, 0.875, -1.0, 0.875, 0.75, 0.625, 0.625, -0.75, -0.25, -0.75, 0.125, -0.125, 0.0, 0.625, 1.0, 0.75, -1.0, -0.125, -0.375, 0.25, -0.25, -0.125, 0.625], [0.625, 0.5, -0.5, -0.125, -0.125, -1.0, 0.125, 0.375, -1.0, -0.25, -0.625, -0.875, 1.0, 0.25, 1.0, -0.125, -0.875, -0.375, -0.875, -0.5, 0.375, 0.0, 0.25, -0.5]]> : tensor<4x24xf32>
  %g = ingot.constant dense<[[1.0, -0.75, 0.875, 0.5], [-1.0, 0.25, 0.75, 1.0], [-0.875, -0.375, 0.25, 0.75]]> : tensor<3x4xf32>
  %v = ingot.constant dense<[[-0.375, -0.625, 0.625, 1.0, -1.0, 1.0, 0.375, -1.0, -0.125, -0.375, -0.125, 1.0, 0.5, 1.0, 0.75, 0.375, 0.5, -0.75, -0.75, -1.0, 0.5, -0.5, -0.125, 1.0], [1.0, 0.625, -1.0, -0.125, 1.0, 0.5, -0.875, 0.875, -0.5, -0.375, -0.875, 0.75, 0.0, -0.5, -0.625, -0.375, -0.125, -1.0, -0.875, -0.75, 0.375, 0.125, 1.0, -1.0], [-1.0, 0.125, -0.875, -0.75, 0.875, 0.5, 0.0, -0.75, 0.25, -0.625, 0.875, -0.5, -1.0, 0.125, -0.375, 0.625, -0.25, 0.5, 0.5, 0.5, 0.25, 0.375, 0.5, 0.125], [0.375, -0.375, 0.625, -0.625, -1.0, 0.75, 0.75, -0.25, 0.125, 0.375, -0.75, -0.875, 0.125, -0.25, -0.25, -0.875, -0.625, -0.25, 0.875, 0.5, 1.0, -0.375, 0.125, 0.375]]> : tensor<4x24xf32>
  %zero = ingot.constant dense<0.0> : tensor<3x24xf32>
  %p = ingot.matmul %a, %w : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %y = ingot.max %p, %zero : tensor<3x24xf32>
  %c = ingot.compare gt %y, %zero : (tensor<3x24xf32>, tensor<3x24xf32>) -> tensor<3x24xi1>
  %bits = ingot.pack_bits %c : tensor<3x24xi1> -> tensor<3x16xui8>
  %u = ingot.unpack_bits %bits : tensor<3x16xui8> -> tensor<3x24xi1>
  %q = ingot.matmul %g, %v : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %dx = ingot.select %u, %q, %zero : tensor<3x24xi1>, tensor<3x24xf32>
  %want0 = ingot.constant dense<[[0.0, 0.0, 0.1875, 0.0, 0.0, 0.03125, 0.84375, 1.328125, 0.0, 0.53125, 0.0, 0.0, 0.765625, 0.390625, 0.0, 0.0, 0.546875, 0.3125, 0.0, 0.484375, 0.0, 0.0, 1.15625, 1.109375], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.03125, 0.0, 0.0, 0.0, 0.0, 0.59375, 0.15625, 0.71875, 0.0, 0.265625, 0.0625, 0.0, 0.0, 0.0, 0.90625, 0.0625, 0.203125, 0.0, 0.28125, 0.078125, 0.0]]> : tensor<3x24xf32>
  %want1 = ingot.constant dense<[[-0.0, -0.0, 0.921875, 0.0, -0.0, 1.4375, 1.40625, -2.4375, 0.0, -0.453125, 0.0, -0.0, -0.3125, 1.359375, 0.0, 0.0, 0.0625, 0.3125, 0.0, 0.25, 0.0, -0.0, -0.375, 2.046875], [0.0, 0.0, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0], [-0.0, 0.0, 0.0, -1.484375, -0.0, -0.0, 0.0, 0.0, 0.453125, 0.59375, 0.09375, -0.0, -0.59375, -0.84375, -0.0, -0.0, -0.0, 0.96875, 1.765625, 1.65625, 0.0, 0.203125, -0.046875, -0.0]]> : tensor<3x24xf32>
  return %y, %want0, %dx, %want1 : tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>, tensor<3x24xf32>
}

// A sum that devices add up in two launches.
// CHECK-LABEL: func @test_bias_gradient_in_pieces_f32(
//       CHECK: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of lhs>
func.func @test_bias_gradient_in_pieces_f32() -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) attributes {ingot.tolerance = 1.0e-5 : f64} {
  %scale = ingot.constant dense<[0.0009765625, -0.0009765625, 0.001953125, 0.0]> : tensor<4xf32>
  %row = ingot.iota {dim = 0 : i64} : tensor<1024x4xf32>
  %factor = ingot.broadcast %scale dims = [1] : tensor<4xf32> -> tensor<1024x4xf32>
  %dy = ingot.mul %row, %factor : tensor<1024x4xf32>
  %x = ingot.iota {dim = 1 : i64} : tensor<1024x8xf32>
  %s = ingot.reduce sum %dy dims = [0] : (tensor<1024x4xf32>) -> tensor<4xf32>
  %p = ingot.matmul %dy transposed, %x : (tensor<1024x4xf32>, tensor<1024x8xf32>) -> tensor<4x8xf32>
  %want0 = ingot.constant dense<[[0.0, 511.5, 1023.0, 1534.5, 2046.0, 2557.5, 3069.0, 3580.5], [0.0, -511.5, -1023.0, -1534.5, -2046.0, -2557.5, -3069.0, -3580.5], [0.0, 1023.0, 2046.0, 3069.0, 4092.0, 5115.0, 6138.0, 7161.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<4x8xf32>
  %want1 = ingot.constant dense<[511.5, -511.5, 1023.0, 0.0]> : tensor<4xf32>
  return %p, %want0, %s, %want1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

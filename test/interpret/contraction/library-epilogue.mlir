// RUN: ingot-eval %s --expect
// RUN: ingot-eval %s --expect --compiled
// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions | FileCheck %s

// What libraries of devices finish products with (docs/design/compiler/epilogues.md), as
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

// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --split-input-file --remarks-filter=form-fusions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Tests that a bias along rows and what rounds the sum join the product, in the
// product's type throughout.
// CHECK-LABEL: func @bias
//       CHECK: ingot.fusion epilogue(%arg0, %arg1, %arg2)
//  CHECK-SAME:   library = #ingot.library_epilogue<identity bias = 2 result = 0>
//   CHECK-NOT: ingot.fusion
func.func @bias(%a: tensor<4x8xbf16>, %w: tensor<16x8xbf16>, %b: tensor<16xbf16>) -> tensor<4x16xbf16> {
  %0 = ingot.matmul %a, %w transposed : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xbf16>
  %1 = ingot.cast %0 : tensor<4x16xbf16> -> tensor<4x16xf32>
  %2 = ingot.cast %b : tensor<16xbf16> -> tensor<16xf32>
  %3 = ingot.broadcast %2 dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %4 = ingot.add %1, %3 : tensor<4x16xf32>
  %5 = ingot.cast %4 : tensor<4x16xf32> -> tensor<4x16xbf16>
  return %5 : tensor<4x16xbf16>
}

// -----

// Tests that a bias with more digits than the product stays a kernel's.
// REMARK: Epilogue{{.*}}its bias has a wider type than the matmul
// CHECK-LABEL: func @wide_bias
//       CHECK: ingot.matmul
//       CHECK: ingot.fusion loop
func.func @wide_bias(%a: tensor<4x8xbf16>, %w: tensor<16x8xbf16>, %b: tensor<16xf32>) -> tensor<4x16xbf16> {
  %0 = ingot.matmul %a, %w transposed : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xbf16>
  %1 = ingot.cast %0 : tensor<4x16xbf16> -> tensor<4x16xf32>
  %3 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %4 = ingot.add %1, %3 : tensor<4x16xf32>
  %5 = ingot.cast %4 : tensor<4x16xf32> -> tensor<4x16xbf16>
  return %5 : tensor<4x16xbf16>
}

// -----

// Tests that a bias along columns is none of the library's.
// REMARK: Epilogue{{.*}}no bias, residual, relu or tanh gelu follows
// CHECK-LABEL: func @bias_of_rows
//       CHECK: ingot.matmul
//       CHECK: ingot.fusion loop
func.func @bias_of_rows(%a: tensor<16x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<16x16xf32> {
  %0 = ingot.matmul %a, %w : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %1 = ingot.broadcast %b dims = [0] : tensor<16xf32> -> tensor<16x16xf32>
  %2 = ingot.add %0, %1 : tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// Tests that a residual in memory is accumulated into, bias and ReLU behind it,
// and that reshapes between them change nothing.
// CHECK-LABEL: func @residual_bias_relu
//       CHECK: ingot.fusion epilogue(%arg3, %arg2, %arg0, %arg1)
//  CHECK-SAME:   library = #ingot.library_epilogue<relu bias = 0 addend = 1 result = 0>
func.func @residual_bias_relu(%a: tensor<8x8xf32>, %w: tensor<8x16xf32>, %r: tensor<8x16xf32>,
                              %b: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %zero = ingot.constant dense<0.0> : tensor<2x4x16xf32>
  %0 = ingot.matmul %a, %w : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = ingot.reshape %0 : tensor<8x16xf32> -> tensor<2x4x16xf32>
  %r3 = ingot.reshape %r : tensor<8x16xf32> -> tensor<2x4x16xf32>
  %2 = ingot.add %r3, %1 : tensor<2x4x16xf32>
  %3 = ingot.broadcast %b dims = [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %4 = ingot.add %2, %3 : tensor<2x4x16xf32>
  %5 = ingot.max %4, %zero : tensor<2x4x16xf32>
  return %5 : tensor<2x4x16xf32>
}

// -----

// Tests that a product which a kernel reads besides stays in memory, and that
// this kernel is not the epilogue's.
// REMARK: Epilogue{{.*}}the matmul's result has other readers
// CHECK-LABEL: func @read_besides
//       CHECK: %[[P:.*]] = ingot.matmul
//       CHECK: ingot.fusion {{(loop|reduction)}}({{.*}}%[[P]]
//   CHECK-NOT: library
func.func @read_besides(%a: tensor<8x8xf32>, %w: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<8x16xf32>
  %0 = ingot.matmul %a, %w : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = ingot.max %0, %zero : tensor<8x16xf32>
  %2 = ingot.reduce sum %0 dims = [1] : (tensor<8x16xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<8x16xf32>, tensor<8xf32>
}

// -----

// Tests GELU as exporters write it, x (1 + tanh(k (x + c x^3))) / 2, whose
// pre-activation nothing else reads.
// CHECK-LABEL: func @gelu
//       CHECK: ingot.fusion epilogue(%arg0, %arg1, %arg2)
//  CHECK-SAME:   library = #ingot.library_epilogue<gelu bias = 2 result = 0>
func.func @gelu(%a: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %k = ingot.constant dense<0.797884583> : tensor<4x16xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<4x16xf32>
  %one = ingot.constant dense<1.0> : tensor<4x16xf32>
  %half = ingot.constant dense<0.5> : tensor<4x16xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %x = ingot.add %0, %1 : tensor<4x16xf32>
  %x2 = ingot.mul %x, %x : tensor<4x16xf32>
  %x3 = ingot.mul %x2, %x : tensor<4x16xf32>
  %cx3 = ingot.mul %x3, %c : tensor<4x16xf32>
  %s = ingot.add %x, %cx3 : tensor<4x16xf32>
  %ks = ingot.mul %s, %k : tensor<4x16xf32>
  %t = ingot.tanh %ks : tensor<4x16xf32>
  %t1 = ingot.add %t, %one : tensor<4x16xf32>
  %h = ingot.mul %t1, %half : tensor<4x16xf32>
  %y = ingot.mul %x, %h : tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// Tests the same function written x sigmoid(2 k (x + c x^3)), with a power.
// CHECK-LABEL: func @gelu_by_logistic
//       CHECK: library = #ingot.library_epilogue<gelu result = 0>
func.func @gelu_by_logistic(%a: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %k2 = ingot.constant dense<1.59576917> : tensor<4x16xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<4x16xf32>
  %three = ingot.constant dense<3.0> : tensor<4x16xf32>
  %x = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %x3 = ingot.pow %x, %three : tensor<4x16xf32>
  %cx3 = ingot.mul %c, %x3 : tensor<4x16xf32>
  %s = ingot.add %cx3, %x : tensor<4x16xf32>
  %ks = ingot.mul %k2, %s : tensor<4x16xf32>
  %l = ingot.logistic %ks : tensor<4x16xf32>
  %y = ingot.mul %l, %x : tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// Tests that GELU by erf, which the library does not have, is not taken for it:
// the bias alone joins.
// CHECK-LABEL: func @gelu_by_erf
//       CHECK: ingot.fusion epilogue
//  CHECK-SAME:   library = #ingot.library_epilogue<identity bias = 2 result = 0>
//       CHECK: ingot.fusion loop
//       CHECK:   ingot.erf
func.func @gelu_by_erf(%a: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %r = ingot.constant dense<0.707106769> : tensor<4x16xf32>
  %one = ingot.constant dense<1.0> : tensor<4x16xf32>
  %half = ingot.constant dense<0.5> : tensor<4x16xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %x = ingot.add %0, %1 : tensor<4x16xf32>
  %s = ingot.mul %x, %r : tensor<4x16xf32>
  %e = ingot.erf %s : tensor<4x16xf32>
  %e1 = ingot.add %e, %one : tensor<4x16xf32>
  %h = ingot.mul %e1, %half : tensor<4x16xf32>
  %y = ingot.mul %x, %h : tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// Tests that another function of the same shape is not taken for GELU: 0.8 is
// not the square root of 2 / pi.
// REMARK: Epilogue{{.*}}no bias, residual, relu or tanh gelu follows
// CHECK-LABEL: func @nearly_gelu
//   CHECK-NOT: library
func.func @nearly_gelu(%a: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %k2 = ingot.constant dense<1.6> : tensor<4x16xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<4x16xf32>
  %three = ingot.constant dense<3.0> : tensor<4x16xf32>
  %x = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %x3 = ingot.pow %x, %three : tensor<4x16xf32>
  %cx3 = ingot.mul %c, %x3 : tensor<4x16xf32>
  %s = ingot.add %cx3, %x : tensor<4x16xf32>
  %ks = ingot.mul %k2, %s : tensor<4x16xf32>
  %l = ingot.logistic %ks : tensor<4x16xf32>
  %y = ingot.mul %l, %x : tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// Tests that what GELU is computed from is stored beside it where the backward
// pass needs it, and that its derivative there joins the product it multiplies:
// nothing else reads or writes tensors of this size.
// CHECK-LABEL: func @gelu_and_gradient
//       CHECK: %[[FORWARD:.*]]:2 = ingot.fusion epilogue(%arg0, %arg1, %arg2)
//  CHECK-SAME:   library = #ingot.library_epilogue<gelu bias = 2 auxiliary = [[X:[01]]] result = [[Y:[01]]]>
//       CHECK: ingot.fusion epilogue(%[[FORWARD]]#[[X]], %arg3, %arg4)
//  CHECK-SAME:   library = #ingot.library_epilogue<gelu_grad auxiliary = 0 result = 0>
//   CHECK-NOT: ingot.fusion loop
//       CHECK: return %[[FORWARD]]#[[Y]]
func.func @gelu_and_gradient(%a: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xbf16>, %g: tensor<4x24xbf16>,
                             %v: tensor<24x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>) {
  %k = ingot.constant dense<0.797884583> : tensor<4x16xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<4x16xf32>
  %one = ingot.constant dense<1.0> : tensor<4x16xf32>
  %half = ingot.constant dense<0.5> : tensor<4x16xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %p = ingot.cast %0 : tensor<4x16xbf16> -> tensor<4x16xf32>
  %1 = ingot.cast %b : tensor<16xbf16> -> tensor<16xf32>
  %2 = ingot.broadcast %1 dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %x = ingot.add %p, %2 : tensor<4x16xf32>
  %x2 = ingot.mul %x, %x : tensor<4x16xf32>
  %x3 = ingot.mul %x2, %x : tensor<4x16xf32>
  %cx3 = ingot.mul %x3, %c : tensor<4x16xf32>
  %s = ingot.add %x, %cx3 : tensor<4x16xf32>
  %ks = ingot.mul %s, %k : tensor<4x16xf32>
  %t = ingot.tanh %ks : tensor<4x16xf32>
  %t1 = ingot.add %t, %one : tensor<4x16xf32>
  %h = ingot.mul %t1, %half : tensor<4x16xf32>
  %y = ingot.mul %x, %h : tensor<4x16xf32>
  %low = ingot.cast %y : tensor<4x16xf32> -> tensor<4x16xbf16>

  %xlow = ingot.cast %x : tensor<4x16xf32> -> tensor<4x16xbf16>
  %z = ingot.cast %xlow : tensor<4x16xbf16> -> tensor<4x16xf32>
  %z2 = ingot.mul %z, %z : tensor<4x16xf32>
  %z3 = ingot.mul %z2, %z : tensor<4x16xf32>
  %cz3 = ingot.mul %z3, %c : tensor<4x16xf32>
  %zs = ingot.add %z, %cz3 : tensor<4x16xf32>
  %kzs = ingot.mul %zs, %k : tensor<4x16xf32>
  %tz = ingot.tanh %kzs : tensor<4x16xf32>
  %tz1 = ingot.add %tz, %one : tensor<4x16xf32>
  %hz = ingot.mul %tz1, %half : tensor<4x16xf32>
  %3 = ingot.matmul %g, %v : (tensor<4x24xbf16>, tensor<24x16xbf16>) -> tensor<4x16xbf16>
  %d = ingot.cast %3 : tensor<4x16xbf16> -> tensor<4x16xf32>
  %dx0 = ingot.mul %d, %hz : tensor<4x16xf32>
  %dh = ingot.mul %d, %z : tensor<4x16xf32>
  %dt = ingot.mul %dh, %half : tensor<4x16xf32>
  %tt = ingot.mul %tz, %tz : tensor<4x16xf32>
  %slope = ingot.sub %one, %tt : tensor<4x16xf32>
  %dks = ingot.mul %dt, %slope : tensor<4x16xf32>
  %ds = ingot.mul %dks, %k : tensor<4x16xf32>
  %dx1 = ingot.add %dx0, %ds : tensor<4x16xf32>
  %dcx3 = ingot.mul %ds, %c : tensor<4x16xf32>
  %dx2a = ingot.mul %dcx3, %z2 : tensor<4x16xf32>
  %dx2b = ingot.mul %dcx3, %z : tensor<4x16xf32>
  %dx2c = ingot.mul %dx2b, %z : tensor<4x16xf32>
  %dx3 = ingot.add %dx1, %dx2a : tensor<4x16xf32>
  %dx4 = ingot.add %dx3, %dx2c : tensor<4x16xf32>
  %dx5 = ingot.add %dx4, %dx2c : tensor<4x16xf32>
  %dlow = ingot.cast %dx5 : tensor<4x16xf32> -> tensor<4x16xbf16>
  return %low, %dlow : tensor<4x16xbf16>, tensor<4x16xbf16>
}

// -----

// Tests that the library is not asked to write what GELU is computed from where
// rows are no multiple of 8 elements: only the bias joins.
// CHECK-LABEL: func @odd_columns
//       CHECK: library = #ingot.library_epilogue<identity bias = 2 result = 0>
func.func @odd_columns(%a: tensor<4x8xf32>, %w: tensor<8x20xf32>, %b: tensor<20xf32>) -> (tensor<4x20xf32>, tensor<4xf32>) {
  %k = ingot.constant dense<0.797884583> : tensor<4x20xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<4x20xf32>
  %one = ingot.constant dense<1.0> : tensor<4x20xf32>
  %half = ingot.constant dense<0.5> : tensor<4x20xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<20xf32> -> tensor<4x20xf32>
  %x = ingot.add %0, %1 : tensor<4x20xf32>
  %x2 = ingot.mul %x, %x : tensor<4x20xf32>
  %x3 = ingot.mul %x2, %x : tensor<4x20xf32>
  %cx3 = ingot.mul %x3, %c : tensor<4x20xf32>
  %s = ingot.add %x, %cx3 : tensor<4x20xf32>
  %ks = ingot.mul %s, %k : tensor<4x20xf32>
  %t = ingot.tanh %ks : tensor<4x20xf32>
  %t1 = ingot.add %t, %one : tensor<4x20xf32>
  %h = ingot.mul %t1, %half : tensor<4x20xf32>
  %y = ingot.mul %x, %h : tensor<4x20xf32>
  %sum = ingot.reduce sum %x dims = [1] : (tensor<4x20xf32>) -> tensor<4xf32>
  return %y, %sum : tensor<4x20xf32>, tensor<4xf32>
}

// -----

// Tests that the product's memory is that of the sum where a reshape is behind
// it, and that a bias which is a view of something computed is in memory.
// CHECK-LABEL: func @reshape_behind
//       CHECK: %[[B:.*]] = ingot.fusion loop(%arg2)
//       CHECK: %[[VIEW:.*]] = ingot.reshape %[[B]]
//       CHECK: %[[SUM:.*]] = ingot.fusion epilogue(%arg0, %arg1, %[[VIEW]])
//  CHECK-SAME:   library = #ingot.library_epilogue<identity bias = 2 result = 0>
//       CHECK: ingot.fusion {{.*}}(%[[SUM]])
func.func @reshape_behind(%a: tensor<16x32xf32>, %w: tensor<32x16xf32>, %b: tensor<4x4xf32>) -> tensor<4x4x16xf32> {
  %0 = ingot.matmul %a, %w : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %e = ingot.exp %b : tensor<4x4xf32>
  %v = ingot.reshape %e : tensor<4x4xf32> -> tensor<16xf32>
  %1 = ingot.broadcast %v dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %2 = ingot.add %0, %1 : tensor<16x16xf32>
  %3 = ingot.reshape %2 : tensor<16x16xf32> -> tensor<4x4x16xf32>
  %4 = ingot.exp %3 : tensor<4x4x16xf32>
  %5 = ingot.reduce sum %4 dims = [2] : (tensor<4x4x16xf32>) -> tensor<4x4xf32>
  %6 = ingot.broadcast %5 dims = [0, 1] : tensor<4x4xf32> -> tensor<4x4x16xf32>
  %7 = ingot.div %4, %6 : tensor<4x4x16xf32>
  return %7 : tensor<4x4x16xf32>
}

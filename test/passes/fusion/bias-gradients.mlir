// RUN: ingot-opt %s --split-input-file --ingot-attach-target=target=emulator --ingot-form-fusions | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-attach-target=target=emulator --ingot-form-fusions --remarks-filter=form-fusions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Tests that the sum of an operand over the inner dimension joins the product,
// through reshapes and casts to f32, and that the product stays as it is.
// REMARK: [Passed] Epilogue{{.*}}library=bias-gradient
// CHECK-LABEL: func @of_lhs
//       CHECK: %[[F:.*]]:2 = ingot.fusion epilogue({{.*}}) attributes {library = #ingot.library_epilogue<identity result = [[R:[01]]] bias_grad = [[S:[01]]] of lhs>}
//   CHECK-DAG:   ingot.matmul {{.*}} transposed
//   CHECK-DAG:   ingot.reduce sum {{.*}} dims = [0, 1]
//       CHECK: return %[[F]]#[[R]], %[[F]]#[[S]]
func.func @of_lhs(%dy: tensor<4x8x16xbf16>, %x: tensor<32x24xbf16>) -> (tensor<16x24xf32>, tensor<16xf32>) {
  %w = ingot.cast %dy : tensor<4x8x16xbf16> -> tensor<4x8x16xf32>
  %s = ingot.reduce sum %w dims = [0, 1] : (tensor<4x8x16xf32>) -> tensor<16xf32>
  %v = ingot.reshape %dy : tensor<4x8x16xbf16> -> tensor<32x16xbf16>
  %0 = ingot.matmul %v transposed, %x : (tensor<32x16xbf16>, tensor<32x24xbf16>) -> tensor<16x24xf32>
  return %0, %s : tensor<16x24xf32>, tensor<16xf32>
}

// -----

// The same of the other operand, after the product, and along rows.
// REMARK: [Passed] Epilogue{{.*}}library=bias-gradient
// CHECK-LABEL: func @of_rhs
//       CHECK: library = #ingot.library_epilogue<identity result = [[R:[01]]] bias_grad = {{[01]}} of rhs>
func.func @of_rhs(%x: tensor<24x32xf32>, %dy: tensor<16x32xf32>) -> (tensor<24x16xf32>, tensor<16xf32>) {
  %0 = ingot.matmul %x, %dy transposed : (tensor<24x32xf32>, tensor<16x32xf32>) -> tensor<24x16xf32>
  %s = ingot.reduce sum %dy dims = [1] : (tensor<16x32xf32>) -> tensor<16xf32>
  return %0, %s : tensor<24x16xf32>, tensor<16xf32>
}

// -----

// A gradient of gelu is summed up where it is computed, in f32.
// REMARK: [Passed] Epilogue{{.*}}library="gelu_grad bias-gradient"
// REMARK-NOT: bias-gradient{{.*}}Reason
// CHECK-LABEL: func @of_result
//       CHECK: library = #ingot.library_epilogue<gelu_grad auxiliary = {{[0-9]}} result = [[R:[01]]] bias_grad = {{[01]}} of result>
//       CHECK: ingot.matmul
//   CHECK-NOT: library
func.func @of_result(%y: tensor<32x16xf32>, %g: tensor<32x8xf32>, %w: tensor<8x16xf32>, %x: tensor<32x24xf32>) -> (tensor<16x24xf32>, tensor<16xf32>) {
  %k = ingot.constant dense<0.797884583> : tensor<32x16xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<32x16xf32>
  %c3 = ingot.constant dense<0.134145> : tensor<32x16xf32>
  %one = ingot.constant dense<1.0> : tensor<32x16xf32>
  %half = ingot.constant dense<0.5> : tensor<32x16xf32>
  %y2 = ingot.mul %y, %y : tensor<32x16xf32>
  %cy2 = ingot.mul %y2, %c : tensor<32x16xf32>
  %cy = ingot.add %cy2, %one : tensor<32x16xf32>
  %ky = ingot.mul %y, %k : tensor<32x16xf32>
  %a = ingot.mul %ky, %cy : tensor<32x16xf32>
  %t = ingot.tanh %a : tensor<32x16xf32>
  %t1 = ingot.add %t, %one : tensor<32x16xf32>
  %t2 = ingot.mul %t, %t : tensor<32x16xf32>
  %slope = ingot.sub %one, %t2 : tensor<32x16xf32>
  %dy2 = ingot.mul %y2, %c3 : tensor<32x16xf32>
  %dy1 = ingot.add %dy2, %one : tensor<32x16xf32>
  %da = ingot.mul %ky, %dy1 : tensor<32x16xf32>
  %ds = ingot.mul %slope, %da : tensor<32x16xf32>
  %d1 = ingot.add %t1, %ds : tensor<32x16xf32>
  %d = ingot.mul %d1, %half : tensor<32x16xf32>
  %p = ingot.matmul %g, %w : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
  %dx = ingot.mul %p, %d : tensor<32x16xf32>
  %s = ingot.reduce sum %dx dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %0 = ingot.matmul %dx transposed, %x : (tensor<32x16xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  return %0, %s : tensor<16x24xf32>, tensor<16xf32>
}

// -----

// Sums over other dimensions, of other numbers, and other reductions stay.
// REMARK: [Missed] Epilogue{{.*}}no bias, residual, relu or tanh gelu follows
// CHECK-LABEL: func @others
//   CHECK-NOT: library
func.func @others(%dy: tensor<32x32xbf16>, %x: tensor<32x24xbf16>) -> (tensor<32x24xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %w = ingot.cast %dy : tensor<32x32xbf16> -> tensor<32x32xf32>
  %s = ingot.reduce sum %w dims = [1] : (tensor<32x32xf32>) -> tensor<32xf32>
  %m = ingot.reduce max %w dims = [0] : (tensor<32x32xf32>) -> tensor<32xf32>
  %e = ingot.mul %w, %w : tensor<32x32xf32>
  %q = ingot.reduce sum %e dims = [0] : (tensor<32x32xf32>) -> tensor<32xf32>
  %0 = ingot.matmul %dy transposed, %x : (tensor<32x32xbf16>, tensor<32x24xbf16>) -> tensor<32x24xf32>
  return %0, %s, %m, %q : tensor<32x24xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// The library sums up in the product's type.
// REMARK: [Missed] BiasGradient{{.*}}its element type differs from the matmul's
// CHECK-LABEL: func @other_type
//   CHECK-NOT: library
func.func @other_type(%dy: tensor<32x16xbf16>, %x: tensor<32x24xbf16>) -> (tensor<16x24xbf16>, tensor<16xf32>) {
  %w = ingot.cast %dy : tensor<32x16xbf16> -> tensor<32x16xf32>
  %s = ingot.reduce sum %w dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %0 = ingot.matmul %dy transposed, %x : (tensor<32x16xbf16>, tensor<32x24xbf16>) -> tensor<16x24xbf16>
  return %0, %s : tensor<16x24xbf16>, tensor<16xf32>
}

// -----

// REMARK: [Missed] BiasGradient{{.*}}the matmul is batched
// CHECK-LABEL: func @batched
//   CHECK-NOT: library
func.func @batched(%dy: tensor<2x32x16xf32>, %x: tensor<2x8x32xf32>) -> (tensor<2x16x8xf32>, tensor<2x8xf32>) {
  %s = ingot.reduce sum %x dims = [2] : (tensor<2x8x32xf32>) -> tensor<2x8xf32>
  %0 = ingot.matmul %dy transposed, %x transposed : (tensor<2x32x16xf32>, tensor<2x8x32xf32>) -> tensor<2x16x8xf32>
  return %0, %s : tensor<2x16x8xf32>, tensor<2x8xf32>
}

// -----

// REMARK: [Missed] BiasGradient{{.*}}an operand of the matmul is a vector
// CHECK-LABEL: func @vector
//   CHECK-NOT: library
func.func @vector(%dy: tensor<32x1xf32>, %x: tensor<32x24xf32>) -> (tensor<1x24xf32>, tensor<24xf32>) {
  %s = ingot.reduce sum %x dims = [0] : (tensor<32x24xf32>) -> tensor<24xf32>
  %0 = ingot.matmul %dy transposed, %x : (tensor<32x1xf32>, tensor<32x24xf32>) -> tensor<1x24xf32>
  return %0, %s : tensor<1x24xf32>, tensor<24xf32>
}

// -----

// A kernel that reads the operand anyway adds it up at no cost.
// REMARK: [Missed] BiasGradient{{.*}}another kernel computes it in the same pass
// CHECK-LABEL: func @shared
//   CHECK-NOT: library
//       CHECK: ingot.fusion reduction
//       CHECK: ingot.yield %{{.*}}, %{{.*}} : tensor<16xf32>, tensor<16xf32>
func.func @shared(%dy: tensor<32x16xf32>, %x: tensor<32x24xf32>) -> (tensor<16x24xf32>, tensor<16xf32>, tensor<16xf32>) {
  %s = ingot.reduce sum %dy dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %e = ingot.mul %dy, %dy : tensor<32x16xf32>
  %q = ingot.reduce sum %e dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %0 = ingot.matmul %dy transposed, %x : (tensor<32x16xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  return %0, %s, %q : tensor<16x24xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// REMARK: [Missed] BiasGradient{{.*}}the matmul has another library epilogue
// CHECK-LABEL: func @with_bias
//       CHECK: library = #ingot.library_epilogue<identity bias = {{[0-9]}} result = 0>
func.func @with_bias(%dy: tensor<32x16xf32>, %x: tensor<32x24xf32>, %b: tensor<24xf32>) -> (tensor<16x24xf32>, tensor<16xf32>) {
  %s = ingot.reduce sum %dy dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %0 = ingot.matmul %dy transposed, %x : (tensor<32x16xf32>, tensor<32x24xf32>) -> tensor<16x24xf32>
  %c = ingot.broadcast %b dims = [1] : tensor<24xf32> -> tensor<16x24xf32>
  %1 = ingot.add %0, %c : tensor<16x24xf32>
  return %1, %s : tensor<16x24xf32>, tensor<16xf32>
}

// -----

// The product's other operand is computed from the sum.
// REMARK: [Missed] BiasGradient{{.*}}the matmul and the reduction depend on each other
// CHECK-LABEL: func @waits
//   CHECK-NOT: library
func.func @waits(%dy: tensor<32x16xf32>, %x: tensor<32x16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>) {
  %s = ingot.reduce sum %dy dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32>
  %b = ingot.broadcast %s dims = [1] : tensor<16xf32> -> tensor<32x16xf32>
  %y = ingot.mul %x, %b : tensor<32x16xf32>
  %0 = ingot.matmul %dy transposed, %y : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  return %0, %s : tensor<16x16xf32>, tensor<16xf32>
}

// RUN: ingot-opt %s --ingot-round-epilogues --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-round-epilogues="keep-fp32=head" --split-input-file --remarks-filter=round-epilogues --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=KEPT

// Tests that a bias is rounded to the type that its sum with a product is
// stored in, and that another reader keeps its digits.
// KEPT: [Passed] RoundedEpilogue{{.*}}rounded=bias
// CHECK-LABEL: func @bias
//   CHECK-DAG:   %[[LOW:.*]] = ingot.cast %arg1 : tensor<16xf32> -> tensor<16xbf16>
//   CHECK-DAG:   %[[WIDE:.*]] = ingot.cast %[[LOW]] : tensor<16xbf16> -> tensor<16xf32>
//   CHECK-DAG:   %[[REPEATED:.*]] = ingot.broadcast %[[WIDE]]
//   CHECK-DAG:   %[[EXACT:.*]] = ingot.broadcast %arg1
//   CHECK-DAG:   ingot.add %{{.*}}, %[[REPEATED]]
//   CHECK-DAG:   ingot.neg %[[EXACT]]
func.func @bias(%a: tensor<16x16xbf16>, %b: tensor<16xf32>) -> (tensor<16x16xbf16>, tensor<16x16xf32>) {
  %0 = ingot.matmul %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %1 = ingot.cast %0 : tensor<16x16xbf16> -> tensor<16x16xf32>
  %2 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %3 = ingot.add %1, %2 : tensor<16x16xf32>
  %4 = ingot.cast %3 : tensor<16x16xf32> -> tensor<16x16xbf16>
  %5 = ingot.neg %2 : tensor<16x16xf32>
  return %4, %5 : tensor<16x16xbf16>, tensor<16x16xf32>
}

// -----

// Tests that a sum with a residual in f32 keeps all digits.
// CHECK-LABEL: func @residual
//   CHECK-NOT:   tensor<16xbf16>
func.func @residual(%a: tensor<16x16xbf16>, %b: tensor<16xf32>, %r: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = ingot.matmul %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %1 = ingot.cast %0 : tensor<16x16xbf16> -> tensor<16x16xf32>
  %2 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %3 = ingot.add %1, %2 : tensor<16x16xf32>
  %4 = ingot.add %r, %3 : tensor<16x16xf32>
  return %4 : tensor<16x16xf32>
}

// -----

// Tests that ReLU's derivative is taken at what is stored of its result.
// KEPT: [Passed] RoundedEpilogue{{.*}}rounded="bias derivative"
// CHECK-LABEL: func @relu
//       CHECK:   %[[Y:.*]] = ingot.max
//       CHECK:   %[[LOW:.*]] = ingot.cast %[[Y]] : tensor<16x16xf32> -> tensor<16x16xbf16>
//       CHECK:   %[[WIDE:.*]] = ingot.cast %[[LOW]]
//       CHECK:   ingot.compare gt %[[WIDE]]
//       CHECK:   return %[[LOW]]
func.func @relu(%a: tensor<16x16xbf16>, %b: tensor<16xf32>, %g: tensor<16x16xf32>) -> (tensor<16x16xbf16>, tensor<16x16xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<16x16xf32>
  %0 = ingot.matmul %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %1 = ingot.cast %0 : tensor<16x16xbf16> -> tensor<16x16xf32>
  %2 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %3 = ingot.add %1, %2 : tensor<16x16xf32>
  %4 = ingot.max %3, %zero : tensor<16x16xf32>
  %5 = ingot.compare gt %4, %zero : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xi1>
  %6 = ingot.select %5, %g, %zero : tensor<16x16xi1>, tensor<16x16xf32>
  %7 = ingot.cast %4 : tensor<16x16xf32> -> tensor<16x16xbf16>
  return %7, %6 : tensor<16x16xbf16>, tensor<16x16xf32>
}

// -----

// Tests that what else is computed within GELU, as its gradient is, starts from
// the rounded sum, and that GELU itself does not.
// KEPT: [Passed] RoundedEpilogue{{.*}}rounded="bias pre-activation"
// CHECK-LABEL: func @gelu
//       CHECK:   %[[X:.*]] = ingot.add
//       CHECK:   %[[LOW:.*]] = ingot.cast %[[X]] : tensor<16x16xf32> -> tensor<16x16xbf16>
//       CHECK:   %[[WIDE:.*]] = ingot.cast %[[LOW]]
//   CHECK-DAG:   %[[L:.*]] = ingot.logistic %[[S:.*]] :
//   CHECK-DAG:   %[[LW:.*]] = ingot.logistic %[[SW:.*]] :
//   CHECK-DAG:   ingot.pow %[[X]]
//   CHECK-DAG:   ingot.pow %[[WIDE]]
//       CHECK:   ingot.mul %{{.*}}, %[[X]]
//       CHECK:   ingot.mul %arg2, %[[LW]]
func.func @gelu(%a: tensor<16x16xbf16>, %b: tensor<16xf32>, %g: tensor<16x16xf32>) -> (tensor<16x16xbf16>, tensor<16x16xf32>) {
  %k2 = ingot.constant dense<1.59576917> : tensor<16x16xf32>
  %c = ingot.constant dense<4.471500e-02> : tensor<16x16xf32>
  %three = ingot.constant dense<3.0> : tensor<16x16xf32>
  %0 = ingot.matmul %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %1 = ingot.cast %0 : tensor<16x16xbf16> -> tensor<16x16xf32>
  %2 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %x = ingot.add %1, %2 : tensor<16x16xf32>
  %x3 = ingot.pow %x, %three : tensor<16x16xf32>
  %cx3 = ingot.mul %c, %x3 : tensor<16x16xf32>
  %s = ingot.add %cx3, %x : tensor<16x16xf32>
  %ks = ingot.mul %k2, %s : tensor<16x16xf32>
  %l = ingot.logistic %ks : tensor<16x16xf32>
  %y = ingot.mul %l, %x : tensor<16x16xf32>
  %low = ingot.cast %y : tensor<16x16xf32> -> tensor<16x16xbf16>
  %d = ingot.mul %g, %l : tensor<16x16xf32>
  return %low, %d : tensor<16x16xbf16>, tensor<16x16xf32>
}

// -----

// Tests that names of --keep-fp32 are spared.
// KEPT: [Missed] RoundedEpilogue{{.*}}excluded by keep-fp32
#head = loc("head/add")
func.func @named(%a: tensor<16x16xbf16>, %b: tensor<16xf32>) -> tensor<16x16xbf16> {
  %0 = ingot.matmul %a, %a : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %1 = ingot.cast %0 : tensor<16x16xbf16> -> tensor<16x16xf32>
  %2 = ingot.broadcast %b dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %3 = ingot.add %1, %2 : tensor<16x16xf32> loc(#head)
  %4 = ingot.cast %3 : tensor<16x16xf32> -> tensor<16x16xbf16>
  return %4 : tensor<16x16xbf16>
}

// -----

// Tests that the gradient of a bias is added up of what the gradient of the
// weight is computed from, and that others of the same numbers keep their
// digits.
// KEPT: [Passed] RoundedEpilogue{{.*}}rounded=bias-gradient
// CHECK-LABEL: func @bias_gradient
//       CHECK:   %[[LOW:.*]] = ingot.cast %arg0 : tensor<8x4x16xf32> -> tensor<8x4x16xbf16>
//       CHECK:   %[[WIDE:.*]] = ingot.cast %[[LOW]] : tensor<8x4x16xbf16> -> tensor<8x4x16xf32>
//       CHECK:   ingot.reduce sum %[[WIDE]] dims = [0, 1]
//       CHECK:   ingot.reduce sum %arg0 dims = [2]
//       CHECK:   ingot.reduce max %arg0 dims = [0, 1]
func.func @bias_gradient(%dy: tensor<8x4x16xf32>, %x: tensor<32x24xbf16>) -> (tensor<16x24xf32>, tensor<16xf32>, tensor<8x4xf32>, tensor<16xf32>) {
  %0 = ingot.reduce sum %dy dims = [0, 1] : (tensor<8x4x16xf32>) -> tensor<16xf32>
  %1 = ingot.reduce sum %dy dims = [2] : (tensor<8x4x16xf32>) -> tensor<8x4xf32>
  %2 = ingot.reduce max %dy dims = [0, 1] : (tensor<8x4x16xf32>) -> tensor<16xf32>
  %3 = ingot.cast %dy : tensor<8x4x16xf32> -> tensor<8x4x16xbf16>
  %4 = ingot.reshape %3 : tensor<8x4x16xbf16> -> tensor<32x16xbf16>
  %5 = ingot.matmul %4 transposed, %x : (tensor<32x16xbf16>, tensor<32x24xbf16>) -> tensor<16x24xf32>
  return %5, %0, %1, %2 : tensor<16x24xf32>, tensor<16xf32>, tensor<8x4xf32>, tensor<16xf32>
}

// -----

// KEPT: [Missed] RoundedEpilogue{{.*}}excluded by keep-fp32
func.func @kept_bias_gradient(%dy: tensor<32x16xf32>, %x: tensor<32x24xbf16>) -> (tensor<16x24xf32>, tensor<16xf32>) {
  %0 = ingot.reduce sum %dy dims = [0] : (tensor<32x16xf32>) -> tensor<16xf32> loc("head")
  %1 = ingot.cast %dy : tensor<32x16xf32> -> tensor<32x16xbf16>
  %2 = ingot.matmul %1 transposed, %x : (tensor<32x16xbf16>, tensor<32x24xbf16>) -> tensor<16x24xf32>
  return %2, %0 : tensor<16x24xf32>, tensor<16xf32>
}

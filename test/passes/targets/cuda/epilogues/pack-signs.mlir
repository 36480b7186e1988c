// RUN: ingot-opt %s --split-input-file --ingot-pack-signs | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-pack-signs --remarks-filter=pack-signs --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --split-input-file --ingot-pack-signs --ingot-attach-target=target=emulator --ingot-form-fusions | FileCheck %s --check-prefix=FUSED

// Tests that the derivative of ReLU behind one product, for another, is read as
// bits, in rows of 128, which a kernel writes.
// REMARK: [Passed] PackedSigns{{.*}}bytes=64
// CHECK-LABEL: func @relu
//       CHECK: %[[M:.*]] = ingot.max
//       CHECK: %[[C:.*]] = ingot.compare gt %[[M]]
//       CHECK: %[[B:.*]] = ingot.pack_bits %[[C]] : tensor<4x24xi1> -> tensor<4x16xui8>
//       CHECK: %[[U:.*]] = ingot.unpack_bits %[[B]] : tensor<4x16xui8> -> tensor<4x24xi1>
//       CHECK: ingot.select %[[U]]
// FUSED-LABEL: func @relu
//       FUSED: %[[Y:.*]] = ingot.fusion epilogue({{.*}}) attributes {library = #ingot.library_epilogue<relu bias = {{[0-9]}} result = 0>}
//       FUSED: %[[BITS:.*]] = ingot.fusion loop(%[[Y]])
//       FUSED: ingot.fusion epilogue({{.*}}%[[BITS]]{{.*}}) attributes {library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = 0>}
//   FUSED-NOT: ingot.fusion
func.func @relu(%a: tensor<4x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>, %g: tensor<4x5xf32>, %v: tensor<5x24xf32>) -> (tensor<4x24xf32>, tensor<4x24xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4x24xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<24xf32> -> tensor<4x24xf32>
  %2 = ingot.add %0, %1 : tensor<4x24xf32>
  %3 = ingot.max %2, %zero : tensor<4x24xf32>
  %4 = ingot.matmul %g, %v : (tensor<4x5xf32>, tensor<5x24xf32>) -> tensor<4x24xf32>
  %5 = ingot.compare gt %3, %zero : (tensor<4x24xf32>, tensor<4x24xf32>) -> tensor<4x24xi1>
  %6 = ingot.select %5, %4, %zero : tensor<4x24xi1>, tensor<4x24xf32>
  return %3, %6 : tensor<4x24xf32>, tensor<4x24xf32>
}

// -----

// In half precision, and with the bias's gradient by the product that reads the
// result.
// CHECK-LABEL: func @half
//       CHECK: ingot.pack_bits %{{.*}} : tensor<32x128xi1> -> tensor<32x16xui8>
// FUSED-LABEL: func @half
//       FUSED: library = #ingot.library_epilogue<relu result = 0>
//       FUSED: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = 0>
//       FUSED: library = #ingot.library_epilogue<identity result = {{[01]}} bias_grad = {{[01]}} of lhs>
func.func @half(%a: tensor<32x8xbf16>, %w: tensor<8x128xbf16>, %g: tensor<32x16xbf16>, %v: tensor<16x128xbf16>) -> (tensor<32x128xbf16>, tensor<128x8xf32>, tensor<128xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<32x128xf32>
  %0 = ingot.matmul %a, %w : (tensor<32x8xbf16>, tensor<8x128xbf16>) -> tensor<32x128xbf16>
  %1 = ingot.cast %0 : tensor<32x128xbf16> -> tensor<32x128xf32>
  %2 = ingot.max %1, %zero : tensor<32x128xf32>
  %3 = ingot.cast %2 : tensor<32x128xf32> -> tensor<32x128xbf16>
  %4 = ingot.cast %3 : tensor<32x128xbf16> -> tensor<32x128xf32>
  %5 = ingot.matmul %g, %v : (tensor<32x16xbf16>, tensor<16x128xbf16>) -> tensor<32x128xbf16>
  %6 = ingot.cast %5 : tensor<32x128xbf16> -> tensor<32x128xf32>
  %7 = ingot.compare gt %4, %zero : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<32x128xi1>
  %8 = ingot.select %7, %6, %zero : tensor<32x128xi1>, tensor<32x128xf32>
  %9 = ingot.cast %8 : tensor<32x128xf32> -> tensor<32x128xbf16>
  %10 = ingot.matmul %9 transposed, %a : (tensor<32x128xbf16>, tensor<32x8xbf16>) -> tensor<128x8xf32>
  %11 = ingot.cast %9 : tensor<32x128xbf16> -> tensor<32x128xf32>
  %12 = ingot.reduce sum %11 dims = [0] : (tensor<32x128xf32>) -> tensor<128xf32>
  return %3, %10, %12 : tensor<32x128xbf16>, tensor<128x8xf32>, tensor<128xf32>
}

// -----

// In f32 the bias's gradient comes with the same product.
// FUSED-LABEL: func @summed
//       FUSED: library = #ingot.library_epilogue<relu_grad auxiliary = {{[0-9]}} result = {{[01]}} bias_grad = {{[01]}} of result>
func.func @summed(%a: tensor<32x8xf32>, %w: tensor<8x128xf32>, %g: tensor<32x16xf32>, %v: tensor<16x128xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<32x128xf32>
  %0 = ingot.matmul %a, %w : (tensor<32x8xf32>, tensor<8x128xf32>) -> tensor<32x128xf32>
  %1 = ingot.max %0, %zero : tensor<32x128xf32>
  %2 = ingot.matmul %g, %v : (tensor<32x16xf32>, tensor<16x128xf32>) -> tensor<32x128xf32>
  %3 = ingot.compare gt %1, %zero : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<32x128xi1>
  %4 = ingot.select %3, %2, %zero : tensor<32x128xi1>, tensor<32x128xf32>
  %5 = ingot.reduce sum %4 dims = [0] : (tensor<32x128xf32>) -> tensor<128xf32>
  return %1, %4, %5 : tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>
}

// -----

// REMARK: [Missed] PackedSigns{{.*}}the masked value is not a matmul for which the library has relu's gradient
// CHECK-LABEL: func @no_product
//   CHECK-NOT: bits
func.func @no_product(%a: tensor<4x8xf32>, %w: tensor<8x24xf32>, %g: tensor<4x24xf32>) -> (tensor<4x24xf32>, tensor<4x24xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4x24xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %1 = ingot.max %0, %zero : tensor<4x24xf32>
  %2 = ingot.compare gt %1, %zero : (tensor<4x24xf32>, tensor<4x24xf32>) -> tensor<4x24xi1>
  %3 = ingot.select %2, %g, %zero : tensor<4x24xi1>, tensor<4x24xf32>
  return %1, %3 : tensor<4x24xf32>, tensor<4x24xf32>
}

// -----

// A product with a residual: the library has no gradient of relu at that sum.
// REMARK: [Missed] PackedSigns{{.*}}the masked value is not a matmul
// CHECK-LABEL: func @sum_of_products
//   CHECK-NOT: bits
func.func @sum_of_products(%a: tensor<4x8xf32>, %w: tensor<8x24xf32>, %g: tensor<4x24xf32>) -> (tensor<4x24xf32>, tensor<4x24xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4x24xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %1 = ingot.max %0, %zero : tensor<4x24xf32>
  %2 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %3 = ingot.add %2, %g : tensor<4x24xf32>
  %4 = ingot.compare gt %1, %zero : (tensor<4x24xf32>, tensor<4x24xf32>) -> tensor<4x24xi1>
  %5 = ingot.select %4, %3, %zero : tensor<4x24xi1>, tensor<4x24xf32>
  return %1, %5 : tensor<4x24xf32>, tensor<4x24xf32>
}

// -----

// REMARK: [Missed] PackedSigns{{.*}}the input of relu has other readers
// CHECK-LABEL: func @sum_is_read
//   CHECK-NOT: bits
func.func @sum_is_read(%a: tensor<4x8xf32>, %w: tensor<8x24xf32>) -> (tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4x24xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %1 = ingot.max %0, %zero : tensor<4x24xf32>
  %2 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %3 = ingot.compare gt %1, %zero : (tensor<4x24xf32>, tensor<4x24xf32>) -> tensor<4x24xi1>
  %4 = ingot.select %3, %2, %zero : tensor<4x24xi1>, tensor<4x24xf32>
  return %0, %1, %4 : tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>
}

// -----

// REMARK: [Missed] PackedSigns{{.*}}the mask is read in another shape
// CHECK-LABEL: func @other_shape
//   CHECK-NOT: bits
func.func @other_shape(%a: tensor<4x8xf32>, %w: tensor<8x24xf32>) -> (tensor<4x24xf32>, tensor<8x12xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<4x24xf32>
  %none = ingot.constant dense<0.0> : tensor<8x12xf32>
  %0 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %1 = ingot.max %0, %zero : tensor<4x24xf32>
  %2 = ingot.matmul %a, %w : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
  %3 = ingot.reshape %1 : tensor<4x24xf32> -> tensor<8x12xf32>
  %4 = ingot.reshape %2 : tensor<4x24xf32> -> tensor<8x12xf32>
  %5 = ingot.compare gt %3, %none : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xi1>
  %6 = ingot.select %5, %4, %none : tensor<8x12xi1>, tensor<8x12xf32>
  return %1, %6 : tensor<4x24xf32>, tensor<8x12xf32>
}

// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s
// Every elementwise op survives printing, in its short and its generic form.

// CHECK-LABEL: func.func @numbers
func.func @numbers(%f: tensor<2x3xbf16>, %i: tensor<4xi32>, %u: tensor<ui8>) {
  // CHECK: ingot.neg %{{.*}} : tensor<2x3xbf16>
  %0 = ingot.neg %f : tensor<2x3xbf16>
  // CHECK: ingot.abs %{{.*}} : tensor<4xi32>
  %1 = ingot.abs %i : tensor<4xi32>
  // CHECK: ingot.sign
  %2 = ingot.sign %f : tensor<2x3xbf16>
  // CHECK: ingot.add %{{.*}}, %{{.*}} : tensor<4xi32>
  %3 = ingot.add %i, %i : tensor<4xi32>
  // CHECK: ingot.sub %{{.*}}, %{{.*}} : tensor<ui8>
  %4 = ingot.sub %u, %u : tensor<ui8>
  // CHECK: ingot.mul
  %5 = ingot.mul %f, %f : tensor<2x3xbf16>
  // CHECK: ingot.div
  %6 = ingot.div %f, %f : tensor<2x3xbf16>
  // CHECK: ingot.max
  %7 = ingot.max %f, %f : tensor<2x3xbf16>
  // CHECK: ingot.min
  %8 = ingot.min %f, %f : tensor<2x3xbf16>
  // CHECK: ingot.rem
  %9 = ingot.rem %i, %i : tensor<4xi32>
  return
}

// CHECK-LABEL: func.func @floats
func.func @floats(%h: tensor<5xf16>, %d: tensor<0x2xf64>) {
  // CHECK: ingot.floor %{{.*}} : tensor<5xf16>
  %0 = ingot.floor %h : tensor<5xf16>
  // CHECK: ingot.ceil
  %1 = ingot.ceil %h : tensor<5xf16>
  // CHECK: ingot.round
  %2 = ingot.round %h : tensor<5xf16>
  // CHECK: ingot.exp %{{.*}} : tensor<0x2xf64>
  %3 = ingot.exp %d : tensor<0x2xf64>
  // CHECK: ingot.log
  %4 = ingot.log %d : tensor<0x2xf64>
  // CHECK: ingot.log1p
  %5 = ingot.log1p %d : tensor<0x2xf64>
  // CHECK: ingot.sqrt
  %6 = ingot.sqrt %d : tensor<0x2xf64>
  // CHECK: ingot.rsqrt
  %7 = ingot.rsqrt %d : tensor<0x2xf64>
  // CHECK: ingot.tanh
  %8 = ingot.tanh %d : tensor<0x2xf64>
  // CHECK: ingot.erf
  %9 = ingot.erf %d : tensor<0x2xf64>
  // CHECK: ingot.sin
  %10 = ingot.sin %d : tensor<0x2xf64>
  // CHECK: ingot.cos
  %11 = ingot.cos %d : tensor<0x2xf64>
  // CHECK: ingot.logistic
  %12 = ingot.logistic %d : tensor<0x2xf64>
  // CHECK: ingot.pow %{{.*}}, %{{.*}} : tensor<5xf16>
  %13 = ingot.pow %h, %h : tensor<5xf16>
  return
}

// CHECK-LABEL: func.func @reduce_precision
func.func @reduce_precision(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: ingot.reduce_precision %{{.*}} to f8E4M3FN : tensor<2xf32>
  %0 = ingot.reduce_precision %x to f8E4M3FN : tensor<2xf32>
  // CHECK: ingot.reduce_precision %{{.*}} to f8E5M2 : tensor<2xf32>
  %1 = ingot.reduce_precision %0 to f8E5M2 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @booleans
func.func @booleans(%a: tensor<2xi1>, %b: tensor<2xi1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: ingot.not %{{.*}} : tensor<2xi1>
  %0 = ingot.not %a : tensor<2xi1>
  // CHECK: ingot.and %{{.*}}, %{{.*}} : tensor<2xi1>
  %1 = ingot.and %0, %b : tensor<2xi1>
  // CHECK: ingot.or
  %2 = ingot.or %1, %b : tensor<2xi1>
  // CHECK: ingot.xor
  %3 = ingot.xor %2, %b : tensor<2xi1>
  // CHECK: ingot.compare eq %{{.*}}, %{{.*}} : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %4 = ingot.compare eq %3, %b : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK: ingot.compare ne
  %5 = ingot.compare ne %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: ingot.compare lt
  %6 = ingot.compare lt %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: ingot.compare le
  %7 = ingot.compare le %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: ingot.compare gt
  %8 = ingot.compare gt %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: ingot.compare ge
  %9 = ingot.compare ge %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: ingot.cast %{{.*}} : tensor<2xi1> -> tensor<2xf32>
  %10 = ingot.cast %4 : tensor<2xi1> -> tensor<2xf32>
  // CHECK: ingot.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2xi1>, tensor<2xf32>
  %11 = ingot.select %4, %10, %x : tensor<2xi1>, tensor<2xf32>
  return %11 : tensor<2xf32>
}

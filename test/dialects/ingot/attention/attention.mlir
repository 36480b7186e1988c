// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s

// CHECK-LABEL: func @plain
func.func @plain(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x3xf32>) {
  // CHECK: ingot.attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x3xf32>) -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  %0:2 = ingot.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x3xf32>) -> (tensor<2x5x4x3xf32>, tensor<2x4x5xf32>)
  return
}

// CHECK-LABEL: func @masked
func.func @masked(%x: tensor<2x5x4x8xf16>, %lse: tensor<2x4x5xf32>, %b: tensor<1x4x1x5xf16>, %m: tensor<2x1x1x5xi1>) {
  // CHECK: ingot.attention %arg0, %arg0, %arg0 bias %arg2 mask %arg3 {{{.*}}} : (tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<1x4x1x5xf16>, tensor<2x1x1x5xi1>) -> (tensor<2x5x4x8xf16>, tensor<2x4x5xf32>)
  %0:2 = ingot.attention %x, %x, %x bias %b mask %m {scale = 1.0 : f64, left = 3 : i64, right = 0 : i64} : (tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<1x4x1x5xf16>, tensor<2x1x1x5xi1>) -> (tensor<2x5x4x8xf16>, tensor<2x4x5xf32>)
  // CHECK: ingot.attention_grad %arg0, %arg0, %arg0, %{{.*}}, %arg1, %arg0 mask %arg3 {scale = 1.000000e+00 : f64}
  %1:3 = ingot.attention_grad %x, %x, %x, %0#0, %lse, %x mask %m {scale = 1.0 : f64} : (tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x4x5xf32>, tensor<2x5x4x8xf16>, tensor<2x1x1x5xi1>) -> (tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>, tensor<2x5x4x8xf16>)
  return
}

// CHECK-LABEL: func @packed
func.func @packed(%x: tensor<2x5x8x16xf32>, %lse: tensor<2x4x5xf32>, %g: tensor<2x5x4x16xf32>, %b: tensor<1x4x1x5xf32>, %m: tensor<2x1x1x5xi1>) {
  // CHECK: ingot.packed_attention %arg0 bias %arg3 mask %arg4 {key_heads = 2 : i64, right = 0 : i64, scale = 1.000000e+00 : f64} : (tensor<2x5x8x16xf32>, tensor<1x4x1x5xf32>, tensor<2x1x1x5xi1>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  %0:2 = ingot.packed_attention %x bias %b mask %m {key_heads = 2 : i64, right = 0 : i64, scale = 1.0 : f64} : (tensor<2x5x8x16xf32>, tensor<1x4x1x5xf32>, tensor<2x1x1x5xi1>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  // CHECK: ingot.packed_attention_grad %arg0, %{{.*}}, %arg1, %arg2 {key_heads = 2 : i64, scale = 1.000000e+00 : f64}
  %1 = ingot.packed_attention_grad %x, %0#0, %lse, %g {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<2x5x8x16xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> tensor<2x5x8x16xf32>
  return
}

// CHECK-LABEL: func @terms
func.func @terms(%x: tensor<2x5x4x8xf32>, %p: tensor<2x5x8x16xf32>, %lse: tensor<2x4x5xf32>, %g: tensor<2x5x4x16xf32>, %n: tensor<2xi32>, %s: tensor<i64>) {
  // CHECK: ingot.attention %arg0, %arg0, %arg0 lengths %arg4 {right = 0 : i64, scale = 1.000000e+00 : f64} :
  %0:2 = ingot.attention %x, %x, %x lengths %n {scale = 1.0 : f64, right = 0 : i64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2xi32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  // CHECK: ingot.attention_grad %arg0, %arg0, %arg0, %{{.*}}, %arg2, %arg0 lengths %arg4 dropout %arg5, %arg5 {ratio = 1.000000e-01 : f64, scale = 1.000000e+00 : f64, stream = 3 : i32}
  %1:3 = ingot.attention_grad %x, %x, %x, %0#0, %lse, %x lengths %n dropout %s, %s {scale = 1.0 : f64, ratio = 0.1 : f64, stream = 3 : i32} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<2x5x4x8xf32>, tensor<2xi32>, tensor<i64>, tensor<i64>) -> (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>)
  // CHECK: ingot.packed_attention %arg1 dropout %arg5, %arg5 {key_heads = 2 : i64, ratio = 5.000000e-01 : f64, scale = 1.000000e+00 : f64} :
  %2:2 = ingot.packed_attention %p dropout %s, %s {key_heads = 2 : i64, scale = 1.0 : f64, ratio = 0.5 : f64} : (tensor<2x5x8x16xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  // CHECK: ingot.packed_attention_grad %arg1, %{{.*}}, %arg2, %arg3 lengths %arg4 {key_heads = 2 : i64, scale = 1.000000e+00 : f64}
  %3 = ingot.packed_attention_grad %p, %2#0, %lse, %g lengths %n {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<2x5x8x16xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>, tensor<2xi32>) -> tensor<2x5x8x16xf32>
  return
}

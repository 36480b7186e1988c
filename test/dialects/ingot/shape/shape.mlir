// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s
// Every shape op survives printing, in its short and its generic form.

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: ingot.constant dense<1.5{{.*}}> : tensor<2x3xf32>
  %0 = ingot.constant dense<1.5> : tensor<2x3xf32>
  // CHECK: ingot.constant dense<[true, false]> : tensor<2xi1>
  %1 = ingot.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: ingot.constant dense_resource<blob> : tensor<2xf32>
  %2 = ingot.constant dense_resource<blob> : tensor<2xf32>
  // CHECK: ingot.constant dense<255> : tensor<ui8>
  %3 = ingot.constant dense<255> : tensor<ui8>
  return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%a: tensor<2x3xf32>, %i: tensor<4xi64>, %j: tensor<2x1xi32>, %u: tensor<2x4xf32>) {
  // CHECK: ingot.iota {dim = 1 : i64} : tensor<2x5xi32>
  %0 = ingot.iota {dim = 1} : tensor<2x5xi32>
  // CHECK: ingot.broadcast %{{.*}} dims = [0, 2] : tensor<2x3xf32> -> tensor<2x7x3xf32>
  %1 = ingot.broadcast %a dims = [0, 2] : tensor<2x3xf32> -> tensor<2x7x3xf32>
  // CHECK: ingot.reshape %{{.*}} : tensor<2x3xf32> -> tensor<6xf32>
  %2 = ingot.reshape %a : tensor<2x3xf32> -> tensor<6xf32>
  // CHECK: ingot.transpose %{{.*}} [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = ingot.transpose %a [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: ingot.slice %{{.*}} starts = [0, 0] limits = [2, 3] strides = [1, 2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %4 = ingot.slice %a starts = [0, 0] limits = [2, 3] strides = [1, 2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: ingot.pad %{{.*}} low = [1, 0] high = [0, 2] interior = [0, 1] value = 5.000000e-01 : (tensor<2x3xf32>) -> tensor<3x7xf32>
  %5 = ingot.pad %a low = [1, 0] high = [0, 2] interior = [0, 1] value = 0.5 : (tensor<2x3xf32>) -> tensor<3x7xf32>
  // CHECK: ingot.concat %{{.*}}, %{{.*}} dim = 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  %6 = ingot.concat %a, %u dim = 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  // CHECK: ingot.reverse %{{.*}} dims = [0, 1] : tensor<2x3xf32>
  %7 = ingot.reverse %a dims = [0, 1] : tensor<2x3xf32>
  // CHECK: ingot.pack_bits %{{.*}} : tensor<2x3xi1> -> tensor<2x1xui8>
  %bits = ingot.compare gt %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %packed = ingot.pack_bits %bits : tensor<2x3xi1> -> tensor<2x1xui8>
  // CHECK: ingot.unpack_bits %{{.*}} : tensor<2x1xui8> -> tensor<2x3xi1>
  %unpacked = ingot.unpack_bits %packed : tensor<2x1xui8> -> tensor<2x3xi1>
  // CHECK: ingot.gather %{{.*}}[%{{.*}}] dim = 1 : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
  %8 = ingot.gather %a[%i] dim = 1 : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
  // CHECK: ingot.take_along %{{.*}}[%{{.*}}] dim = 1 : (tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2x1xf32>
  %9 = ingot.take_along %a[%j] dim = 1 : (tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2x1xf32>
  // CHECK: ingot.scatter_add %{{.*}}[%{{.*}}] dim = 1 : (tensor<4xi64>, tensor<2x4xf32>) -> tensor<2x3xf32>
  %10 = ingot.scatter_add %u[%i] dim = 1 : (tensor<4xi64>, tensor<2x4xf32>) -> tensor<2x3xf32>
  // CHECK: ingot.scatter_add %{{.*}}[%{{.*}}] into %{{.*}} dim = 1 : (tensor<4xi64>, tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %11 = ingot.scatter_add %u[%i] into %a dim = 1 : (tensor<4xi64>, tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @scalars_and_empty
func.func @scalars_and_empty(%a: tensor<f32>, %e: tensor<0x3xf32>, %i: tensor<i32>) {
  // CHECK: ingot.broadcast %{{.*}} dims = [] : tensor<f32> -> tensor<2xf32>
  %0 = ingot.broadcast %a dims = [] : tensor<f32> -> tensor<2xf32>
  // CHECK: ingot.reshape %{{.*}} : tensor<0x3xf32> -> tensor<0xf32>
  %1 = ingot.reshape %e : tensor<0x3xf32> -> tensor<0xf32>
  // CHECK: ingot.transpose %{{.*}} [] : (tensor<f32>) -> tensor<f32>
  %2 = ingot.transpose %a [] : (tensor<f32>) -> tensor<f32>
  // CHECK: ingot.gather %{{.*}}[%{{.*}}] dim = 1 : (tensor<0x3xf32>, tensor<i32>) -> tensor<0xf32>
  %3 = ingot.gather %e[%i] dim = 1 : (tensor<0x3xf32>, tensor<i32>) -> tensor<0xf32>
  return
}

{-# dialect_resources: { builtin: { blob: "0x040000000000803F00000040" } } #-}

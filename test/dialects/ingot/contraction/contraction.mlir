// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>, %at: tensor<5x3x2xf32>, %bt: tensor<5x4x3xf32>) {
  // CHECK: ingot.matmul %{{.*}}, %{{.*}} : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  %0 = ingot.matmul %a, %b : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: ingot.matmul %{{.*}} transposed, %{{.*}} : (tensor<5x3x2xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  %1 = ingot.matmul %at transposed, %b : (tensor<5x3x2xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: ingot.matmul %{{.*}}, %{{.*}} transposed : (tensor<5x2x3xf32>, tensor<5x4x3xf32>) -> tensor<5x2x4xf32>
  %2 = ingot.matmul %a, %bt transposed : (tensor<5x2x3xf32>, tensor<5x4x3xf32>) -> tensor<5x2x4xf32>
  // CHECK: ingot.matmul %{{.*}} transposed, %{{.*}} transposed : (tensor<5x3x2xf32>, tensor<5x4x3xf32>) -> tensor<5x2x4xf32>
  %3 = ingot.matmul %at transposed, %bt transposed : (tensor<5x3x2xf32>, tensor<5x4x3xf32>) -> tensor<5x2x4xf32>
  return
}

// CHECK-LABEL: func.func @plain
func.func @plain(%a: tensor<2x0xbf16>, %b: tensor<0x3xbf16>) -> tensor<2x3xbf16> {
  // CHECK: ingot.matmul %{{.*}}, %{{.*}} : (tensor<2x0xbf16>, tensor<0x3xbf16>) -> tensor<2x3xbf16>
  %0 = ingot.matmul %a, %b : (tensor<2x0xbf16>, tensor<0x3xbf16>) -> tensor<2x3xbf16>
  return %0 : tensor<2x3xbf16>
}

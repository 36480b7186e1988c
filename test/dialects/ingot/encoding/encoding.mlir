// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt --mlir-print-op-generic %s | ingot-opt | FileCheck %s

// CHECK:       ingot.state frozen @w : tensor<8x64xf32> = {{.*}} {ingot.encoding = {block = 64 : i64, kind = "nf4", parts = [@codes, @scales]}}
ingot.state frozen @w : tensor<8x64xf32> = dense<0.0> : tensor<8x64xf32> {ingot.encoding = {block = 64 : i64, kind = "nf4", parts = [@codes, @scales]}}
ingot.state frozen @codes : tensor<256xui8> = dense<0> : tensor<256xui8>
ingot.state frozen @scales : tensor<8xf32> = dense<0.0> : tensor<8xf32>
// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<2x64xf32>, %codes: tensor<256xui8>, %scales: tensor<8xf32>, %low: tensor<2x8xbf16>,
                  %narrow: tensor<8xui8>, %nested: tensor<2xf32>) {
  // CHECK: ingot.decoded_matmul %{{.*}}, %{{.*}} transposed by %{{.*}} as "nf4" block 64 : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<2x8xf32>
  %0 = ingot.decoded_matmul %x, %codes transposed by %scales as "nf4" block 64
      : (tensor<2x64xf32>, tensor<256xui8>, tensor<8xf32>) -> tensor<2x8xf32>
  // CHECK: ingot.decoded_matmul %{{.*}}, %{{.*}} by %{{.*}}, %{{.*}} as "fp4" block 64 : (tensor<2x8xbf16>, tensor<256xui8>, tensor<8xui8>, tensor<2xf32>) -> tensor<2x64xf32>
  %1 = ingot.decoded_matmul %low, %codes by %narrow, %nested as "fp4" block 64
      : (tensor<2x8xbf16>, tensor<256xui8>, tensor<8xui8>, tensor<2xf32>) -> tensor<2x64xf32>
  return
}

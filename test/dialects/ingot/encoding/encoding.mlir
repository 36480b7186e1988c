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

// CHECK-LABEL: func.func @blocks
func.func @blocks(%codes: tensor<30x20xui8>, %numbers: tensor<256xf32>, %cells: tensor<3073xui8>, %middles: tensor<256xf32>,
                  %scales: tensor<3xf32>) {
  // CHECK: %[[X:.*]] = ingot.decode_blocks %{{.*}}[%{{.*}}] by %{{.*}} as "dyn8" block 256 : (tensor<30x20xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<30x20xf32>
  %x = ingot.decode_blocks %codes[%numbers] by %scales as "dyn8" block 256
      : (tensor<30x20xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<30x20xf32>
  // CHECK: %[[MOST:.*]] = ingot.block_max %[[X]] block 256 : (tensor<30x20xf32>) -> tensor<3xf32>
  %most = ingot.block_max %x block 256 : (tensor<30x20xf32>) -> tensor<3xf32>
  // CHECK: ingot.encode_blocks %[[X]][%{{.*}}, %{{.*}}] by %[[MOST]] as "udyn8" block 256
  %again = ingot.encode_blocks %x[%cells, %middles] by %most as "udyn8" block 256
      : (tensor<30x20xf32>, tensor<3073xui8>, tensor<256xf32>, tensor<3xf32>) -> tensor<30x20xui8>
  return
}

// RUN: ingot-opt %s --ingot-chunk-loss="min-rows=16 min-bytes=0" | FileCheck %s
// RUN: ingot-opt %s --ingot-chunk-loss="min-rows=16 min-bytes=0" --remarks-filter=chunk-loss --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The layers of both models are computed in the chunks of the losses that read
// them: neither's logits are ever whole.
// CHECK-LABEL: func @taught
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<32x8xf32>, %[[Y:[a-z0-9]+]]: tensor<32x4xf32>, %[[W:[a-z0-9]+]]: tensor<64x8xf32>, %[[T:[a-z0-9]+]]: tensor<64x4xf32>
// CHECK-NOT:     tensor<32x64xf32>
// CHECK:         %[[Y0:.*]] = ingot.slice %[[Y]] starts = [0, 0] limits = [16, 4]
// CHECK:         %[[TAUGHT:.*]] = ingot.matmul %[[Y0]], %[[T]] transposed
// CHECK:         %[[X0:.*]] = ingot.slice %[[X]] starts = [0, 0] limits = [16, 8]
// CHECK:         %[[LOGITS:.*]] = ingot.matmul %[[X0]], %[[W]] transposed
// CHECK:         ingot.cross_entropy %[[LOGITS]]
// CHECK:         ingot.softmax_divergence %[[LOGITS]] from %[[TAUGHT]] dim = 1 temperature = 2.000000e+00 : tensor<16x64xf32> -> tensor<16xf32>
// CHECK:         ingot.barrier
// CHECK:         ingot.softmax_divergence {{.*}} tensor<16x64xf32> -> tensor<16xf32>
// CHECK-NOT:     tensor<32x64xf32>
// CHECK:         return
// REMARK:        remark: [Passed] ChunkedLoss | {{.*}}bytes_saved={{[0-9]+}}, chunks=2, layers=2
func.func @taught(%x: tensor<32x8xf32>, %y: tensor<32x4xf32>, %w: tensor<64x8xf32>, %t: tensor<64x4xf32>, %labels: tensor<32xi64>) -> (tensor<f32>, tensor<f32>, tensor<64x8xf32>) {
  %taught = ingot.matmul %y, %t transposed : (tensor<32x4xf32>, tensor<64x4xf32>) -> tensor<32x64xf32>
  %logits = ingot.matmul %x, %w transposed : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %hard, %0 = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<32x64xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32xf32>)
  %soft, %lse, %taught_lse = ingot.softmax_divergence %logits from %taught dim = 1 temperature = 2.0 : tensor<32x64xf32> -> tensor<32xf32>
  %loss = ingot.reduce sum %hard dims = [0] : (tensor<32xf32>) -> tensor<f32>
  %divergence = ingot.reduce sum %soft dims = [0] : (tensor<32xf32>) -> tensor<f32>
  %lses = ingot.broadcast %lse dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %1 = ingot.sub %logits, %lses : tensor<32x64xf32>
  %p = ingot.exp %1 : tensor<32x64xf32>
  %taught_lses = ingot.broadcast %taught_lse dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %2 = ingot.sub %taught, %taught_lses : tensor<32x64xf32>
  %q = ingot.exp %2 : tensor<32x64xf32>
  %gradient = ingot.sub %p, %q : tensor<32x64xf32>
  %dw = ingot.matmul %gradient transposed, %x : (tensor<32x64xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  return %loss, %divergence, %dw : tensor<f32>, tensor<f32>, tensor<64x8xf32>
}

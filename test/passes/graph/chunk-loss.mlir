// RUN: ingot-opt %s --ingot-chunk-loss="min-rows=4 min-bytes=0" | FileCheck %s
// RUN: ingot-opt %s --ingot-chunk-loss="min-rows=4 min-bytes=0" --remarks-filter=chunk-loss --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-chunk-loss | FileCheck %s --check-prefix=DEFAULT
// DEFAULT-NOT: ingot.barrier

// What the second part needs waits for what the first gives. The bias and the
// weights are read whole, gradients by them are sums, rows' results are put
// together; the indices of classes are made for a part, not cut out of all.
// CHECK-LABEL: func @gradients
// CHECK-SAME:    %{{.*}}: tensor<2x16x8xf32>, %[[W:[a-z0-9]+]]: tensor<64x8xf32>
// REMARK:        remark: [Passed] ChunkedLoss | Category:chunk-loss | bytes_saved=1792, chunks=2
func.func @gradients(%x: tensor<2x16x8xf32>, %w: tensor<64x8xf32>, %bias: tensor<64xf32>, %labels: tensor<2x16xi64>, %g: tensor<f32>) -> (tensor<f32>, tensor<2x16x8xf32>, tensor<64x8xf32>, tensor<64xf32>) {
  // CHECK-NOT:  tensor<32x64xf32>
  // CHECK-NOT:  tensor<2x16x64xf32>
  // CHECK:      %[[X0:.*]] = ingot.slice {{.*}} limits = [16, 8]
  // CHECK:      ingot.matmul %[[X0]], %[[W]] transposed : (tensor<16x8xf32>, tensor<64x8xf32>) -> tensor<16x64xf32>
  // CHECK:      %[[LOSS0:.*]], %{{.*}} = ingot.cross_entropy {{.*}} -> (tensor<1x16xf32>, tensor<1x16xf32>)
  // CHECK:      ingot.iota {dim = 2 : i64} : tensor<1x16x64xi64>
  // CHECK:      %[[DB0:.*]] = ingot.reduce sum {{.*}} -> tensor<64xf32>
  // CHECK:      %[[DX0:.*]] = ingot.matmul %{{.*}}, %[[W]] : {{.*}} -> tensor<16x8xf32>
  // CHECK:      %[[DW0:.*]] = ingot.matmul %{{.*}} transposed, %[[X0]] :
  // CHECK:      %[[X1:.*]] = ingot.slice {{.*}} starts = [16, 0]
  // CHECK:      %[[AFTER:.*]]:5 = ingot.barrier %[[X1]], %[[LOSS0]], %[[DB0]], %[[DX0]], %[[DW0]] :
  // CHECK:      ingot.matmul %[[AFTER]]#0, %[[W]] transposed
  // CHECK:      %[[LOSS1:.*]], %{{.*}} = ingot.cross_entropy
  // CHECK:      ingot.add %[[AFTER]]#2, %{{.*}} : tensor<64xf32>
  // CHECK:      %[[DX1:.*]] = ingot.matmul %{{.*}}, %[[W]] :
  // CHECK:      ingot.add %[[AFTER]]#4, %{{.*}} : tensor<64x8xf32>
  // CHECK:      ingot.concat %[[AFTER]]#1, %[[LOSS1]] dim = 0
  // CHECK:      ingot.concat %[[AFTER]]#3, %[[DX1]] dim = 0
  %rows = ingot.reshape %x : tensor<2x16x8xf32> -> tensor<32x8xf32>
  %product = ingot.matmul %rows, %w transposed : (tensor<32x8xf32>, tensor<64x8xf32>) -> tensor<32x64xf32>
  %spread = ingot.broadcast %bias dims = [1] : tensor<64xf32> -> tensor<32x64xf32>
  %biased = ingot.add %product, %spread : tensor<32x64xf32>
  %logits = ingot.reshape %biased : tensor<32x64xf32> -> tensor<2x16x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 2 : (tensor<2x16x64xf32>, tensor<2x16xi64>) -> (tensor<2x16xf32>, tensor<2x16xf32>)
  %loss = ingot.reduce sum %losses dims = [0, 1] : (tensor<2x16xf32>) -> tensor<f32>
  %lses = ingot.broadcast %lse dims = [0, 1] : tensor<2x16xf32> -> tensor<2x16x64xf32>
  %0 = ingot.sub %logits, %lses : tensor<2x16x64xf32>
  %p = ingot.exp %0 : tensor<2x16x64xf32>
  %classes = ingot.iota {dim = 2 : i64} : tensor<2x16x64xi64>
  %1 = ingot.broadcast %labels dims = [0, 1] : tensor<2x16xi64> -> tensor<2x16x64xi64>
  %hit = ingot.compare eq %classes, %1 : (tensor<2x16x64xi64>, tensor<2x16x64xi64>) -> tensor<2x16x64xi1>
  %one = ingot.cast %hit : tensor<2x16x64xi1> -> tensor<2x16x64xf32>
  %2 = ingot.sub %p, %one : tensor<2x16x64xf32>
  %gs = ingot.broadcast %g dims = [] : tensor<f32> -> tensor<2x16x64xf32>
  %3 = ingot.mul %2, %gs : tensor<2x16x64xf32>
  %gradient = ingot.reshape %3 : tensor<2x16x64xf32> -> tensor<32x64xf32>
  %db = ingot.reduce sum %gradient dims = [0] : (tensor<32x64xf32>) -> tensor<64xf32>
  %dr = ingot.matmul %gradient, %w : (tensor<32x64xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>
  %dw = ingot.matmul %gradient transposed, %rows : (tensor<32x64xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  %dx = ingot.reshape %dr : tensor<32x8xf32> -> tensor<2x16x8xf32>
  return %loss, %dx, %dw, %db : tensor<f32>, tensor<2x16x8xf32>, tensor<64x8xf32>, tensor<64xf32>
}

// Evaluation also asks for the class with the largest logit.
// CHECK-LABEL: func @evaluation
// CHECK:         ingot.barrier
// CHECK:         ingot.barrier
// CHECK:         ingot.barrier
// CHECK-NOT:     ingot.barrier
// CHECK:         ingot.concat {{.*}} -> tensor<16xi64>
// REMARK:        remark: [Passed] ChunkedLoss | Category:chunk-loss | bytes_saved=3072, chunks=4
func.func @evaluation(%x: tensor<16x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<16xi64>) -> (tensor<16xf32>, tensor<16xi64>) {
  %logits = ingot.matmul %x, %w : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<16x64xf32>, tensor<16xi64>) -> (tensor<16xf32>, tensor<16xf32>)
  %class = ingot.argmax %logits dim = 1 : (tensor<16x64xf32>) -> tensor<16xi64>
  return %losses, %class : tensor<16xf32>, tensor<16xi64>
}

// CHECK-LABEL: func @read_whole
// CHECK-NOT:     ingot.barrier
// REMARK:        remark: [Missed] {{.*}}the logits have other readers
func.func @read_whole(%x: tensor<16x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<16xi64>) -> (tensor<16xf32>, tensor<16x64xf32>) {
  %logits = ingot.matmul %x, %w : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<16x64xf32>, tensor<16xi64>) -> (tensor<16xf32>, tensor<16xf32>)
  return %losses, %logits : tensor<16xf32>, tensor<16x64xf32>
}

// CHECK-LABEL: func @depends_on_all
// CHECK-NOT:     ingot.barrier
// REMARK:        remark: [Missed] {{.*}}the gradient depends on the loss of all rows
func.func @depends_on_all(%x: tensor<16x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<16xi64>) -> tensor<16x8xf32> {
  %logits = ingot.matmul %x, %w : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<16x64xf32>, tensor<16xi64>) -> (tensor<16xf32>, tensor<16xf32>)
  %loss = ingot.reduce sum %losses dims = [0] : (tensor<16xf32>) -> tensor<f32>
  %0 = ingot.exp %loss : tensor<f32>
  %1 = ingot.broadcast %0 dims = [] : tensor<f32> -> tensor<16x64xf32>
  %2 = ingot.mul %logits, %1 : tensor<16x64xf32>
  %3 = ingot.matmul %2, %w transposed : (tensor<16x64xf32>, tensor<8x64xf32>) -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// CHECK-LABEL: func @few_rows
// CHECK-NOT:     ingot.barrier
// REMARK:        remark: [Missed] {{.*}}there are too few rows
func.func @few_rows(%x: tensor<7x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<7xi64>) -> tensor<7xf32> {
  %logits = ingot.matmul %x, %w : (tensor<7x8xf32>, tensor<8x64xf32>) -> tensor<7x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<7x64xf32>, tensor<7xi64>) -> (tensor<7xf32>, tensor<7xf32>)
  return %losses : tensor<7xf32>
}

// CHECK-LABEL: func @large_weights
// CHECK-NOT:     ingot.barrier
// REMARK:        remark: [Missed] {{.*}}the accumulated gradients take as much memory as the logits free{{.*}}bytes_saved=-1024
func.func @large_weights(%x: tensor<8x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<8xi64>) -> tensor<8x64xf32> {
  %logits = ingot.matmul %x, %w : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<8x64xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  %0 = ingot.broadcast %losses dims = [0] : tensor<8xf32> -> tensor<8x64xf32>
  %1 = ingot.mul %logits, %0 : tensor<8x64xf32>
  %2 = ingot.matmul %x transposed, %1 : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

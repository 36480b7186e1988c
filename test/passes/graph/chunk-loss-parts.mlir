// RUN: ingot-opt %s --ingot-chunk-loss="min-bytes=0" --remarks-filter=chunk-loss --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s

// The number of chunks, each of which is compiled, does not grow with the rows.

// CHECK: remark: [Passed] {{.*}}chunks=16
func.func @few(%x: tensor<4096x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<4096xi64>) -> tensor<4096xf32> {
  %logits = ingot.matmul %x, %w : (tensor<4096x8xf32>, tensor<8x64xf32>) -> tensor<4096x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<4096x64xf32>, tensor<4096xi64>) -> (tensor<4096xf32>, tensor<4096xf32>)
  return %losses : tensor<4096xf32>
}

// CHECK: remark: [Passed] {{.*}}chunks=16
func.func @many(%x: tensor<1048576x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<1048576xi64>) -> tensor<1048576xf32> {
  %logits = ingot.matmul %x, %w : (tensor<1048576x8xf32>, tensor<8x64xf32>) -> tensor<1048576x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<1048576x64xf32>, tensor<1048576xi64>) -> (tensor<1048576xf32>, tensor<1048576xf32>)
  return %losses : tensor<1048576xf32>
}

// 17 x 4096 rows: the smallest number above 16 that divides them.
// CHECK: remark: [Passed] {{.*}}chunks=17
func.func @odd(%x: tensor<17x4096x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<17x4096xi64>) -> tensor<17x4096xf32> {
  %rows = ingot.reshape %x : tensor<17x4096x8xf32> -> tensor<69632x8xf32>
  %product = ingot.matmul %rows, %w : (tensor<69632x8xf32>, tensor<8x64xf32>) -> tensor<69632x64xf32>
  %logits = ingot.reshape %product : tensor<69632x64xf32> -> tensor<17x4096x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 2 : (tensor<17x4096x64xf32>, tensor<17x4096xi64>) -> (tensor<17x4096xf32>, tensor<17x4096xf32>)
  return %losses : tensor<17x4096xf32>
}

// CHECK: remark: [Missed] {{.*}}no number of chunks divides the rows
func.func @prime(%x: tensor<66047x8xf32>, %w: tensor<8x64xf32>, %labels: tensor<66047xi64>) -> tensor<66047xf32> {
  %logits = ingot.matmul %x, %w : (tensor<66047x8xf32>, tensor<8x64xf32>) -> tensor<66047x64xf32>
  %losses, %lse = ingot.cross_entropy %logits, %labels dim = 1 : (tensor<66047x64xf32>, tensor<66047xi64>) -> (tensor<66047xf32>, tensor<66047xf32>)
  return %losses : tensor<66047xf32>
}

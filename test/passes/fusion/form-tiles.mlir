// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-fusions --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cpu --ingot-form-fusions --split-input-file | FileCheck %s --check-prefix=CPU
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-fusions --split-input-file --remarks-filter=form-fusions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS

// Tests that one kernel rounds a matrix, writes it in both orders, and reduces its
// tiles and their rows, on targets whose kernels have tiles. Which value the
// reductions read does not matter.
// CHECK-LABEL: func @rounded
//       CHECK: %[[ALL:.*]]:4 = ingot.fusion tile(%arg0
//   CHECK-DAG:   ingot.transpose
//   CHECK-DAG:   ingot.reduce max
//   CHECK-DAG:   ingot.reduce sum
//   CHECK-NOT: ingot.fusion tile
// CPU-LABEL: func @rounded
//   CPU-NOT: ingot.fusion tile
func.func @rounded(%x: tensor<256x128xbf16>, %scales: tensor<4xf32>)
    -> (tensor<256x128xf8E4M3FN>, tensor<128x256xf8E4M3FN>, tensor<f32>, tensor<128xf32>) {
  %wide = ingot.cast %x : tensor<256x128xbf16> -> tensor<256x128xf32>
  %size = ingot.abs %wide : tensor<256x128xf32>
  %tiles = ingot.reshape %size : tensor<256x128xf32> -> tensor<4x64x2x64xf32>
  %part = ingot.reduce max %tiles dims = [1, 3] : (tensor<4x64x2x64xf32>) -> tensor<4x2xf32>
  %largest = ingot.reduce max %part dims = [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  %own = ingot.slice %scales starts = [1] limits = [2] strides = [1] : (tensor<4xf32>) -> tensor<1xf32>
  %scale = ingot.reshape %own : tensor<1xf32> -> tensor<f32>
  %spread = ingot.broadcast %scale dims = [] : tensor<f32> -> tensor<256x128xf32>
  %scaled = ingot.mul %wide, %spread : tensor<256x128xf32>
  %q = ingot.cast %scaled : tensor<256x128xf32> -> tensor<256x128xf8E4M3FN>
  %t = ingot.transpose %q [1, 0] : (tensor<256x128xf8E4M3FN>) -> tensor<128x256xf8E4M3FN>
  %rows = ingot.reshape %wide : tensor<256x128xf32> -> tensor<4x64x128xf32>
  %sums = ingot.reduce sum %rows dims = [1] : (tensor<4x64x128xf32>) -> tensor<4x128xf32>
  %sum = ingot.reduce sum %sums dims = [0] : (tensor<4x128xf32>) -> tensor<128xf32>
  return %q, %t, %largest, %sum : tensor<256x128xf8E4M3FN>, tensor<128x256xf8E4M3FN>, tensor<f32>, tensor<128xf32>
}

// -----

// Tests that the loop that makes the matrix joins the kernel, and stores it only
// where something else reads it.
// CHECK-LABEL: func @made
//       CHECK: ingot.fusion tile(%arg0, %arg1) : {{.*}} -> (tensor<64x64xf32>, tensor<64x64xf32>)
//   CHECK-NOT: ingot.fusion
func.func @made(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = ingot.mul %a, %b : tensor<64x64xf32>
  %1 = ingot.neg %0 : tensor<64x64xf32>
  %2 = ingot.transpose %1 [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Tests that a reduction of other parts than the kernel's tiles, and a matrix that
// no tile divides, stay kernels of their own.
// CHECK-LABEL: func @others
//   CHECK-NOT: ingot.fusion tile
//       CHECK: ingot.fusion tile(%arg1) : (tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<32x64xf32>)
//       CHECK: return
func.func @others(%x: tensor<128x72xf32>, %y: tensor<64x32xf32>)
    -> (tensor<128x72xf32>, tensor<72x128xf32>, tensor<2x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>) {
  %0 = ingot.neg %x : tensor<128x72xf32>
  %1 = ingot.transpose %0 [1, 0] : (tensor<128x72xf32>) -> tensor<72x128xf32>
  %rows = ingot.reshape %y : tensor<64x32xf32> -> tensor<2x32x32xf32>
  %2 = ingot.reduce max %rows dims = [1] : (tensor<2x32x32xf32>) -> tensor<2x32xf32>
  %3 = ingot.neg %y : tensor<64x32xf32>
  %4 = ingot.transpose %3 [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
  return %0, %1, %2, %3, %4 : tensor<128x72xf32>, tensor<72x128xf32>, tensor<2x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>
}

// -----

// Tests that a normalized matrix is rounded by the kernel that has its rows at
// hand, with the largest of each row, and that tiles exchange what is in 8 bits.
// CHECK-LABEL: func @normalized
//       CHECK: %[[ROWS:.*]]:2 = ingot.fusion row(%arg0) : (tensor<256x128xf32>) -> (tensor<256xf32>, tensor<256x128xf8E4M3FN>)
//       CHECK: ingot.fusion tile(%[[ROWS]]#1) : (tensor<256x128xf8E4M3FN>) -> tensor<128x256xf8E4M3FN>
//   CHECK-NOT: ingot.fusion
// REMARKS: [Missed] Tiles {{.*}}the kernel that has its rows at hand stores it, and tiles read it again
func.func @normalized(%x: tensor<256x128xf32>)
    -> (tensor<256x128xf8E4M3FN>, tensor<128x256xf8E4M3FN>, tensor<256xf32>) {
  %square = ingot.mul %x, %x : tensor<256x128xf32>
  %sum = ingot.reduce sum %square dims = [1] : (tensor<256x128xf32>) -> tensor<256xf32>
  %root = ingot.rsqrt %sum : tensor<256xf32>
  %spread = ingot.broadcast %root dims = [0] : tensor<256xf32> -> tensor<256x128xf32>
  %y = ingot.mul %x, %spread : tensor<256x128xf32>
  %size = ingot.abs %y : tensor<256x128xf32>
  %largest = ingot.reduce max %size dims = [1] : (tensor<256x128xf32>) -> tensor<256xf32>
  %q = ingot.cast %y : tensor<256x128xf32> -> tensor<256x128xf8E4M3FN>
  %t = ingot.transpose %q [1, 0] : (tensor<256x128xf8E4M3FN>) -> tensor<128x256xf8E4M3FN>
  return %q, %t, %largest : tensor<256x128xf8E4M3FN>, tensor<128x256xf8E4M3FN>, tensor<256xf32>
}

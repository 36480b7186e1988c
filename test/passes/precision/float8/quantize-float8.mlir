// RUN: ingot-opt %s --ingot-quantize-float8 --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-quantize-float8="scaling=delayed history=4" --split-input-file | FileCheck %s --check-prefix=DELAYED
// RUN: ingot-opt %s --ingot-quantize-float8=scaling=block --split-input-file | FileCheck %s --check-prefix=BLOCK
// RUN: ingot-opt %s --ingot-quantize-float8 --split-input-file --remarks-filter=quantize-float8 --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS

// What the forward pass reads has three bits of mantissa, gradients two; a
// value that two matmuls read is rounded once. The head keeps 16 bits, and so do
// its gradients.
// REMARKS-DAG: [Missed] Float8 {{.*}}the head, whose results the loss reads, keeps 16 bits
// CHECK-LABEL: func.func @train_step
// CHECK: %[[AMAX:.*]] = ingot.reduce max %{{.*}} dims = [0, 1] : (tensor<16x32xf32>) -> tensor<f32>
// CHECK: %[[LARGEST:.*]] = ingot.constant dense<4.480000e+02> : tensor<f32>
// CHECK: ingot.div %[[LARGEST]], %[[AMAX]]
// CHECK: %[[X:.*]] = ingot.reduce_precision %{{.*}} to f8E4M3FN : tensor<16x32xf32>
// CHECK: %[[VALUE:.*]] = ingot.mul %[[X]]
// CHECK: %[[READX:.*]] = ingot.cast %[[VALUE]] : tensor<16x32xf32> -> tensor<16x32xbf16>
// CHECK: ingot.reduce_precision %{{.*}} to f8E4M3FN : tensor<32x16xf32>
// CHECK: %[[Y:.*]] = ingot.matmul %[[READX]], %{{.*}} : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xf32>
// CHECK-NOT: ingot.reduce_precision
// CHECK: %[[YL:.*]] = ingot.cast %[[Y]]
// CHECK: ingot.matmul %[[YL]], %[[V:.*]] : (tensor<16x16xbf16>, tensor<16x32xbf16>) -> tensor<16x32xf32>
// CHECK-NOT: ingot.reduce_precision
// CHECK: ingot.matmul %[[YL]] transposed,
// CHECK: %[[DY:.*]] = ingot.matmul %{{.*}}, %[[V]] transposed
// CHECK: ingot.reduce_precision %{{.*}} to f8E5M2 : tensor<16x16xf32>
// CHECK-NOT: ingot.reduce_precision
// CHECK: ingot.matmul %[[READX]] transposed, %{{.*}} : (tensor<16x32xbf16>, tensor<16x16xbf16>) -> tensor<32x16xf32>
module {
  ingot.state parameter @w : tensor<32x16xf32> = dense<1.0> : tensor<32x16xf32>
  ingot.state parameter @v : tensor<16x32xf32> = dense<1.0> : tensor<16x32xf32>
  func.func @train_step(%x: tensor<16x32xf32> {ingot.name = "x"},
                        %w: tensor<32x16xf32> {ingot.state = @w},
                        %v: tensor<16x32xf32> {ingot.state = @v})
      -> (tensor<f32> {ingot.name = "loss"},
          tensor<32x16xf32> {ingot.gradient = @w},
          tensor<16x32xf32> {ingot.gradient = @v}) {
    %xl = ingot.cast %x : tensor<16x32xf32> -> tensor<16x32xbf16>
    %wl = ingot.cast %w : tensor<32x16xf32> -> tensor<32x16xbf16>
    %y = ingot.matmul %xl, %wl : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xf32>
    %yl = ingot.cast %y : tensor<16x16xf32> -> tensor<16x16xbf16>
    %vl = ingot.cast %v : tensor<16x32xf32> -> tensor<16x32xbf16>
    %z = ingot.matmul %yl, %vl : (tensor<16x16xbf16>, tensor<16x32xbf16>) -> tensor<16x32xf32>
    %loss = ingot.reduce sum %z dims = [0, 1] : (tensor<16x32xf32>) -> tensor<f32>
    %g = ingot.neg %z : tensor<16x32xf32>
    %gl = ingot.cast %g : tensor<16x32xf32> -> tensor<16x32xbf16>
    %dv = ingot.matmul %yl transposed, %gl : (tensor<16x16xbf16>, tensor<16x32xbf16>) -> tensor<16x32xf32>
    %dy = ingot.matmul %gl, %vl transposed : (tensor<16x32xbf16>, tensor<16x32xbf16>) -> tensor<16x16xf32>
    %dyl = ingot.cast %dy : tensor<16x16xf32> -> tensor<16x16xbf16>
    %dw = ingot.matmul %xl transposed, %dyl : (tensor<16x32xbf16>, tensor<16x16xbf16>) -> tensor<32x16xf32>
    return %loss, %dw, %dv : tensor<f32>, tensor<32x16xf32>, tensor<16x32xf32>
  }
}

// -----

// Libraries take multiples of 16.
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: ingot.reduce_precision
// CHECK: return
// REMARKS-DAG: [Missed] Float8 {{.*}}8-bit matmuls need sizes that are multiples of 16
func.func @sizes(%x: tensor<16x32xbf16>, %w: tensor<32x10xbf16>) -> tensor<16x16xf32> {
  %0 = ingot.matmul %x, %w : (tensor<16x32xbf16>, tensor<32x10xbf16>) -> tensor<16x10xf32>
  %1 = ingot.cast %0 : tensor<16x10xf32> -> tensor<16x10xbf16>
  %2 = ingot.matmul %1, %1 transposed : (tensor<16x10xbf16>, tensor<16x10xbf16>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// A delayed scale comes from the steps before, and this step's magnitude takes
// the place of the oldest. All of them are in one state. Evaluation has scales of
// its own.
// DELAYED: ingot.state magnitudes @[[X:.*]] : tensor<12xf32> = dense<0.000000e+00>
// DELAYED-LABEL: func.func @train_step
// DELAYED-SAME: %[[STATE:[a-z0-9]+]]: tensor<12xf32> {ingot.state = @[[X]]}
// DELAYED: %[[OLD:.*]] = ingot.reshape %[[STATE]] : tensor<12xf32> -> tensor<4x3xf32>
// DELAYED: %[[AMAX:.*]] = ingot.reduce max %[[OLD]] dims = [0]
// DELAYED: ingot.div %{{.*}}, %[[AMAX]]
// DELAYED: ingot.reduce max %{{.*}} dims = [0, 1] : (tensor<16x32xf32>) -> tensor<f32>
// DELAYED: %[[RECENT:.*]] = ingot.slice %[[OLD]] starts = [0, 0] limits = [3, 3]
// DELAYED: ingot.concat %{{.*}}, %[[RECENT]]
// DELAYED: %[[NEW:.*]] = ingot.reshape %{{.*}} -> tensor<12xf32>
// DELAYED: return %{{.*}}, %[[NEW]]
// DELAYED-LABEL: func.func @eval_step
// DELAYED-NOT: ingot.concat

// Each 128 elements along the sum have a scale, the last 48 one more.
// BLOCK-LABEL: func.func @train_step
// BLOCK: %[[PAD:.*]] = ingot.pad %{{.*}} high = [0, 80]
// BLOCK: %[[PARTS:.*]] = ingot.reshape %[[PAD]] : tensor<16x384xf32> -> tensor<16x3x128xf32>
// BLOCK: ingot.reduce max %[[PARTS]] dims = [2] : (tensor<16x3x128xf32>) -> tensor<16x3xf32>
// BLOCK: ingot.slice %{{.*}} limits = [16, 304]
module {
  func.func @train_step(%x: tensor<16x304xbf16>) -> (tensor<16x16xf32> {ingot.name = "y"}) {
    %0 = ingot.matmul %x, %x transposed : (tensor<16x304xbf16>, tensor<16x304xbf16>) -> tensor<16x16xf32>
    %1 = ingot.cast %0 : tensor<16x16xf32> -> tensor<16x16xbf16>
    %2 = ingot.matmul %1, %1 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32>
    return %2 : tensor<16x16xf32>
  }
  func.func @eval_step(%x: tensor<16x304xbf16>) -> (tensor<16x16xf32> {ingot.name = "y"}) {
    %0 = ingot.matmul %x, %x transposed : (tensor<16x304xbf16>, tensor<16x304xbf16>) -> tensor<16x16xf32>
    %1 = ingot.cast %0 : tensor<16x16xf32> -> tensor<16x16xbf16>
    %2 = ingot.matmul %1, %1 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32>
    return %2 : tensor<16x16xf32>
  }
}

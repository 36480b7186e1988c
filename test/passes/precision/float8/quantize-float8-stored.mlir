// RUN: ingot-opt %s --ingot-quantize-float8 --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-quantize-float8=scaling=delayed --split-input-file | FileCheck %s --check-prefix=DELAYED
// RUN: ingot-opt %s --ingot-quantize-float8 --split-input-file --remarks-filter=quantize-float8 --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS

// A GPU reads 8-bit floats from memory, with the inverse scales. sm_90 sums along
// the last dimension of both operands: what is read along both has a second copy,
// which is the first one transposed.
// CHECK-LABEL: func.func @train_step
//   CHECK-DAG: %[[X:.*]] = ingot.cast %{{.*}} : tensor<16x32xf32> -> tensor<16x32xf8E4M3FN>
//   CHECK-DAG: %[[XT:.*]] = ingot.transpose %[[X]] [1, 0] : (tensor<16x32xf8E4M3FN>) -> tensor<32x16xf8E4M3FN>
//   CHECK-DAG: %[[W:.*]] = ingot.cast %{{.*}} : tensor<32x16xf32> -> tensor<32x16xf8E4M3FN>
//   CHECK-DAG: %[[WT:.*]] = ingot.transpose %[[W]] [1, 0]
//       CHECK: ingot.scaled_matmul %[[X]] by tensor %[[XS:.*]], %[[WT]] transposed by tensor %{{.*}} : (tensor<16x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x16xf32>
// The head keeps 16 bits.
//       CHECK: ingot.matmul
//       CHECK: %[[G:.*]] = ingot.cast %{{.*}} : tensor<16x16xf32> -> tensor<16x16xf8E5M2>
//       CHECK: %[[GT:.*]] = ingot.transpose %[[G]] [1, 0]
//       CHECK: ingot.scaled_matmul %[[XT]] by tensor %[[XS]], %[[GT]] transposed by tensor %{{.*}} : (tensor<32x16xf8E4M3FN>, tensor<16x16xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<32x16xf32>
//   CHECK-NOT: ingot.reduce_precision
// The history of the magnitudes of all three tensors is a state, as it is on a
// CPU. Magnitudes of this step are taken by tiles, and tensors with as many tiles
// are reduced together.
//       DELAYED: ingot.state magnitudes @"fp8/magnitudes" : tensor<48xf32>
// DELAYED-LABEL: func.func @train_step
//       DELAYED: %[[OLD:.*]] = ingot.reshape %{{.*}} : tensor<48xf32> -> tensor<16x3xf32>
//       DELAYED: %[[AMAX:.*]] = ingot.reduce max %[[OLD]] dims = [0]
//       DELAYED: ingot.constant dense<[{{.*}}]> : tensor<3xf32>
//       DELAYED: %[[SCALES:.*]] = ingot.select
//       DELAYED: %[[INVERSES:.*]] = ingot.div %{{.*}}, %[[SCALES]] : tensor<3xf32>
//       DELAYED: ingot.slice %[[INVERSES]] starts = [0] limits = [1]
//   DELAYED-DAG: ingot.reduce max %{{.*}} dims = [1, 3] : (tensor<1x16x1x32xf32>) -> tensor<1x1xf32>
//   DELAYED-DAG: ingot.reduce max %{{.*}} dims = [1, 3] : (tensor<1x32x1x16xf32>) -> tensor<1x1xf32>
//       DELAYED: ingot.scaled_matmul
//       DELAYED: ingot.concat %{{.*}} : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>
//       DELAYED: ingot.reduce max %{{.*}} dims = [1] : (tensor<3x1xf32>) -> tensor<3xf32>
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">} {
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

// sm_100 takes matrices as they are.
// CHECK-LABEL: func.func @predict
//   CHECK-NOT: ingot.transpose
//       CHECK: ingot.scaled_matmul %{{.*}} transposed by tensor %{{.*}}, %{{.*}} by tensor
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_100">} {
  func.func @predict(%x: tensor<32x16xbf16>, %w: tensor<32x16xbf16>) -> (tensor<16x16xf32> {ingot.name = "z"}) {
    %y = ingot.matmul %x transposed, %w : (tensor<32x16xbf16>, tensor<32x16xbf16>) -> tensor<16x16xf32>
    %yl = ingot.cast %y : tensor<16x16xf32> -> tensor<16x16xbf16>
    %z = ingot.matmul %yl, %yl : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xf32>
    return %z : tensor<16x16xf32>
  }
}

// -----

// Products of activations with each other, as in attention, keep 16 bits, on
// every target.
// CHECK-LABEL: func.func @predict
//   CHECK-NOT: ingot.scaled_matmul
//       CHECK: return
// REMARKS-DAG: [Missed] Float8 {{.*}}products of batches, as in attention, keep 16 bits
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">} {
  func.func @predict(%x: tensor<2x16x16xbf16>) -> (tensor<2x16x16xf32> {ingot.name = "z"}) {
    %y = ingot.matmul %x, %x : (tensor<2x16x16xbf16>, tensor<2x16x16xbf16>) -> tensor<2x16x16xf32>
    %yl = ingot.cast %y : tensor<2x16x16xf32> -> tensor<2x16x16xbf16>
    %z = ingot.matmul %yl, %yl : (tensor<2x16x16xbf16>, tensor<2x16x16xbf16>) -> tensor<2x16x16xf32>
    return %z : tensor<2x16x16xf32>
  }
}

// -----

// A kernel over rows makes what is normalized, which takes the magnitudes of its
// rows. Tensors with as many rows or tiles are next to each other.
//       DELAYED: ingot.state magnitudes @"fp8/magnitudes" : tensor<48xf32>
// DELAYED-LABEL: func.func @train_step
//   DELAYED-DAG: %[[W:.*]] = ingot.reduce max %{{.*}} dims = [1, 3] : (tensor<1x32x1x32xf32>) -> tensor<1x1xf32>
//   DELAYED-DAG: ingot.reduce max %{{.*}} dims = [1] : (tensor<64x32xf32>) -> tensor<64xf32>
//   DELAYED-DAG: ingot.reduce max %{{.*}} dims = [1] : (tensor<64x32xf32>) -> tensor<64xf32>
//   DELAYED-DAG: ingot.concat %{{.*}} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<2x64xf32>
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">} {
  ingot.state parameter @w : tensor<32x32xf32> = dense<1.0> : tensor<32x32xf32>
  func.func @train_step(%x: tensor<64x32xf32> {ingot.name = "x"},
                        %s: tensor<32xf32> {ingot.name = "s"},
                        %w: tensor<32x32xf32> {ingot.state = @w})
      -> (tensor<64x32xf32> {ingot.name = "y"}) {
    %wl = ingot.cast %w : tensor<32x32xf32> -> tensor<32x32xbf16>
    // One op, which gives a number of each row, too.
    %n, %mean, %rstd = ingot.layer_norm %x, %s, %s dim = 1 {epsilon = 1.0e-05 : f64} : (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
    %nl = ingot.cast %n : tensor<64x32xf32> -> tensor<64x32xbf16>
    %a = ingot.matmul %nl, %wl : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xf32>
    // Written out.
    %largest = ingot.reduce max %a dims = [1] : (tensor<64x32xf32>) -> tensor<64xf32>
    %spread = ingot.broadcast %largest dims = [0] : tensor<64xf32> -> tensor<64x32xf32>
    %m = ingot.sub %a, %spread : tensor<64x32xf32>
    %ml = ingot.cast %m : tensor<64x32xf32> -> tensor<64x32xbf16>
    %b = ingot.matmul %ml, %wl : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xf32>
    %bl = ingot.cast %b : tensor<64x32xf32> -> tensor<64x32xbf16>
    %y = ingot.matmul %bl, %wl : (tensor<64x32xbf16>, tensor<32x32xbf16>) -> tensor<64x32xf32>
    return %y : tensor<64x32xf32>
  }
}

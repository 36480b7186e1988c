// RUN: ingot-opt %s --ingot-quantize-float8=scaling=block | FileCheck %s --check-prefixes=CHECK,BLOCK
// RUN: sed 's/sm_90/sm_100/' %s | ingot-opt --ingot-quantize-float8=scaling=mx | FileCheck %s --check-prefixes=CHECK,MX
// RUN: sed 's/sm_90/sm_89/' %s | not ingot-opt --ingot-quantize-float8=scaling=block 2>&1 | FileCheck %s --check-prefix=ADA
// RUN: sed 's/sm_90/sm_80/' %s | not ingot-opt --ingot-quantize-float8 2>&1 | FileCheck %s --check-prefix=AMPERE
// RUN: not ingot-opt %s --ingot-quantize-float8=scaling=mx 2>&1 | FileCheck %s --check-prefix=HOPPER
// RUN: sed 's/, arch = "sm_90"//; s/cuda/cpu/' %s | ingot-opt --ingot-quantize-float8=scaling=mx | FileCheck %s --check-prefix=CPU

// Runs of 128 are next to each other where they begin in the same column, and
// squares of a parameter in rows of a multiple of four.
// CHECK-LABEL: func.func @train_step
// BLOCK: %[[LARGEST:.*]] = ingot.reduce max %{{.*}} dims = [2] : (tensor<32x3x128xf32>) -> tensor<32x3xf32>
// BLOCK: ingot.transpose %{{.*}} [1, 0] : (tensor<32x3xf32>) -> tensor<3x32xf32>
// BLOCK: ingot.reduce max %{{.*}} dims = [1, 3] : (tensor<3x128x1x16xf32>) -> tensor<3x1xf32>
// BLOCK: ingot.transpose %{{.*}} [1, 0] : (tensor<3x1xf32>) -> tensor<1x3xf32>
// BLOCK: ingot.pad %{{.*}} high = [0, 1] {{.*}} -> tensor<1x4xf32>
// BLOCK: ingot.scaled_matmul %{{.*}} by runs %{{.*}}, %{{.*}} transposed by squares

// Bytes with exponents are in tiles of 128 rows by four.
// MX: ingot.reduce max %{{.*}} dims = [2] : (tensor<32x10x32xf32>) -> tensor<32x10xf32>
// MX: ingot.bitcast %{{.*}} : tensor<32x10xf32> -> tensor<32x10xi32>
// MX: ingot.cast %{{.*}} : tensor<32x10xi32> -> tensor<32x10xui8>
// MX: ingot.pad %{{.*}} high = [96, 2] {{.*}} -> tensor<128x12xui8>
// MX: ingot.reshape %{{.*}} : tensor<128x12xui8> -> tensor<1x4x32x3x4xui8>
// MX: ingot.transpose %{{.*}} [0, 3, 2, 1, 4] : (tensor<1x4x32x3x4xui8>) -> tensor<1x3x32x4x4xui8>
// MX: ingot.scaled_matmul %{{.*}} by tiles %{{.*}}, %{{.*}} by tiles

// ADA: error: loc("--fp8-scaling"): sm_89 has no matmuls with scales of 128 elements, which only sm_90 has
// AMPERE: error: loc("--fp8-scaling"): sm_80 has no 8-bit floats, which sm_89 was the first to have
// HOPPER: error: loc("--fp8-scaling"): sm_90 has no matmuls with scales of 32 elements, which sm_100 was the first to have

// A CPU computes the same numbers by rounding.
// CPU: ingot.reduce max %{{.*}} dims = [2] : (tensor<32x10x32xf32>) -> tensor<32x10xf32>
// CPU: ingot.reduce_precision %{{.*}} to f8E4M3FN
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">} {
  ingot.state parameter @w : tensor<304x16xf32> = dense<1.0> : tensor<304x16xf32>
  func.func @train_step(%x: tensor<32x304xbf16>, %w: tensor<304x16xf32> {ingot.state = @w})
      -> (tensor<32x32xf32> {ingot.name = "y"}) {
    %wl = ingot.cast %w : tensor<304x16xf32> -> tensor<304x16xbf16>
    %0 = ingot.matmul %x, %wl : (tensor<32x304xbf16>, tensor<304x16xbf16>) -> tensor<32x16xf32>
    %1 = ingot.cast %0 : tensor<32x16xf32> -> tensor<32x16xbf16>
    %2 = ingot.matmul %1, %1 transposed : (tensor<32x16xbf16>, tensor<32x16xbf16>) -> tensor<32x32xf32>
    return %2 : tensor<32x32xf32>
  }
}

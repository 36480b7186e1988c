// RUN: ingot-opt %s --ingot-assign-precision --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-assign-precision=precision=fp16 --split-input-file | FileCheck %s --check-prefix=FP16

// Contractions read low precision; what is read again by one is rounded.
// CHECK-LABEL: func.func @chain
// CHECK: %[[X:.*]] = ingot.cast %arg0 : tensor<4x3xf32> -> tensor<4x3xbf16>
// CHECK: %[[W:.*]] = ingot.cast %arg1
// CHECK: %[[H:.*]] = ingot.matmul %[[X]], %[[W]] : (tensor<4x3xbf16>, tensor<3x3xbf16>) -> tensor<4x3xbf16>
// CHECK: %[[WIDE:.*]] = ingot.cast %[[H]] : tensor<4x3xbf16> -> tensor<4x3xf32>
// CHECK: %[[T:.*]] = ingot.tanh %[[WIDE]] : tensor<4x3xf32>
// CHECK: %[[LOW:.*]] = ingot.cast %[[T]] : tensor<4x3xf32> -> tensor<4x3xbf16>
// CHECK: %[[Y:.*]] = ingot.matmul %[[LOW]]{{.*}} -> tensor<4x3xf32>
// CHECK: return %[[Y]]
// FP16: ingot.matmul {{.*}} -> tensor<4x3xf16>
func.func @chain(%x: tensor<4x3xf32>, %w: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %0 = ingot.matmul %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %1 = ingot.tanh %0 : tensor<4x3xf32>
  %2 = ingot.matmul %1, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// -----

// Casts to low precision are before what only moves elements, casts from it
// after: they fuse into the kernels on either side.
// CHECK-LABEL: func.func @movers
// CHECK: %[[LOW:.*]] = ingot.cast %arg0 : tensor<12xf32> -> tensor<12xbf16>
// CHECK: %[[X:.*]] = ingot.reshape %[[LOW]] : tensor<12xbf16> -> tensor<4x3xbf16>
// CHECK: %[[Y:.*]] = ingot.matmul %[[X]]
// CHECK: %[[R:.*]] = ingot.transpose %[[Y]] [1, 0] : (tensor<4x3xbf16>) -> tensor<3x4xbf16>
// CHECK-NOT: ingot.cast
// CHECK: ingot.matmul {{.*}}%[[R]] : (tensor<3x3xbf16>, tensor<3x4xbf16>) -> tensor<3x4xf32>
func.func @movers(%x: tensor<12xf32>, %w: tensor<3x3xf32>) -> tensor<3x4xf32> {
  %0 = ingot.reshape %x : tensor<12xf32> -> tensor<4x3xf32>
  %1 = ingot.matmul %0, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %2 = ingot.transpose %1 [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %3 = ingot.matmul %w, %2 : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// -----

// Reductions stay in f32; f64 is not touched.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: bf16
func.func @kept(%x: tensor<4x3xf32>, %d: tensor<3x3xf64>) -> (tensor<4xf32>, tensor<3x3xf64>) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<4x3xf32>) -> tensor<4xf32>
  %1 = ingot.matmul %d, %d : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0, %1 : tensor<4xf32>, tensor<3x3xf64>
}

// -----

// Attention is low; its statistics are f32.
// CHECK-LABEL: func.func @attention
// CHECK-COUNT-3: ingot.cast %arg0 : tensor<1x8x2x8xf32> -> tensor<1x8x2x8xbf16>
// CHECK: %[[R:.*]], %[[LSE:.*]] = ingot.attention {{.*}} -> (tensor<1x8x2x8xbf16>, tensor<1x2x8xf32>)
// CHECK: ingot.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[LSE]], %{{.*}}tensor<1x2x8xf32>, tensor<1x8x2x8xbf16>)
func.func @attention(%x: tensor<1x8x2x8xf32>, %g: tensor<1x8x2x8xf32>) -> tensor<1x8x2x8xf32> {
  %r, %lse = ingot.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x2x8xf32>, tensor<1x2x8xf32>)
  %d:3 = ingot.attention_grad %x, %x, %x, %r, %lse, %g {scale = 1.0 : f64} : (tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %d#0 : tensor<1x8x2x8xf32>
}

// -----

// What is stored in low precision and else only summed up is summed up as stored, through a view as well.
// CHECK-LABEL: func.func @reduced
// CHECK: %[[X:.*]] = ingot.exp
// CHECK-NEXT: %[[LOW:.*]] = ingot.cast %[[X]] : tensor<2x8x32xf32> -> tensor<2x8x32xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = ingot.cast %[[LOW]] : tensor<2x8x32xbf16> -> tensor<2x8x32xf32>
// CHECK: ingot.reduce sum %[[WIDE]]
func.func @reduced(%x: tensor<2x8x32xf32>, %w: tensor<32x8xf32>, %g: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<32x8xf32>, tensor<32xf32>) {
  %0 = ingot.exp %x : tensor<2x8x32xf32>
  %1 = ingot.reduce sum %0 dims = [0, 1] : (tensor<2x8x32xf32>) -> tensor<32xf32>
  %2 = ingot.reshape %0 : tensor<2x8x32xf32> -> tensor<16x32xf32>
  %3 = ingot.matmul %2, %w : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  %4 = ingot.matmul %2 transposed, %g : (tensor<16x32xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  return %3, %4, %1 : tensor<16x8xf32>, tensor<32x8xf32>, tensor<32xf32>
}

// -----

// Not where f32 is there for another reader.
// CHECK-LABEL: func.func @read_in_f32
// CHECK: %[[X:.*]] = ingot.exp
// CHECK: ingot.reduce sum %[[X]]
func.func @read_in_f32(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>) -> (tensor<16x8xf32>, tensor<32xf32>, tensor<16x32xf32>) {
  %0 = ingot.exp %x : tensor<16x32xf32>
  %1 = ingot.matmul %0, %w : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  %2 = ingot.reduce sum %0 dims = [0] : (tensor<16x32xf32>) -> tensor<32xf32>
  %3 = ingot.add %0, %0 : tensor<16x32xf32>
  return %1, %2, %3 : tensor<16x8xf32>, tensor<32xf32>, tensor<16x32xf32>
}

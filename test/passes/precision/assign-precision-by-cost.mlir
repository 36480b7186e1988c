// RUN: ingot-opt %s --ingot-assign-precision=by-cost --split-input-file | FileCheck %s
// RUN: ingot-opt %s "--ingot-assign-precision=by-cost force-low=^forced$" --split-input-file | FileCheck %s --check-prefix=FORCED
// RUN: ingot-opt %s --ingot-assign-precision=by-cost --split-input-file --remarks-filter=assign-precision --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A machine that multiplies 16-bit numbers at a third of the speed of f32. What is limited by arithmetic stays in f32.

// CHECK-LABEL: func.func @arithmetic
// CHECK-NEXT: ingot.matmul {{.*}} -> tensor<64x102xf32>
// CHECK-NEXT: return
// FORCED-LABEL: func.func @arithmetic
// FORCED: ingot.matmul {{.*}}bf16
// REMARK: Precision{{.*}}slower in bf16 on this machine: estimated 637 us instead of 223 us
module attributes {ingot.machine = {matmul_f32 = 60.0e9, matmul_bf16 = 21.0e9, memory_bandwidth = 10.0e9, cache_bandwidth = 60.0e9}} {
  func.func @arithmetic(%x: tensor<64x1024xf32>, %w: tensor<1024x102xf32>) -> tensor<64x102xf32> {
    %0 = ingot.matmul %x, %w : (tensor<64x1024xf32>, tensor<1024x102xf32>) -> tensor<64x102xf32> loc("forced")
    return %0 : tensor<64x102xf32>
  }
}

// -----

// What is limited by memory is stored in 16 bits, and computed in f32.

// CHECK-LABEL: func.func @memory
// CHECK: ingot.matmul {{.*}}bf16
module attributes {ingot.machine = {matmul_f32 = 60.0e9, matmul_bf16 = 21.0e9, memory_bandwidth = 10.0e9, cache_bandwidth = 60.0e9}} {
  func.func @memory(%x: tensor<4x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4x4096xf32> {
    %0 = ingot.matmul %x, %w : (tensor<4x4096xf32>, tensor<4096x4096xf32>) -> tensor<4x4096xf32>
    return %0 : tensor<4x4096xf32>
  }
}

// -----

// A filter of one tap runs at the rate of matmuls, others at that of convolutions.

// CHECK-LABEL: func.func @taps
// CHECK: ingot.conv {{.*}} : (tensor<16x64x56x56xbf16>, tensor<256x64x1x1xbf16>)
// CHECK: ingot.conv_filter_grad {{.*}} : (tensor<16x256x56x56xbf16>, tensor<16x64x56x56xbf16>)
// CHECK: ingot.conv {{.*}} : (tensor<16x64x56x56xf32>, tensor<64x64x3x3xf32>)
// CHECK: ingot.conv {{.*}} : (tensor<16x64x56x56xf32>, tensor<256x64x1x1xf32>)
module attributes {ingot.machine = {matmul_f32 = 60.0e9, matmul_bf16 = 120.0e9, convolution_f32 = 60.0e9, convolution_bf16 = 50.0e9, memory_bandwidth = 40.0e9, cache_bandwidth = 60.0e9}} {
  func.func @taps(%x: tensor<16x64x56x56xf32>, %one: tensor<256x64x1x1xf32>, %g: tensor<16x256x56x56xf32>, %nine: tensor<64x64x3x3xf32>)
      -> (tensor<16x256x56x56xf32>, tensor<256x64x1x1xf32>, tensor<16x64x56x56xf32>, tensor<16x256x28x28xf32>) {
    %0 = ingot.conv %x, %one {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1} : (tensor<16x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<16x256x56x56xf32>
    %1 = ingot.conv_filter_grad %g, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1} : (tensor<16x256x56x56xf32>, tensor<16x64x56x56xf32>) -> tensor<256x64x1x1xf32>
    %2 = ingot.conv %x, %nine {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1} : (tensor<16x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<16x64x56x56xf32>
    %3 = ingot.conv %x, %one {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1} : (tensor<16x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<16x256x28x28xf32>
    return %0, %1, %2, %3 : tensor<16x256x56x56xf32>, tensor<256x64x1x1xf32>, tensor<16x64x56x56xf32>, tensor<16x256x28x28xf32>
  }
}

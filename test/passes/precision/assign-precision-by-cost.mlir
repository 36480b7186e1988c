// RUN: ingot-opt %s --ingot-assign-precision=by-cost --split-input-file | FileCheck %s
// RUN: ingot-opt %s "--ingot-assign-precision=by-cost force-low=^forced$" --split-input-file | FileCheck %s --check-prefix=FORCED
// RUN: ingot-opt %s --ingot-assign-precision=by-cost --split-input-file --remarks-filter=assign-precision --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A machine that multiplies 16-bit numbers at a third of the speed of f32. What is limited by arithmetic stays in f32.

// CHECK-LABEL: func.func @arithmetic
// CHECK-NEXT: ingot.matmul {{.*}} -> tensor<64x102xf32>
// CHECK-NEXT: return
// FORCED-LABEL: func.func @arithmetic
// FORCED: ingot.matmul {{.*}}bf16
// REMARK: Precision{{.*}}this machine has no instructions for bf16: estimated 637 us instead of 223 us
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

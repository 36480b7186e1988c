// RUN: ingot-opt %s --ingot-assign-precision --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-assign-precision=keep-fp32=stream --split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: ingot-opt %s --ingot-assign-precision --split-input-file --remarks-filter=assign-precision --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS

// The gradient of a residual stream: a sum of 16-bit values that is reduced, and
// read by the next sum, is 16-bit in memory.
// REMARKS: [Passed] RoundedSum {{.*}}op=ingot.select, result=bf16
// REMARKS-NOT: RoundedSum
// CHECK-LABEL: func.func @residual
// CHECK: %[[SUM:.*]] = ingot.add
// CHECK: %[[MASKED:.*]] = ingot.select %{{.*}}, %[[SUM]]
// CHECK: %[[ROUNDED:.*]] = ingot.cast %[[MASKED]] : tensor<8x16xf32> -> tensor<8x16xbf16>
// CHECK: %[[READ:.*]] = ingot.cast %[[ROUNDED]] : tensor<8x16xbf16> -> tensor<8x16xf32>
// CHECK: ingot.reduce sum %[[READ]]
// CHECK: ingot.sub %[[READ]]
// KEPT-LABEL: func.func @residual
// KEPT: %[[MASKED:.*]] = ingot.select
// KEPT: ingot.reduce sum %[[MASKED]]
func.func @residual(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>, %v: tensor<4x16xf32>,
                    %mask: tensor<8x16xi1>) -> (tensor<16xf32>, tensor<8x16xf32>, tensor<8x4xf32>) {
  %a = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %b = ingot.matmul %x, %v : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %zero = ingot.constant dense<0.0> : tensor<8x16xf32>
  %sum = ingot.add %a, %b : tensor<8x16xf32>
  %masked = ingot.select %mask, %sum, %zero : tensor<8x16xi1>, tensor<8x16xf32> loc("stream")
  %reduced = ingot.reduce sum %masked dims = [0] : (tensor<8x16xf32>) -> tensor<16xf32>
  %other = ingot.sub %masked, %a : tensor<8x16xf32>
  %again = ingot.matmul %a, %w transposed : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  %more = ingot.matmul %b, %v transposed : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  %both = ingot.add %again, %more : tensor<8x4xf32>
  return %reduced, %other, %both : tensor<16xf32>, tensor<8x16xf32>, tensor<8x4xf32>
}

// -----

// With a term that is f32 in memory, as in a transformer, the sum is f32; and so
// is a sum that nothing reduces.
// CHECK-LABEL: func.func @wide
// CHECK: %[[SUM:.*]] = ingot.add
// CHECK-NEXT: ingot.reduce sum %[[SUM]]
// CHECK: ingot.neg %[[SUM]]
func.func @wide(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>, %stream: tensor<8x16xf32>)
    -> (tensor<16xf32>, tensor<8x16xf32>, tensor<8x4xf32>) {
  %a = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %sum = ingot.add %a, %stream : tensor<8x16xf32>
  %reduced = ingot.reduce sum %sum dims = [0] : (tensor<8x16xf32>) -> tensor<16xf32>
  %other = ingot.neg %sum : tensor<8x16xf32>
  %again = ingot.matmul %a, %w transposed : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  return %reduced, %other, %again : tensor<16xf32>, tensor<8x16xf32>, tensor<8x4xf32>
}

// RUN: ingot-opt %s "--ingot-assign-precision=keep-fp32=^head$ force-low=^norm$" --split-input-file | FileCheck %s
// RUN: not ingot-opt %s "--ingot-assign-precision=keep-fp32=(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not ingot-opt %s "--ingot-assign-precision=precision=fp4" 2>&1 | FileCheck %s --check-prefix=TYPE

// REGEX: '(' is not a regular expression
// TYPE: unknown precision 'fp4'

// CHECK-LABEL: func.func @by_name
// CHECK: ingot.softmax {{.*}}bf16
// CHECK: ingot.matmul %{{.*}}, %arg1 : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
func.func @by_name(%x: tensor<4x3xf32>, %w: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %0 = ingot.softmax %x dim = 1 : tensor<4x3xf32> loc("norm")
  %1 = ingot.matmul %0, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32> loc("head")
  return %1 : tensor<4x3xf32>
}

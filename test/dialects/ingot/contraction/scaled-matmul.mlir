// RUN: ingot-eval %s --expect
// RUN: ingot-eval %s --expect --compiled=0

// Loops compute it everywhere; the entry point is that of GPUs alone.

// Scales apply to whole operands, which may be stored transposed.
func.func @test_tensor() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %x = ingot.constant dense<[[1.0, 2.0, -3.0], [0.5, 0.0, 448.0]]> : tensor<2x3xf32>
  %y = ingot.constant dense<[[4.0, 1.0, 1.0], [2.0, -1.0, 0.25]]> : tensor<2x3xf32>
  %a = ingot.cast %x : tensor<2x3xf32> -> tensor<2x3xf8E4M3FN>
  %b = ingot.cast %y : tensor<2x3xf32> -> tensor<2x3xf8E5M2>
  %s = ingot.constant dense<2.0> : tensor<f32>
  %t = ingot.constant dense<0.25> : tensor<f32>
  %0 = ingot.scaled_matmul %a by tensor %s, %b transposed by tensor %t
      : (tensor<2x3xf8E4M3FN>, tensor<2x3xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
  %1 = ingot.constant dense<[[1.5, -0.375], [225.0, 56.5]]> : tensor<2x2xf32>
  %at = ingot.transpose %a [1, 0] : (tensor<2x3xf8E4M3FN>) -> tensor<3x2xf8E4M3FN>
  %bt = ingot.transpose %b [1, 0] : (tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2>
  %2 = ingot.scaled_matmul %at transposed by tensor %s, %bt by tensor %t
      : (tensor<3x2xf8E4M3FN>, tensor<3x2xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
  return %0, %1, %2, %1 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// Element 128 of the sum is in the second run, row 1 in the second column; the
// squares of rhs are padded to 4 along the sum.
func.func @test_runs_and_squares() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %one = ingot.constant dense<1.0> : tensor<2x130xf32>
  %a = ingot.cast %one : tensor<2x130xf32> -> tensor<2x130xf8E4M3FN>
  %s = ingot.constant dense<[[1.0, 2.0], [4.0, 8.0]]> : tensor<2x2xf32>
  %t = ingot.constant dense<[[1.0, 0.5, 64.0, 64.0]]> : tensor<1x4xf32>
  %0 = ingot.scaled_matmul %a by runs %s, %a transposed by squares %t
      : (tensor<2x130xf8E4M3FN>, tensor<2x130xf8E4M3FN>, tensor<2x2xf32>, tensor<1x4xf32>) -> tensor<2x2xf32>
  // 128 * 1 * 1 + 2 * 4 * 0.5, and 128 * 2 * 1 + 2 * 8 * 0.5.
  %1 = ingot.constant dense<[[132.0, 132.0], [264.0, 264.0]]> : tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// A byte of 127 stands for 1. Row 33 is at [0, 0, 1, 1], and elements from 32 on
// have the next byte.
func.func @test_tiles() -> (tensor<34x34xf32>, tensor<34x34xf32>) {
  %one = ingot.constant dense<1.0> : tensor<34x64xf32>
  %a = ingot.cast %one : tensor<34x64xf32> -> tensor<34x64xf8E4M3FN>
  %all = ingot.constant dense<127> : tensor<1x1x32x4x4xui8>
  %some = ingot.constant dense<128> : tensor<1x1x1x1x1xui8>
  %head = ingot.slice %all starts = [0, 0, 0, 0, 0] limits = [1, 1, 1, 1, 1] strides = [1, 1, 1, 1, 1]
      : (tensor<1x1x32x4x4xui8>) -> tensor<1x1x1x1x1xui8>
  %rest = ingot.slice %all starts = [0, 0, 0, 0, 0] limits = [1, 1, 1, 1, 2] strides = [1, 1, 1, 1, 1]
      : (tensor<1x1x32x4x4xui8>) -> tensor<1x1x1x1x2xui8>
  %group = ingot.concat %head, %some, %rest dim = 4
      : (tensor<1x1x1x1x1xui8>, tensor<1x1x1x1x1xui8>, tensor<1x1x1x1x2xui8>) -> tensor<1x1x1x1x4xui8>
  %before = ingot.slice %all starts = [0, 0, 0, 0, 0] limits = [1, 1, 1, 1, 4] strides = [1, 1, 1, 1, 1]
      : (tensor<1x1x32x4x4xui8>) -> tensor<1x1x1x1x4xui8>
  %after = ingot.slice %all starts = [0, 0, 0, 0, 0] limits = [1, 1, 1, 2, 4] strides = [1, 1, 1, 1, 1]
      : (tensor<1x1x32x4x4xui8>) -> tensor<1x1x1x2x4xui8>
  %line = ingot.concat %before, %group, %after dim = 3
      : (tensor<1x1x1x1x4xui8>, tensor<1x1x1x1x4xui8>, tensor<1x1x1x2x4xui8>) -> tensor<1x1x1x4x4xui8>
  %first = ingot.slice %all starts = [0, 0, 0, 0, 0] limits = [1, 1, 1, 4, 4] strides = [1, 1, 1, 1, 1]
      : (tensor<1x1x32x4x4xui8>) -> tensor<1x1x1x4x4xui8>
  %last = ingot.slice %all starts = [0, 0, 0, 0, 0] limits = [1, 1, 30, 4, 4] strides = [1, 1, 1, 1, 1]
      : (tensor<1x1x32x4x4xui8>) -> tensor<1x1x30x4x4xui8>
  %scales = ingot.concat %first, %line, %last dim = 2
      : (tensor<1x1x1x4x4xui8>, tensor<1x1x1x4x4xui8>, tensor<1x1x30x4x4xui8>) -> tensor<1x1x32x4x4xui8>
  %0 = ingot.scaled_matmul %a by tiles %scales, %a transposed by tiles %all
      : (tensor<34x64xf8E4M3FN>, tensor<34x64xf8E4M3FN>, tensor<1x1x32x4x4xui8>, tensor<1x1x32x4x4xui8>) -> tensor<34x34xf32>
  %rows = ingot.iota {dim = 0 : i64} : tensor<34x34xi32>
  %which = ingot.constant dense<33> : tensor<34x34xi32>
  %is = ingot.compare eq %rows, %which : (tensor<34x34xi32>, tensor<34x34xi32>) -> tensor<34x34xi1>
  %plain = ingot.constant dense<64.0> : tensor<34x34xf32>
  %raised = ingot.constant dense<96.0> : tensor<34x34xf32>
  %1 = ingot.select %is, %raised, %plain : tensor<34x34xi1>, tensor<34x34xf32>
  return %0, %1 : tensor<34x34xf32>, tensor<34x34xf32>
}

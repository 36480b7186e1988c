// RUN: ingot-opt %s --ingot-form-attention | FileCheck %s
// RUN: ingot-opt %s --ingot-form-attention | ingot-eval --expect -

// One attention is formed, the same one is not: its weights are returned.

// CHECK-LABEL: func @test_causal_padded_and_dropped
// CHECK:       ingot.attention {{.*}} lengths %{{.*}} dropout %{{.*}} {ratio = 3.000000e-01 : f64, right = 0 : i64, scale = 5.000000e-01 : f64, stream = 7 : i32}
// CHECK:       ingot.softmax
// CHECK-NOT:   ingot.softmax
func.func @test_causal_padded_and_dropped() -> (tensor<2x3x32x4xf32>, tensor<2x3x32x4xf32>, tensor<2x3x32x32xf32>, tensor<2x3x32x32xf32>) attributes {ingot.tolerance = 2.0e-6} {
  %0 = ingot.iota {dim = 0 : i64} : tensor<768xf32>
  %1 = ingot.sin %0 : tensor<768xf32>
  %2 = ingot.cos %0 : tensor<768xf32>
  %q = ingot.reshape %1 : tensor<768xf32> -> tensor<2x3x32x4xf32>
  %k = ingot.reshape %2 : tensor<768xf32> -> tensor<2x3x4x32xf32>
  %v = ingot.mul %q, %q : tensor<2x3x32x4xf32>
  %half = ingot.constant dense<0.5> : tensor<2x3x32x32xf32>
  %hidden = ingot.constant dense<0xFF800000> : tensor<2x3x32x32xf32>
  %zeros = ingot.constant dense<0.0> : tensor<2x3x32x32xf32>
  %rows = ingot.iota {dim = 0 : i64} : tensor<32x32xi64>
  %columns = ingot.iota {dim = 1 : i64} : tensor<32x32xi64>
  %past = ingot.compare le %columns, %rows : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %causal = ingot.broadcast %past dims = [2, 3] : tensor<32x32xi1> -> tensor<2x3x32x32xi1>
  // Three keys of the first sequence are real, 31 of the second.
  %lengths = ingot.constant dense<[3, 31]> : tensor<2xi64>
  %index = ingot.iota {dim = 1 : i64} : tensor<2x32xi64>
  %length = ingot.broadcast %lengths dims = [0] : tensor<2xi64> -> tensor<2x32xi64>
  %real = ingot.compare lt %index, %length : (tensor<2x32xi64>, tensor<2x32xi64>) -> tensor<2x32xi1>
  %keys = ingot.broadcast %real dims = [0, 3] : tensor<2x32xi1> -> tensor<2x3x32x32xi1>
  %allowed = ingot.and %causal, %keys : tensor<2x3x32x32xi1>

  %a1 = ingot.matmul %q, %k : (tensor<2x3x32x4xf32>, tensor<2x3x4x32xf32>) -> tensor<2x3x32x32xf32>
  %a2 = ingot.mul %a1, %half : tensor<2x3x32x32xf32>
  %a3 = ingot.select %allowed, %a2, %hidden : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %a4 = ingot.softmax %a3 dim = 3 : tensor<2x3x32x32xf32>
  %seed = ingot.constant dense<11> : tensor<i64>
  %step = ingot.constant dense<4> : tensor<i64>
  %a, %kept = ingot.dropout %a4, %seed, %step ratio = 0.3 stream = 7 : (tensor<2x3x32x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x3x32x32xf32>, tensor<2x3x32x32xi1>)
  %a5 = ingot.matmul %a, %v : (tensor<2x3x32x32xf32>, tensor<2x3x32x4xf32>) -> tensor<2x3x32x4xf32>

  %b1 = ingot.matmul %q, %k : (tensor<2x3x32x4xf32>, tensor<2x3x4x32xf32>) -> tensor<2x3x32x32xf32>
  %b2 = ingot.mul %b1, %half : tensor<2x3x32x32xf32>
  %b3 = ingot.select %allowed, %b2, %hidden : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %b4 = ingot.softmax %b3 dim = 3 : tensor<2x3x32x32xf32>
  %b, %also = ingot.dropout %b4, %seed, %step ratio = 0.3 stream = 7 : (tensor<2x3x32x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x3x32x32xf32>, tensor<2x3x32x32xi1>)
  %b5 = ingot.matmul %b, %v : (tensor<2x3x32x32xf32>, tensor<2x3x32x4xf32>) -> tensor<2x3x32x4xf32>
  return %a5, %b5, %b4, %b4 : tensor<2x3x32x4xf32>, tensor<2x3x32x4xf32>, tensor<2x3x32x32xf32>, tensor<2x3x32x32xf32>
}

// RUN: ingot-opt %s --ingot-verify-kernels --split-input-file --verify-diagnostics

// Fusions, library calls, views and constants.
func.func @kernels(%x: tensor<4x3xf32>, %w: tensor<3x3xf32>) -> (tensor<12xf32>, tensor<f32>) {
  %0 = ingot.matmul %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %1 = ingot.fusion loop(%0) : (tensor<4x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %b = ingot.neg %a : tensor<4x3xf32>
    ingot.yield %b : tensor<4x3xf32>
  }
  %2 = ingot.reshape %1 : tensor<4x3xf32> -> tensor<12xf32>
  %c = ingot.constant dense<1.0> : tensor<f32>
  return %2, %c : tensor<12xf32>, tensor<f32>
}

// -----

func.func @op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is neither in a fusion nor a library call, a view or a constant}}
  %0 = ingot.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @composite(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{is neither in a fusion nor a library call, a view or a constant}}
  %0 = ingot.softmax %x dim = 1 : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// A GPU has no attention in f32.
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @call(%q: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
    // expected-error @below {{is no library call of the target: }}
    %0:2 = ingot.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
    return %0#0 : tensor<2x5x4x8xf32>
  }
}

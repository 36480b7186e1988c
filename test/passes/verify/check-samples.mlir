// RUN: ingot-opt %s --split-input-file --ingot-check-samples 2>&1 >/dev/null | FileCheck %s

// One step after the other along the samples.

// CHECK: warning: loc("layer"): combines samples of a batch: it computes along what is dimension 0 of input 'x', which counts samples
// CHECK: hint: if that dimension is time
// CHECK-NOT: warning
module attributes {ingot.batch = 16 : i64} {
  func.func @forward(%x: tensor<16x8x4xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<16x8x4xf32> {ingot.name = "y"}) {
    %h0 = ingot.constant dense<0.0> : tensor<8x4xf32>
    %h, %all = ingot.loop 16 carries(%h0) slices(%x)
        : (tensor<8x4xf32>, tensor<16x8x4xf32>) -> (tensor<8x4xf32>, tensor<16x8x4xf32>) {
    ^body(%old: tensor<8x4xf32>, %row: tensor<8x4xf32>):
      %next = ingot.add %old, %row : tensor<8x4xf32>
      ingot.yield %next, %next : tensor<8x4xf32>, tensor<8x4xf32>
    } loc("layer")
    return %all : tensor<16x8x4xf32>
  }
}

// -----

// The samples are along the other dimension of the sequence.

module attributes {ingot.batch = 8 : i64} {
  func.func @forward(%x: tensor<8x16x4xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
    %h0 = ingot.constant dense<0.0> : tensor<8x4xf32>
    %t = ingot.transpose %x [1, 0, 2] : (tensor<8x16x4xf32>) -> tensor<16x8x4xf32>
    %h = ingot.loop 16 carries(%h0) slices(%t) : (tensor<8x4xf32>, tensor<16x8x4xf32>) -> tensor<8x4xf32> {
    ^body(%old: tensor<8x4xf32>, %row: tensor<8x4xf32>):
      %next = ingot.add %old, %row : tensor<8x4xf32>
      ingot.yield %next : tensor<8x4xf32>
    }
    return %h : tensor<8x4xf32>
  }
}

// -----

// A mean over the samples is an output; one that samples are compared with is not.

// CHECK: warning: {{.*}}output 'y' is not of one sample each: the model sums over dimension 0 of input 'x'
module attributes {ingot.batch = 8 : i64} {
  func.func @forward(%x: tensor<8x4xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<4xf32> {ingot.name = "y"}) {
    %0 = ingot.reduce sum %x dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {ingot.batch = 8 : i64} {
  func.func @forward(%x: tensor<8x4xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
    %0 = ingot.reduce sum %x dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
    %1 = ingot.broadcast %0 dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
    %2 = ingot.sub %x, %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}

// CHECK-NOT: warning

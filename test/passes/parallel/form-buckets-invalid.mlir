// RUN: ingot-opt %s --ingot-form-buckets --split-input-file --verify-diagnostics

// Tests that exchanges that ranks cannot make yet are errors.
module attributes {ingot.mesh = {data = 2}} {
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<4xf32> {ingot.name = "y"}) {
    // expected-error@+1 {{has no transport between ranks, who combine floating-point numbers over the axes of samples}}
    %0 = ingot.permute %x by 1 over [data] : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  func.func @train_step(%x: tensor<4xi64> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<4xi64> {ingot.name = "y"}) {
    // expected-error@+1 {{has no transport between ranks}}
    %0 = ingot.all_reduce sum %x over [data] : tensor<4xi64>
    return %0 : tensor<4xi64>
  }
}

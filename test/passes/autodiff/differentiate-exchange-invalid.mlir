// RUN: ingot-opt %s --ingot-differentiate --verify-diagnostics

// Tests that an extremum over ranks has no gradient.
module attributes {ingot.mesh = {data = 2}} {
  ingot.state parameter @w : tensor<2xf32> = dense<0.0> : tensor<2xf32>
  func.func @train_step(%w: tensor<2xf32> {ingot.state = @w}) -> (tensor<f32> {ingot.name = "loss"}) {
    // expected-error@+1 {{has a gradient for sums only}}
    %0 = ingot.all_reduce max %w over [data] : tensor<2xf32>
    %1 = ingot.reduce sum %0 dims = [0] : (tensor<2xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

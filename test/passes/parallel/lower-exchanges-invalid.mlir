// RUN: ingot-opt %s --ingot-lower-exchanges --verify-diagnostics

module attributes {ingot.mesh = {tensor = 2}} {
  func.func @ring(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{has no transport between ranks}}
    %0 = ingot.permute %x by 1 over [tensor] : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// RUN: ingot-opt %s --ingot-emit-cpu-kernels -split-input-file -verify-diagnostics

// Kernels for CPUs have one accumulator for each reduction; FormFusions makes loops of others.
exec.kernel "reduction" @channels aliases = [-1] {
^bb0(%x: tensor<64x16xf32>):
  // expected-error @+1 {{is reduced by merging partial results, which only kernels for GPUs do}}
  %0 = ingot.squared_deviations %x dims = [0] : (tensor<64x16xf32>) -> tensor<16xf32>
  ingot.yield %0 : tensor<16xf32>
}

// -----

exec.kernel "row" @norm aliases = [-1] {
^bb0(%x: tensor<8192x768xf32>):
  %0 = ingot.reduce sum %x dims = [1] : (tensor<8192x768xf32>) -> tensor<8192xf32>
  // expected-error @+1 {{is reduced by merging partial results, which only kernels for GPUs do}}
  %1 = ingot.reduce sum %x dims = [0] : (tensor<8192x768xf32>) -> tensor<768xf32>
  ingot.yield %0, %1 : tensor<8192xf32>, tensor<768xf32>
}

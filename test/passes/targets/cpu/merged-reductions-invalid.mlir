// RUN: ingot-opt %s --ingot-emit-cpu-kernels -verify-diagnostics

// Kernels for CPUs have one accumulator for each reduction; FormFusions makes loops of others.
exec.kernel "reduction" @channels aliases = [-1] {
^bb0(%x: tensor<64x16xf32>):
  // expected-error @+1 {{is reduced by merging partial results, which only kernels for GPUs do}}
  %0 = ingot.squared_deviations %x dims = [0] : (tensor<64x16xf32>) -> tensor<16xf32>
  ingot.yield %0 : tensor<16xf32>
}

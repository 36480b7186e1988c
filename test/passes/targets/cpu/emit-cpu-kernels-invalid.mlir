// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --ingot-outline-constants --ingot-place-steps --ingot-emit-cpu-kernels --verify-diagnostics

// Tests that a processor's code does not leave out what devices alone compute
// with a product.
func.func @train_step(%dy: tensor<64x16xf32> {ingot.name = "dy", ingot.kind = "data"}, %x: tensor<64x8xf32> {ingot.name = "x", ingot.kind = "data"})
    -> (tensor<16x8xf32> {ingot.name = "dw"}, tensor<16xf32> {ingot.name = "db"}) {
  // expected-error @+1 {{uses an epilogue that only GPU targets support}}
  %0 = ingot.matmul %dy transposed, %x : (tensor<64x16xf32>, tensor<64x8xf32>) -> tensor<16x8xf32>
  %1 = ingot.reduce sum %dy dims = [0] : (tensor<64x16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16xf32>
}

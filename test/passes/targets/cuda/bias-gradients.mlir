// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --ingot-outline-constants --ingot-place-steps | FileCheck %s --check-prefix=PLACED
// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --ingot-outline-constants --ingot-place-steps --ingot-emit-cuda-kernels | FileCheck %s

// Tests that a bias's gradient has a kernel of its own behind the product,
// which reads the operand, and what the call says of it.
// PLACED-LABEL: exec.step @train_step
// PLACED: exec.matmul_epilogue %[[DY:[0-9]+]], %{{[0-9]+}} <{{.*}}transpose_a = 1{{.*}}>() -> (%{{.*}}) extra @[[SUM:kernel_[0-9]+]](%{{.*}}) -> %[[DB:.*]] {{.*}}library = #ingot.library_epilogue<identity result = 1 bias_grad = 3 of lhs>, product = 0
// Where the sum is split, the extra output is behind the partial sums.
// CHECK-LABEL: exec.step @train_step
// CHECK: exec.matmul_epilogue_grid %{{[0-9]+}}, %{{[0-9]+}} <{{.*}}transpose_a = 1{{.*}}>() -> (%{{.*}}) extra [#exec.grid<@device::@[[SUM:kernel_[0-9]+]] blocks {{[0-9]+}} of 256 shared {{[0-9]+}}>, #exec.grid<@device::@[[SUM]]{{.*}} blocks {{[0-9]+}} of 256 shared {{[0-9]+}}>](%{{.*}}) -> %{{.*}} partials(%{{.*}}) {{.*}}library = #ingot.library_epilogue<identity result = 1 bias_grad = 4 of lhs>
func.func @train_step(%dy: tensor<4096x16xf32> {ingot.name = "dy", ingot.kind = "data"}, %x: tensor<4096x8xf32> {ingot.name = "x", ingot.kind = "data"})
    -> (tensor<16x8xf32> {ingot.name = "dw"}, tensor<16xf32> {ingot.name = "db"}) {
  %0 = ingot.matmul %dy transposed, %x : (tensor<4096x16xf32>, tensor<4096x8xf32>) -> tensor<16x8xf32>
  %1 = ingot.reduce sum %dy dims = [0] : (tensor<4096x16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16xf32>
}

// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --ingot-outline-constants --ingot-place-steps | FileCheck %s --check-prefix=PLACED
// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --ingot-outline-constants --ingot-place-steps --ingot-emit-cuda-kernels | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=emulator --ingot-form-fusions --ingot-outline-constants --ingot-place-steps --ingot-emit-cuda-kernels --cse --ingot-convert-device-kernels --ingot-lower-steps | FileCheck %s --check-prefix=LOWERED

// Tests that the call says by numbers of its kernel's buffers (product, bias,
// residual, result) what the library may do in its place, and that the kernel
// reads the product where it is to leave the result.
// PLACED: exec.matmul_epilogue %{{.*}}, %{{.*}} finish @kernel_0(%[[B:.*]], %[[R:.*]]) -> (%[[Y:.*]]) {{.*}}library = #ingot.library_epilogue<relu bias = 1 addend = 2 result = 3>, product = 0
// CHECK: %[[B:.*]] = exec.buffer {{.*}} memref<16xf32>
// CHECK: exec.matmul_epilogue_grid %{{.*}}, %{{.*}} finish <@device::@kernel_0 blocks [[GRID:[0-9]+]] of 256 shared 0>(%[[B]], %[[R:.*]]) -> (%[[Y:.*]]) {{.*}}library = #ingot.library_epilogue<relu bias = 1 addend = 2 result = 3>
// CHECK: gpu.func @kernel_0(%[[P:[a-z0-9]+]]: memref<128xf32> {llvm.noalias}, %[[BIAS:[a-z0-9]+]]: memref<16xf32> {llvm.noalias}, %[[RESIDUAL:[a-z0-9]+]]: memref<128xf32> {llvm.noalias}, %[[OUT:[a-z0-9]+]]: memref<128xf32> {llvm.noalias})
// CHECK-NOT: memref.load %[[P]]
// CHECK-DAG: memref.load %[[OUT]]
// CHECK-DAG: memref.load %[[BIAS]]
// CHECK-DAG: memref.load %[[RESIDUAL]]
// CHECK: memref.store %{{.*}}, %[[OUT]]

// The entry's descriptor: names and shapes of the kernels, the product, the epilogue.
// LOWERED-DAG: llvm.func @ingot_matmul_epilogue_grid(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// LOWERED-DAG: @train_step.call.0() {{.*}} !llvm.struct<([[KERNEL:ptr, ptr, i32, i32, i32, i32, i32, i32, i64, i64, i64, i64]], [[KERNEL]], [[KERNEL]], i64, i64, i64, i64, i32, i32, i32, i32, i32, i32, i32, i32, i64, i64, i32, i32, i32, i32, i32, i32, i32, i32)>
func.func @train_step(%a: tensor<8x8xf32> {ingot.name = "a", ingot.kind = "data"}, %w: tensor<8x16xf32> {ingot.name = "w", ingot.kind = "data"},
                      %r: tensor<8x16xf32> {ingot.name = "r", ingot.kind = "data"}, %b: tensor<16xf32> {ingot.name = "b", ingot.kind = "data"})
    -> (tensor<2x4x16xf32> {ingot.name = "y"}) {
  %zero = ingot.constant dense<0.0> : tensor<2x4x16xf32>
  %0 = ingot.matmul %a, %w : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = ingot.reshape %0 : tensor<8x16xf32> -> tensor<2x4x16xf32>
  %r3 = ingot.reshape %r : tensor<8x16xf32> -> tensor<2x4x16xf32>
  %2 = ingot.add %r3, %1 : tensor<2x4x16xf32>
  %3 = ingot.broadcast %b dims = [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %4 = ingot.add %2, %3 : tensor<2x4x16xf32>
  %5 = ingot.max %4, %zero : tensor<2x4x16xf32>
  return %5 : tensor<2x4x16xf32>
}

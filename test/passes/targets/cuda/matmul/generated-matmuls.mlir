// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90a options=matmul-kernels=own" --ingot-form-fusions --ingot-outline-constants --ingot-place-steps --ingot-emit-cuda-kernels | FileCheck %s
// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90a options=matmul-kernels=own" --ingot-form-fusions --ingot-outline-constants --ingot-place-steps --ingot-cuda-kernels --ingot-convert-device-kernels | FileCheck %s --check-prefix=LLVM

// Tests that a matmul and the loop behind it become one launch, of as many
// blocks as there are tiles, of a kernel that takes tensor maps of the operands
// and computes the epilogue of sums in registers.
// CHECK: exec.matmul_grid %[[A:.*]], %[[W:.*]] <batch = 1, m = 256, n = 512, k = 192, transpose_b = 1, a_type = bf16, b_type = bf16, c_type = bf16> <@device::@matmul_0 blocks 8 of 384 shared 0> tile <128 x 128 x 64> dynamic {{[0-9]+}}(%{{.*}}, %{{.*}}) -> (%{{.*}})
// CHECK-NOT: exec.launch_grid
// CHECK: llvm.mlir.global external @matmul_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK: gpu.func @matmul_0(%[[MAP_A:[a-z0-9]+]]: !llvm.ptr, %[[MAP_W:[a-z0-9]+]]: !llvm.ptr, %[[R:[a-z0-9]+]]: memref<131072xf32> {llvm.noalias}, %[[B:[a-z0-9]+]]: memref<512xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<131072xbf16> {llvm.noalias})

// The barriers of six stages.
// CHECK-COUNT-12: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: gpu.barrier
// CHECK: nvvm.setmaxregister decrease 40
// A tile of each operand: rows of the inner dimension in both.
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP_A]],
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP_W]],
// CHECK-NOT: nvvm.cp.async.bulk.tensor

// The first products are the sums, others are added.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: nvvm.wgmma.mma_async {{.*}}D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-COUNT-3: nvvm.wgmma.mma_async {{.*}}D[<f32>, <one>]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}}D[<f32>, <one>]

// Elements next to each other, of the rounded product.
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[FROM:.*]] = memref.reinterpret_cast %[[R]] to offset: [%[[START:.*]]], sizes: [8], strides: [1]
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: memref.load %[[FROM]][%c0{{.*}}]
// CHECK: %[[TO:.*]] = memref.reinterpret_cast %[[Y]] to offset: [%[[START]]], sizes: [8], strides: [1]
// CHECK-COUNT-8: memref.store %{{.*}}, %[[TO]]
// CHECK: nvvm.bar.warp.sync

// Tensor maps are parameters.
// LLVM: llvm.func @matmul_0(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// LLVM-SAME: nvvm.maxntid = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32
// LLVM: llvm.inline_asm {{.*}}wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
func.func @train_step(%a: tensor<256x192xbf16> {ingot.name = "a", ingot.kind = "data"}, %w: tensor<512x192xbf16> {ingot.name = "w", ingot.kind = "data"},
                      %r: tensor<256x512xf32> {ingot.name = "r", ingot.kind = "data"}, %b: tensor<512xf32> {ingot.name = "b", ingot.kind = "data"})
    -> (tensor<256x512xbf16> {ingot.name = "y"}) {
  %0 = ingot.matmul %a, %w transposed : (tensor<256x192xbf16>, tensor<512x192xbf16>) -> tensor<256x512xbf16>
  %1 = ingot.cast %0 : tensor<256x512xbf16> -> tensor<256x512xf32>
  %2 = ingot.broadcast %b dims = [1] : tensor<512xf32> -> tensor<256x512xf32>
  %3 = ingot.add %1, %2 : tensor<256x512xf32>
  %4 = ingot.logistic %3 : tensor<256x512xf32>
  %5 = ingot.mul %4, %r : tensor<256x512xf32>
  %6 = ingot.cast %5 : tensor<256x512xf32> -> tensor<256x512xbf16>
  return %6 : tensor<256x512xbf16>
}

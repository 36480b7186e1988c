// RUN: ingot-opt %s --ingot-convert-device-kernels | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(ingot-expand-math{round-float8=true})))' | FileCheck %s --check-prefix=KEPT
// RUN: ingot-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(ingot-expand-math)))' | FileCheck %s --check-prefix=EXPANDED

// Tests that an instruction rounds to 8 bits and saturates: the number is the lower
// of a pair.
// CHECK-LABEL: llvm.func @round
//       CHECK:   %[[X:.*]] = llvm.load %{{.*}} -> f32
//       CHECK:   %[[PAIR:.*]] = nvvm.convert.f32x2.to.f8x2 %{{.*}}, %[[X]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E5M2)
//       CHECK:   %[[BYTE:.*]] = llvm.trunc %[[PAIR]] : i16 to i8
//       CHECK:   llvm.store %[[BYTE]], %{{.*}} : i8, !llvm.ptr

// Tests that the conversion is left to it on request, and else is arithmetic.
// KEPT: arith.truncf
// EXPANDED-NOT: arith.truncf
// EXPANDED: arith.trunci %{{.*}} : i32 to i8
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @round(%x: memref<8xf32>, %y: memref<8xf8E5M2>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<8xf32>
      %n = arith.truncf %v : f32 to f8E5M2
      memref.store %n, %y[%i] : memref<8xf8E5M2>
      gpu.return
    }
  }
}

// RUN: ingot-opt %s --ingot-expand-math=interleave=4 | FileCheck %s
// RUN: ingot-opt %s --ingot-expand-math | FileCheck %s --check-prefix=NONE

// NONE-NOT: loop_interleave

// Innermost loops with polynomials, but none of other loops, and none with a sum, whose order interleaving would change,
// and none with many polynomials.

// CHECK: #[[INTERLEAVE:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK: #[[LOOP:.*]] = #llvm.loop_annotation<interleave = #[[INTERLEAVE]]>
// CHECK-LABEL: @nest
func.func @nest(%x: memref<4x64xf32>, %from: index, %to: index, %step: index) {
  // CHECK:       scf.for
  // CHECK:         scf.for
  // CHECK:           math.absf
  // CHECK:         } {loop_annotation = #[[LOOP]]}
  // CHECK:         scf.for
  // CHECK:         }{{$}}
  // CHECK:       }{{$}}
  scf.for %i = %from to %to step %step {
    scf.for %j = %from to %to step %step {
      %0 = memref.load %x[%i, %j] : memref<4x64xf32>
      %1 = math.tanh %0 : f32
      memref.store %1, %x[%i, %j] : memref<4x64xf32>
    }
    scf.for %j = %from to %to step %step {
      %0 = memref.load %x[%i, %j] : memref<4x64xf32>
      %1 = arith.mulf %0, %0 : f32
      memref.store %1, %x[%i, %j] : memref<4x64xf32>
    }
  }
  return
}

// CHECK-LABEL: @sum
// CHECK-NOT:     loop_annotation
// CHECK:         return
func.func @sum(%x: memref<64xf32>, %from: index, %to: index, %step: index, %zero: f32) -> f32 {
  %sum = scf.for %i = %from to %to step %step iter_args(%s = %zero) -> f32 {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = math.exp %0 : f32
    %2 = arith.addf %s, %1 : f32
    scf.yield %2 : f32
  }
  return %sum : f32
}

// CHECK-LABEL: @four
// CHECK:         } {loop_annotation = #[[LOOP]]}
func.func @four(%x: memref<64xf32>, %from: index, %to: index, %step: index) {
  scf.for %i = %from to %to step %step {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = math.exp %0 : f32
    %2 = math.exp %1 : f32
    %3 = math.exp %2 : f32
    %4 = math.exp %3 : f32
    memref.store %4, %x[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: @many
// CHECK-NOT:     loop_annotation
// CHECK:         return
func.func @many(%x: memref<64xf32>, %from: index, %to: index, %step: index) {
  scf.for %i = %from to %to step %step {
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = math.exp %0 : f32
    %2 = math.exp %1 : f32
    %3 = math.exp %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.exp %4 : f32
    memref.store %5, %x[%i] : memref<64xf32>
  }
  return
}

// RUN: ingot-opt %s --pass-pipeline='builtin.module(func.func(ingot-prefetch-streams{least-bytes=65536}))' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(func.func(ingot-prefetch-streams{least-bytes=65536}))' --remarks-filter=prefetch-streams --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --pass-pipeline='builtin.module(func.func(ingot-prefetch-streams{least-bytes=65536 most-streams=0}))' --remarks-filter=prefetch-streams --remark-format=emitRemark -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MISSED
// RUN: FileCheck %s --check-prefix=AGAIN < %t.mlir

// MISSED: [Missed] Prefetch | Category:prefetch-streams | Reason="the processor prefetches as well by itself", arrays=2

// Of a processor that prefetches by itself, only the second pass over a row.
// AGAIN-LABEL: func @elements
// AGAIN-NOT:     memref.prefetch
// AGAIN-LABEL: func @passes
// AGAIN:         arith.maxnumf
// AGAIN:         memref.prefetch
// AGAIN-NOT:     memref.prefetch
// AGAIN-LABEL: func @columns
// AGAIN-NOT:     memref.prefetch
// AGAIN-LABEL: func @asking

// REMARK: [Passed] Prefetch | Category:prefetch-streams | arrays=2
// REMARK: [Missed] Prefetch | Category:prefetch-streams | Reason="the loop reads enough arrays to keep memory busy", arrays=4

// A piece asks for the next one: 16 elements of x a line, 32 of y, and no
// further than the buffer. z is small, and b is read in another order.
// CHECK-LABEL: func @elements
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<100000xf32>, %[[Y:[a-z0-9]+]]: memref<100000xbf16>
// CHECK-SAME:    %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
func.func @elements(%x: memref<100000xf32>, %y: memref<100000xbf16>, %z: memref<64xf32>, %b: memref<100000xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  // CHECK:      scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]] step %[[SIZE:.*]] {
  // CHECK:        %[[SUM:.*]] = arith.addi %[[P]], %[[SIZE]]
  // CHECK:        %[[TO:.*]] = arith.minsi %[[SUM]], %[[END]]
  // CHECK:        %[[AT:.*]] = arith.addi %[[P]], %{{c7.*}}
  // CHECK:        %[[C512:.*]] = arith.constant 512
  // CHECK:        %[[AHEAD:.*]] = arith.addi %[[AT]], %[[C512]]
  // CHECK:        %[[LAST:.*]] = arith.constant 99488
  // CHECK:        %[[START:.*]] = arith.minsi %[[AHEAD]], %[[LAST]]
  // CHECK:        %[[C16:.*]] = arith.constant 16
  // CHECK:        scf.for %[[I:.*]] = %[[P]] to %[[TO]] step %[[C16]] {
  // CHECK:          %[[OFFSET:.*]] = arith.subi %[[I]], %[[P]]
  // CHECK:          %[[NEXT:.*]] = arith.addi %[[START]], %[[OFFSET]]
  // CHECK:          memref.prefetch %[[X]][%[[NEXT]]]
  // CHECK-NOT:      memref.prefetch
  // CHECK:        %[[C32:.*]] = arith.constant 32
  // CHECK:        scf.for %{{.*}} = %[[P]] to %[[TO]] step %[[C32]] {
  // CHECK:          memref.prefetch %[[Y]]
  // CHECK-NOT:      memref.prefetch
  // CHECK:        scf.for %{{.*}} = %[[P]] to %[[TO]] step %{{.*}} {
  // CHECK:          memref.load %[[X]]
  scf.for %i = %begin to %end step %c1 {
    %j = arith.addi %i, %c7 : index
    %0 = memref.load %x[%j] : memref<100000xf32>
    %k = arith.remui %i, %c7 : index
    %1 = memref.load %z[%i] : memref<64xf32>
    %2 = memref.load %b[%k] : memref<100000xf32>
    %l = arith.muli %i, %c2 : index
    %3 = memref.load %b[%l] : memref<100000xf32>
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %2, %3 : f32
    %6 = arith.addf %4, %5 : f32
    memref.store %6, %x[%j] : memref<100000xf32>
    %7 = arith.truncf %6 : f32 to bf16
    memref.store %7, %y[%i] : memref<100000xbf16>
  }
  return
}

// A sum goes on from one piece to the next.
// CHECK-LABEL: func @sum
func.func @sum(%x: memref<100000xf32>, %s: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[TOTAL:.*]] = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (f32) {
  // CHECK:   memref.prefetch
  // CHECK:   %[[PART:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[SO_FAR]]) -> (f32) {
  // CHECK:   scf.yield %[[PART]] : f32
  // CHECK: memref.store %[[TOTAL]]
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%old = %zero) -> (f32) {
    %0 = memref.load %x[%i] : memref<100000xf32>
    %1 = arith.addf %old, %0 : f32
    scf.yield %1 : f32
  }
  memref.store %sum, %s[%c0] : memref<1xf32>
  return
}

// The second pass over a row finds it in the cache, and prefetches the next row.
// CHECK-LABEL: func @passes
func.func @passes(%x: memref<100000xf32>, %s: memref<100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %row = %c0 to %c100 step %c1 {
    %first = arith.muli %row, %c1000 : index
    // CHECK: %[[NEAR:.*]] = arith.constant 512 : index
    // CHECK: arith.addi %{{.*}}, %[[NEAR]]
    // CHECK: memref.prefetch
    %top = scf.for %i = %c0 to %c1000 step %c1 iter_args(%old = %zero) -> (f32) {
      %at = arith.addi %first, %i : index
      %0 = memref.load %x[%at] : memref<100000xf32>
      %1 = arith.maxnumf %old, %0 : f32
      scf.yield %1 : f32
    }
    // CHECK: %[[FAR:.*]] = arith.constant 1000 : index
    // CHECK: %[[AHEAD:.*]] = arith.addi %{{.*}}, %[[FAR]]
    // CHECK: %[[START:.*]] = arith.minsi %[[AHEAD]]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[START]]
    // CHECK: memref.prefetch %{{.*}}[%[[NEXT]]]
    %sum = scf.for %i = %c0 to %c1000 step %c1 iter_args(%old = %zero) -> (f32) {
      %at = arith.addi %first, %i : index
      %0 = memref.load %x[%at] : memref<100000xf32>
      %1 = arith.subf %0, %top : f32
      %2 = arith.addf %old, %1 : f32
      scf.yield %2 : f32
    }
    memref.store %sum, %s[%row] : memref<100xf32>
  }
  return
}

// Short pieces of long rows: four rows further, not beside the piece.
// CHECK-LABEL: func @columns
func.func @columns(%x: memref<100000xf32>, %s: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  scf.for %row = %c0 to %c100 step %c1 {
    %first = arith.muli %row, %c1000 : index
    // CHECK: %[[C4000:.*]] = arith.constant 4000
    // CHECK: %[[AHEAD:.*]] = arith.addi %{{.*}}, %[[C4000]]
    // CHECK: %[[START:.*]] = arith.minsi %[[AHEAD]]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[START]]
    // CHECK: memref.prefetch %{{.*}}[%[[NEXT]]]
    scf.for %i = %c0 to %c256 step %c1 {
      %at = arith.addi %first, %i : index
      %0 = memref.load %x[%at] : memref<100000xf32>
      memref.store %0, %s[%i] : memref<64xf32>
    }
  }
  return
}

// An optimizer's update goes over four.
// CHECK-LABEL: func @four
// CHECK-NOT:     memref.prefetch
func.func @four(%x: memref<100000xf32>, %y: memref<100000xf32>, %z: memref<100000xf32>, %w: memref<100000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<100000xf32>
    %1 = memref.load %y[%i] : memref<100000xf32>
    %2 = memref.load %z[%i] : memref<100000xf32>
    %3 = arith.addf %0, %1 : f32
    %4 = arith.addf %3, %2 : f32
    memref.store %4, %w[%i] : memref<100000xf32>
  }
  return
}

// Epilogues know better what comes next.
// CHECK-LABEL: func @asking
// CHECK:         memref.prefetch
// CHECK-NOT:     memref.prefetch
func.func @asking(%x: memref<100000xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  memref.prefetch %x[%end], read, locality<3>, data : memref<100000xf32>
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.load %x[%i] : memref<100000xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%i] : memref<100000xf32>
  }
  return
}

// What the caches hold needs no asking.
// CHECK-LABEL: func @small
// CHECK-NOT:     memref.prefetch
func.func @small(%x: memref<1000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<1000xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%i] : memref<1000xf32>
  }
  return
}

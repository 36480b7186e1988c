// RUN: ingot-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(ingot-split-masked-loops,canonicalize,cse)))' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(ingot-split-masked-loops)))' --remarks-filter='.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

gpu.module @device {
  // Tests that iterations whose elements all exist have no masks, and that the
  // rest begins where a thread has stopped. The first mask that is false
  // decides: 50257 is the first column that does not exist, and a thread has
  // two columns.
  // CHECK-LABEL: gpu.func @padded
  //  CHECK-SAME:   %[[X:.*]]: memref<50304xf32>, %[[Y:.*]]: memref<50304xf32>
  //   CHECK-DAG:   %[[END:.*]] = arith.constant 50256 : index
  //   CHECK-DAG:   %[[ALL:.*]] = arith.constant 50304 : index
  //   CHECK-DAG:   %[[STEP:.*]] = arith.constant 2048 : index
  //   CHECK-DAG:   %[[BELOW:.*]] = arith.constant 2047 : index
  //   CHECK-DAG:   %[[T:.*]] = gpu.thread_id x
  //       CHECK:   %[[SUM:.*]] = scf.for %[[I:.*]] = %[[T]] to %[[END]] step %[[STEP]] iter_args
  //   CHECK-NOT:     arith.cmpi
  //   CHECK-NOT:     arith.select
  //       CHECK:     scf.yield
  //       CHECK:   %[[LEFT:.*]] = arith.subi %[[END]], %[[T]]
  //       CHECK:   %[[SOME:.*]] = arith.maxsi %[[LEFT]],
  //       CHECK:   %[[UP:.*]] = arith.addi %[[SOME]], %[[BELOW]]
  //       CHECK:   %[[TRIPS:.*]] = arith.divui %[[UP]], %[[STEP]]
  //       CHECK:   %[[DONE:.*]] = arith.muli %[[TRIPS]], %[[STEP]]
  //       CHECK:   %[[BEGIN:.*]] = arith.addi %[[T]], %[[DONE]]
  //       CHECK:   %[[TOTAL:.*]] = scf.for %{{.*}} = %[[BEGIN]] to %[[ALL]] step %[[STEP]] iter_args(%{{.*}} = %[[SUM]])
  //       CHECK:     arith.cmpi slt
  //       CHECK:     arith.select
  //       CHECK:     arith.cmpi slt
  //       CHECK:     arith.select
  //       CHECK:   memref.store %[[TOTAL]], %[[Y]]
  gpu.func @padded(%x: memref<50304xf32>, %y: memref<50304xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2048 = arith.constant 2048 : index
    %c50304 = arith.constant 50304 : index
    %c50257 = arith.constant 50257 : i64
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %sum = scf.for %i = %t to %c50304 step %c2048 iter_args(%s = %zero) -> f32 {
      %i0 = arith.index_cast %i : index to i64
      %0 = arith.cmpi slt, %i0, %c50257 : i64
      %1 = memref.load %x[%i] : memref<50304xf32>
      %2 = arith.select %0, %1, %low : f32
      %3 = arith.addf %s, %2 : f32
      %j = arith.addi %i, %c1 : index
      %j0 = arith.index_cast %j : index to i64
      %4 = arith.cmpi slt, %j0, %c50257 : i64
      %5 = memref.load %x[%j] : memref<50304xf32>
      %6 = arith.select %4, %5, %low : f32
      %7 = arith.addf %3, %6 : f32
      scf.yield %7 : f32
    }
    memref.store %sum, %y[%t] : memref<50304xf32>
    gpu.return
  }

  // Tests that a loop is kept whole whose masks are false from the second
  // iteration on, and one whose number of iterations is not known, and what
  // is not a mask.
  // CHECK-LABEL: gpu.func @kept
  // CHECK-COUNT-3: scf.for
  //     CHECK-NOT: scf.for
  gpu.func @kept(%x: memref<4096xf32>, %n: index, %label: index) kernel {
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %c2000 = arith.constant 2000 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    scf.for %i = %t to %c4096 step %c1024 {
      %0 = arith.cmpi slt, %i, %c2000 : index
      %1 = memref.load %x[%i] : memref<4096xf32>
      %2 = arith.select %0, %1, %zero : f32
      memref.store %2, %x[%i] : memref<4096xf32>
    }
    scf.for %i = %t to %n step %c1024 {
      %0 = arith.cmpi slt, %i, %c2000 : index
      %1 = memref.load %x[%i] : memref<4096xf32>
      %2 = arith.select %0, %1, %zero : f32
      memref.store %2, %x[%i] : memref<4096xf32>
    }
    scf.for %i = %t to %c4096 step %c1024 {
      %0 = arith.cmpi eq, %i, %label : index
      %1 = memref.load %x[%i] : memref<4096xf32>
      %2 = arith.select %0, %1, %zero : f32
      memref.store %2, %x[%i] : memref<4096xf32>
    }
    gpu.return
  }
}

// REMARK: [Passed] Masks | {{.*}} function=padded, masks=2, until=50256
// REMARK: [Missed] Masks | {{.*}} Reason="too few iterations have no masks", function=kept
// REMARK: [Missed] Masks | {{.*}} Reason="the number of iterations is not a constant", function=kept

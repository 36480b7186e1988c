// RUN: ingot-opt %s --pass-pipeline='builtin.module(func.func(ingot-stream-stores{least-bytes=65536 piece-bytes=4096}))' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(func.func(ingot-stream-stores{least-bytes=65536 piece-bytes=4096}))' --remarks-filter=stream-stores --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] StreamedStores | Category:stream-stores | arrays=1

// Pieces of 1,024 elements are copied by lines. The elements before the first
// line of memory and after the last one are stored one by one.
// CHECK-LABEL: func @elements
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<100000xf32>, %[[Y:[a-z0-9]+]]: memref<100000xf32>
// CHECK-SAME:    %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
func.func @elements(%x: memref<100000xf32>, %y: memref<100000xf32>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  // CHECK:      %[[STAGED:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
  // CHECK:      %[[SIZE:.*]] = arith.constant 1024
  // CHECK:      scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]] step %[[SIZE]] {
  // CHECK:        %[[TO:.*]] = arith.minsi
  // CHECK:        scf.for %[[I:.*]] = %[[P]] to %[[TO]]
  // CHECK:          %[[V:.*]] = memref.load %[[X]][%[[I]]]
  // CHECK:          %[[AT:.*]] = arith.subi %[[I]], %[[P]]
  // CHECK:          memref.store %[[V]], %[[STAGED]][%[[AT]]]
  // CHECK:        %[[COUNT:.*]] = arith.subi %[[TO]], %[[P]]
  // CHECK:        memref.extract_aligned_pointer_as_index %[[Y]]
  // CHECK:        %[[HEAD:.*]] = arith.minsi %{{.*}}, %[[COUNT]]
  // CHECK:        %[[TAIL:.*]] = arith.addi %[[HEAD]]
  // CHECK:        scf.for %{{.*}} = %{{.*}} to %[[HEAD]]
  // CHECK:          memref.store %{{.*}}, %[[Y]]
  // CHECK:        scf.for %[[J:.*]] = %[[HEAD]] to %[[TAIL]]
  // CHECK:          %[[LINE:.*]] = vector.load %[[STAGED]][%[[J]]] : memref<1024xf32>, vector<16xf32>
  // CHECK:          %[[POSITION:.*]] = arith.addi %[[P]], %[[J]]
  // CHECK:          vector.store %[[LINE]], %[[Y]][%[[POSITION]]] {alignment = 64 : i64, nontemporal = true}
  // CHECK:        scf.for %{{.*}} = %[[TAIL]] to %[[COUNT]]
  // CHECK:          memref.store %{{.*}}, %[[Y]]
  // CHECK:      llvm.fence seq_cst
  // CHECK-NEXT: return
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<100000xf32>
    memref.store %v, %y[%i] : memref<100000xf32>
  }
  return
}

// A row that fits is one piece, and its sum is unchanged. Two buffers share the
// stack: 4,096 bytes have room for 640 elements of both, and no more lines.
// CHECK-LABEL: func @rows
func.func @rows(%x: memref<100000xf32>, %y: memref<100000xf32>, %z: memref<100000xbf16>, %s: memref<200xf32>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c500 = arith.constant 500 : index
  %zero = arith.constant 0.0 : f32
  // CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<640xf32>
  // CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<640xbf16>
  // CHECK:     scf.for %[[R:.*]] =
  // CHECK:       %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c500 step %c1 iter_args
  // CHECK:       vector.store {{.*}} vector<16xf32>
  // CHECK:       vector.store {{.*}} vector<32xbf16>
  // CHECK:       memref.store %[[SUM]], %{{.*}}[%[[R]]]
  scf.for %r = %begin to %end step %c1 {
    %first = arith.muli %r, %c500 : index
    %sum = scf.for %i = %c0 to %c500 step %c1 iter_args(%a = %zero) -> f32 {
      %at = arith.addi %first, %i : index
      %v = memref.load %x[%at] : memref<100000xf32>
      %h = arith.truncf %v : f32 to bf16
      memref.store %v, %y[%at] : memref<100000xf32>
      memref.store %h, %z[%at] : memref<100000xbf16>
      %n = arith.addf %a, %v : f32
      scf.yield %n : f32
    }
    memref.store %sum, %s[%r] : memref<200xf32>
  }
  return
}

// What is small, read as well, or written in another order or not always is
// unchanged.
// CHECK-LABEL: func @others
// CHECK-NOT:     memref.alloca
// CHECK-NOT:     llvm.fence
func.func @others(%x: memref<100000xf32>, %small: memref<100xf32>, %back: memref<100000xf32>, %some: memref<100000xf32>, %bits: memref<1000000xi1>, %bit: i1, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i] : memref<100000xf32>
    memref.store %v, %x[%i] : memref<100000xf32>
    memref.store %v, %small[%i] : memref<100xf32>
    %j = arith.muli %i, %c2 : index
    memref.store %v, %back[%j] : memref<100000xf32>
    memref.store %bit, %bits[%i] : memref<1000000xi1>
    scf.if %bit {
      memref.store %v, %some[%i] : memref<100000xf32>
    }
  }
  return
}

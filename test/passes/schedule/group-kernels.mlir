// RUN: ingot-opt %s --ingot-group-kernels --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-group-kernels --split-input-file --remarks-filter=group-kernels --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Tests that an update waits for another one, across the product in between and
// with the memory of its gradient: the peak is where %y is made.
// CHECK-LABEL: func.func @updates
//       CHECK: ingot.matmul
//       CHECK: %[[G1:.*]] = ingot.matmul {{.*}}tag = "g1"
//  CHECK-NEXT: %[[G0:.*]] = ingot.matmul {{.*}}tag = "g0"
//  CHECK-NEXT: %[[N:.*]]:2 = ingot.fusion group(%arg1, %[[G1]], %arg2, %[[G0]])
//  CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<16x16xf32>, %[[DA:.*]]: tensor<16x16xf32>, %[[B:.*]]: tensor<4x16xf32>, %[[DB:.*]]: tensor<4x16xf32>):
//  CHECK-NEXT:   %[[NA:.*]] = ingot.fusion loop(%[[A]], %[[DA]])
//       CHECK:   %[[NB:.*]] = ingot.fusion loop(%[[B]], %[[DB]])
//       CHECK:   ingot.yield %[[NA]], %[[NB]]
//       CHECK: return %{{.*}}, %[[N]]#0, %[[N]]#1
//      REMARK: remark: {{.*}}Passed{{.*}}buffers=6, loops=2
ingot.state parameter @a : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
ingot.state parameter @b : tensor<4x16xf32> = dense<1.0> : tensor<4x16xf32>
func.func @updates(%x: tensor<16x16xf32> {ingot.name = "x", ingot.kind = "data"},
    %a: tensor<16x16xf32> {ingot.state = @a}, %b: tensor<4x16xf32> {ingot.state = @b}, %l: tensor<64x64xf32> {ingot.name = "l", ingot.kind = "data"})
    -> (tensor<f32> {ingot.name = "y"}, tensor<16x16xf32> {ingot.state = @a}, tensor<4x16xf32> {ingot.state = @b}) {
  %large = ingot.matmul %l, %l : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = ingot.fusion reduction(%large) : (tensor<64x64xf32>) -> tensor<f32> {
  ^bb0(%v: tensor<64x64xf32>):
    %0 = ingot.reduce sum %v dims = [0, 1] : (tensor<64x64xf32>) -> tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  %g1 = ingot.matmul %x, %x {tag = "g1"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n1 = ingot.fusion loop(%a, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>, %g: tensor<16x16xf32>):
    %0 = ingot.sub %w, %g : tensor<16x16xf32>
    ingot.yield %0 : tensor<16x16xf32>
  }
  %g0 = ingot.matmul %b, %x {tag = "g0"} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %n0 = ingot.fusion loop(%b, %g0) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%w: tensor<4x16xf32>, %g: tensor<4x16xf32>):
    %0 = ingot.sub %w, %g : tensor<4x16xf32>
    ingot.yield %0 : tensor<4x16xf32>
  }
  return %y, %n1, %n0 : tensor<f32>, tensor<16x16xf32>, tensor<4x16xf32>
}

// -----

// Tests that an update does not wait where its gradient would be in memory at
// the peak.
// CHECK-LABEL: func.func @peak
//   CHECK-NOT: group
//      REMARK: remark: {{.*}}Missed{{.*}}the peak would rise
ingot.state parameter @a : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
ingot.state parameter @b : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
func.func @peak(%x: tensor<16x16xf32> {ingot.name = "x", ingot.kind = "data"},
    %a: tensor<16x16xf32> {ingot.state = @a}, %b: tensor<16x16xf32> {ingot.state = @b})
    -> (tensor<16x16xf32> {ingot.state = @a}, tensor<16x16xf32> {ingot.state = @b}) {
  %g1 = ingot.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n1 = ingot.fusion loop(%a, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>, %g: tensor<16x16xf32>):
    %0 = ingot.sub %w, %g : tensor<16x16xf32>
    ingot.yield %0 : tensor<16x16xf32>
  }
  %g0 = ingot.matmul %b, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n0 = ingot.fusion loop(%b, %g0) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>, %g: tensor<16x16xf32>):
    %0 = ingot.sub %w, %g : tensor<16x16xf32>
    ingot.yield %0 : tensor<16x16xf32>
  }
  return %n1, %n0 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Tests that a loop stays alone whose result comes before the next loop's
// operand.
// CHECK-LABEL: func.func @chain
//   CHECK-NOT: group
//      REMARK: remark: {{.*}}Missed{{.*}}a step before the next loop reads its result
func.func @chain(%x: tensor<16x16xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<16x16xf32> {ingot.name = "y"}) {
  %0 = ingot.fusion loop(%x) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%v: tensor<16x16xf32>):
    %e = ingot.exp %v : tensor<16x16xf32>
    ingot.yield %e : tensor<16x16xf32>
  }
  %1 = ingot.matmul %0, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = ingot.fusion loop(%1) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%v: tensor<16x16xf32>):
    %e = ingot.exp %v : tensor<16x16xf32>
    ingot.yield %e : tensor<16x16xf32>
  }
  return %2 : tensor<16x16xf32>
}

// -----

// Tests that a large loop stays alone.
// CHECK-LABEL: func.func @large
//   CHECK-NOT: group
//      REMARK: remark: {{.*}}Missed{{.*}}its launch is a small fraction of its time
func.func @large(%x: tensor<4096x4096xf32> {ingot.name = "x", ingot.kind = "data"}, %y: tensor<8xf32> {ingot.name = "y", ingot.kind = "data"})
    -> (tensor<4096x4096xf32> {ingot.name = "a"}, tensor<8xf32> {ingot.name = "b"}) {
  %0 = ingot.fusion loop(%x) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  ^bb0(%v: tensor<4096x4096xf32>):
    %e = ingot.exp %v : tensor<4096x4096xf32>
    ingot.yield %e : tensor<4096x4096xf32>
  }
  %1 = ingot.fusion loop(%y) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%v: tensor<8xf32>):
    %e = ingot.exp %v : tensor<8xf32>
    ingot.yield %e : tensor<8xf32>
  }
  return %0, %1 : tensor<4096x4096xf32>, tensor<8xf32>
}

// -----

// Tests that the updates of one bucket do not wait for the next one.
// CHECK-LABEL: func.func @buckets
//       CHECK: ingot.all_reduce_wait
//       CHECK: ingot.fusion loop
//       CHECK: ingot.all_reduce_wait
//       CHECK: ingot.fusion loop
//      REMARK: remark: {{.*}}Missed{{.*}}the loop would wait for the next bucket
ingot.state parameter @a : tensor<16xf32> = dense<1.0> : tensor<16xf32>
ingot.state parameter @b : tensor<16xf32> = dense<1.0> : tensor<16xf32>
func.func @buckets(%x: tensor<16xf32> {ingot.name = "x", ingot.kind = "data"},
    %a: tensor<16xf32> {ingot.state = @a}, %b: tensor<16xf32> {ingot.state = @b})
    -> (tensor<16xf32> {ingot.state = @a}, tensor<16xf32> {ingot.state = @b}) {
  %p = ingot.all_reduce_start %x : (tensor<16xf32>) -> tensor<16xf32>
  %q = ingot.all_reduce_start %x : (tensor<16xf32>) -> tensor<16xf32>
  %g1 = ingot.all_reduce_wait %p : (tensor<16xf32>) -> tensor<16xf32>
  %n1 = ingot.fusion loop(%a, %g1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
    %0 = ingot.sub %w, %g : tensor<16xf32>
    ingot.yield %0 : tensor<16xf32>
  }
  %g0 = ingot.all_reduce_wait %q : (tensor<16xf32>) -> tensor<16xf32>
  %n0 = ingot.fusion loop(%b, %g0) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
    %0 = ingot.sub %w, %g : tensor<16xf32>
    ingot.yield %0 : tensor<16xf32>
  }
  return %n1, %n0 : tensor<16xf32>, tensor<16xf32>
}

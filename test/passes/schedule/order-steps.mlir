// RUN: ingot-opt %s --ingot-order-steps --split-input-file | FileCheck %s

// Tests that the update of a parameter comes as soon as its gradient is there.
// CHECK-LABEL: func.func @updates_follow_gradients
//       CHECK: %[[G1:.*]] = ingot.matmul %{{.*}}, %{{.*}} {tag = "g1"}
//  CHECK-NEXT: ingot.fusion loop(%{{.*}}, %[[G1]])
//       CHECK: %[[G0:.*]] = ingot.matmul %{{.*}}, %{{.*}} {tag = "g0"}
//  CHECK-NEXT: ingot.fusion loop(%{{.*}}, %[[G0]])
ingot.state parameter @a : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
ingot.state parameter @b : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
func.func @updates_follow_gradients(%x: tensor<16x16xf32> {ingot.name = "x", ingot.kind = "data"},
    %a: tensor<16x16xf32> {ingot.state = @a}, %b: tensor<16x16xf32> {ingot.state = @b})
    -> (tensor<16x16xf32> {ingot.state = @a}, tensor<16x16xf32> {ingot.state = @b}) {
  %g1 = ingot.matmul %x, %x {tag = "g1"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %g0 = ingot.matmul %x, %x {tag = "g0"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n0 = ingot.fusion loop(%a, %g0) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>, %g: tensor<16x16xf32>):
    %0 = ingot.sub %w, %g : tensor<16x16xf32>
    ingot.yield %0 : tensor<16x16xf32>
  }
  %n1 = ingot.fusion loop(%b, %g1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>, %g: tensor<16x16xf32>):
    %0 = ingot.sub %w, %g : tensor<16x16xf32>
    ingot.yield %0 : tensor<16x16xf32>
  }
  return %n0, %n1 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Tests that an update stays behind every reader of the old value.
// CHECK-LABEL: func.func @readers_first
//       CHECK: ingot.matmul %arg0, %arg1
//       CHECK: ingot.fusion loop(%arg1, %{{.*}})
ingot.state parameter @a : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32>
func.func @readers_first(%x: tensor<16x16xf32> {ingot.name = "x", ingot.kind = "data"},
    %a: tensor<16x16xf32> {ingot.state = @a})
    -> (tensor<16x16xf32> {ingot.name = "y"}, tensor<16x16xf32> {ingot.state = @a}) {
  %g = ingot.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = ingot.matmul %x, %a : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n = ingot.fusion loop(%a, %g) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>, %d: tensor<16x16xf32>):
    %0 = ingot.sub %w, %d : tensor<16x16xf32>
    ingot.yield %0 : tensor<16x16xf32>
  }
  return %y, %n : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Tests that what needs room waits for its reader, with the view it is read
// through.
// CHECK-LABEL: func.func @late
//       CHECK: %[[FIRST:.*]] = ingot.matmul
//       CHECK: %[[SUM:.*]] = ingot.matmul %[[FIRST]]
//       CHECK: %[[BIG:.*]] = ingot.fusion
//       CHECK: %[[VIEW:.*]] = ingot.reshape %[[BIG]]
//  CHECK-NEXT: ingot.matmul %[[VIEW]], %[[SUM]]
func.func @late(%x: tensor<8x32xf32> {ingot.name = "x", ingot.kind = "data"}, %s: tensor<f32> {ingot.name = "s", ingot.kind = "data"})
    -> (tensor<32x32xf32> {ingot.name = "y"}) {
  %big = ingot.fusion loop(%s) : (tensor<f32>) -> tensor<1024xf32> {
  ^bb0(%v: tensor<f32>):
    %0 = ingot.broadcast %v dims = [] : tensor<f32> -> tensor<1024xf32>
    ingot.yield %0 : tensor<1024xf32>
  }
  %view = ingot.reshape %big : tensor<1024xf32> -> tensor<32x32xf32>
  %1 = ingot.matmul %x transposed, %x : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
  %2 = ingot.matmul %1, %1 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %3 = ingot.matmul %view, %2 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %3 : tensor<32x32xf32>
}

// -----

// Tests that a scalar, which takes next to nothing, does not hold up the
// update that waits for it.
// CHECK-LABEL: func.func @scalar
//       CHECK: ingot.matmul {{.*}} {tag = "g1"}
//       CHECK: ingot.fusion loop(%arg1,
//       CHECK: ingot.matmul {{.*}} {tag = "g0"}
//       CHECK: ingot.fusion loop(%arg2,
ingot.state parameter @a : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
ingot.state parameter @b : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32>
func.func @scalar(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"},
    %a: tensor<64x64xf32> {ingot.state = @a}, %b: tensor<64x64xf32> {ingot.state = @b},
    %s: tensor<f32> {ingot.name = "s", ingot.kind = "data"})
    -> (tensor<64x64xf32> {ingot.state = @a}, tensor<64x64xf32> {ingot.state = @b}) {
  %g1 = ingot.matmul %x, %x {tag = "g1"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g0 = ingot.matmul %x, %x {tag = "g0"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %rate = ingot.fusion loop(%s) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%v: tensor<f32>):
    %0 = ingot.sqrt %v : tensor<f32>
    ingot.yield %0 : tensor<f32>
  }
  %n0 = ingot.fusion loop(%a, %g1, %rate) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> {
  ^bb0(%w: tensor<64x64xf32>, %g: tensor<64x64xf32>, %r: tensor<f32>):
    %0 = ingot.broadcast %r dims = [] : tensor<f32> -> tensor<64x64xf32>
    %1 = ingot.mul %g, %0 : tensor<64x64xf32>
    %2 = ingot.sub %w, %1 : tensor<64x64xf32>
    ingot.yield %2 : tensor<64x64xf32>
  }
  %n1 = ingot.fusion loop(%b, %g0, %rate) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> {
  ^bb0(%w: tensor<64x64xf32>, %g: tensor<64x64xf32>, %r: tensor<f32>):
    %0 = ingot.broadcast %r dims = [] : tensor<f32> -> tensor<64x64xf32>
    %1 = ingot.mul %g, %0 : tensor<64x64xf32>
    %2 = ingot.sub %w, %1 : tensor<64x64xf32>
    ingot.yield %2 : tensor<64x64xf32>
  }
  return %n0, %n1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Tests that what is computed from parameters alone waits for their bucket no
// earlier than what needs it, all of a bucket together; the update stays behind
// all readers.
// CHECK-LABEL: func.func @waits_late
//       CHECK: %[[W0:.*]] = ingot.state_gather_wait 0 %arg1 at [0] of 256
//       CHECK: %[[C0:.*]] = ingot.fusion loop(%[[W0]])
//       CHECK: %[[P:.*]] = ingot.matmul %arg0, %[[C0]]
//       CHECK: %[[W1:.*]]:2 = ingot.state_gather_wait 1 %arg2, %arg3
//       CHECK: %[[C1:.*]] = ingot.fusion loop(%[[W1]]#0)
//       CHECK: %[[C2:.*]] = ingot.fusion loop(%[[W1]]#1)
//       CHECK: %[[Q:.*]] = ingot.matmul %[[P]], %[[C1]]
//       CHECK: ingot.matmul %[[Q]], %[[C2]]
//       CHECK: return
ingot.state parameter @w0 : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 256>}
ingot.state parameter @w1 : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32> {gathered = #ingot.gathered<bucket = 1, first = 0, of = 512>}
ingot.state parameter @w2 : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32> {gathered = #ingot.gathered<bucket = 1, first = 256, of = 512>}
ingot.state parameter @wide : tensor<16x512xbf16> = dense<1.0> : tensor<16x512xbf16>
func.func @waits_late(%x: tensor<16x16xbf16> {ingot.name = "x", ingot.kind = "data"}, %w0: tensor<16x16xf32> {ingot.state = @w0},
    %w1: tensor<16x16xf32> {ingot.state = @w1}, %w2: tensor<16x16xf32> {ingot.state = @w2},
    %wide: tensor<16x512xbf16> {ingot.state = @wide}) -> (tensor<16x512xbf16> {ingot.name = "y"}) {
  %0 = ingot.state_gather_wait 0 %w0 at [0] of 256 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1:2 = ingot.state_gather_wait 1 %w1, %w2 at [0, 256] of 512 : (tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>)
  %c1 = ingot.fusion loop(%1#0) : (tensor<16x16xf32>) -> tensor<16x16xbf16> {
  ^bb0(%w: tensor<16x16xf32>):
    %c = ingot.cast %w : tensor<16x16xf32> -> tensor<16x16xbf16>
    ingot.yield %c : tensor<16x16xbf16>
  }
  %c0 = ingot.fusion loop(%0) : (tensor<16x16xf32>) -> tensor<16x16xbf16> {
  ^bb0(%w: tensor<16x16xf32>):
    %c = ingot.cast %w : tensor<16x16xf32> -> tensor<16x16xbf16>
    ingot.yield %c : tensor<16x16xbf16>
  }
  %c2 = ingot.fusion loop(%1#1) : (tensor<16x16xf32>) -> tensor<16x16xbf16> {
  ^bb0(%w: tensor<16x16xf32>):
    %c = ingot.cast %w : tensor<16x16xf32> -> tensor<16x16xbf16>
    ingot.yield %c : tensor<16x16xbf16>
  }
  %p = ingot.matmul %x, %c0 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %q = ingot.matmul %p, %c1 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %r = ingot.matmul %q, %c2 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %y = ingot.matmul %r, %wide : (tensor<16x16xbf16>, tensor<16x512xbf16>) -> tensor<16x512xbf16>
  return %y : tensor<16x512xbf16>
}

// -----

// Tests that what waits for several buckets comes after what waits for one, and
// that what goes into a state keeps its place.
// CHECK-LABEL: func.func @waits_for_both
//       CHECK: ingot.fusion loop(%arg3)
//       CHECK: %[[P:.*]] = ingot.matmul %arg0, %arg0
//       CHECK: %[[W0:.*]] = ingot.state_gather_wait 0
//       CHECK: %[[C0:.*]] = ingot.fusion loop(%[[W0]])
//       CHECK: ingot.state_gather_wait 1
//       CHECK: %[[BOTH:.*]] = ingot.fusion loop(%[[C0]], %{{.*}})
//       CHECK: ingot.matmul %[[P]], %[[BOTH]]
ingot.state parameter @w0 : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 256>}
ingot.state parameter @w1 : tensor<16x16xf32> = dense<1.0> : tensor<16x16xf32> {gathered = #ingot.gathered<bucket = 1, first = 0, of = 256>}
ingot.state step @step : tensor<i64> = dense<0> : tensor<i64>
func.func @waits_for_both(%x: tensor<16x16xf32> {ingot.name = "x", ingot.kind = "data"}, %w0: tensor<16x16xf32> {ingot.state = @w0},
    %w1: tensor<16x16xf32> {ingot.state = @w1}, %step: tensor<i64> {ingot.state = @step})
    -> (tensor<16x16xf32> {ingot.name = "y"}, tensor<i64> {ingot.state = @step}) {
  %next = ingot.fusion loop(%step) : (tensor<i64>) -> tensor<i64> {
  ^bb0(%s: tensor<i64>):
    %n = ingot.add %s, %s : tensor<i64>
    ingot.yield %n : tensor<i64>
  }
  %0 = ingot.state_gather_wait 0 %w0 at [0] of 256 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = ingot.state_gather_wait 1 %w1 at [0] of 256 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %c0 = ingot.fusion loop(%0) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%w: tensor<16x16xf32>):
    %c = ingot.neg %w : tensor<16x16xf32>
    ingot.yield %c : tensor<16x16xf32>
  }
  %both = ingot.fusion loop(%c0, %1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%v: tensor<16x16xf32>, %w: tensor<16x16xf32>):
    %c = ingot.add %v, %w : tensor<16x16xf32>
    ingot.yield %c : tensor<16x16xf32>
  }
  %p = ingot.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %y = ingot.matmul %p, %both : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y, %next : tensor<16x16xf32>, tensor<i64>
}

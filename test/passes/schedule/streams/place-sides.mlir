// RUN: ingot-opt %s --ingot-place-steps --ingot-verify-placed --split-input-file --verify-diagnostics | FileCheck %s

// Tests that a region is between calls, that it is waited for before its first
// reader, and that memory that it reads is not used again until then: without
// the region, %b would take that of %a.
// CHECK-LABEL: exec.step @forward
//       CHECK: exec.call @ingot_matmul(a = %{{.*}}, b = %{{.*}}, c = %[[C:.*]], scratch
//       CHECK: exec.call @ingot_side_start() <>
//  CHECK-NEXT: exec.buffer{{ +}}arena [[#A:]] : memref<64x64xf32>
//       CHECK: exec.call @ingot_matmul(
//       CHECK: exec.call @ingot_side_end() <>
//   CHECK-NOT: arena [[#A]] : memref<64x64xf32>
//       CHECK: exec.call @ingot_matmul(
//   CHECK-NOT: arena [[#A]] : memref<64x64xf32>
//       CHECK: exec.call @ingot_matmul(
//       CHECK: exec.call @ingot_side_wait() <>
//       CHECK: exec.call @ingot_matmul(
//   CHECK-NOT: ingot_side
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @forward(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<64x64xf32> {ingot.name = "y"}) {
    %a = ingot.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = ingot.matmul %a, %a {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = ingot.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = ingot.matmul %b, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y = ingot.matmul %c, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
}

// -----

// Tests that a region is waited for before the second one after it, and the
// last one at the end.
// CHECK-LABEL: exec.step @forward
//       CHECK: @ingot_side_start() <>
//       CHECK: @ingot_side_end() <>
//       CHECK: @ingot_side_start() <number = 1>
//       CHECK: @ingot_side_end() <number = 1>
//       CHECK: @ingot_side_wait() <>
//       CHECK: @ingot_side_start() <number = 2>
//       CHECK: @ingot_side_end() <number = 2>
//       CHECK: @ingot_side_wait() <number = 2>
//  CHECK-NEXT: }
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @forward(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"})
      -> (tensor<64x64xf32> {ingot.name = "y"}, tensor<64x64xf32> {ingot.name = "0"}, tensor<64x64xf32> {ingot.name = "1"}, tensor<64x64xf32> {ingot.name = "2"}) {
    %0 = ingot.matmul %x, %x {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %a = ingot.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = ingot.matmul %a, %x {ingot.side = 1 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = ingot.matmul %a, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = ingot.matmul %b, %x {ingot.side = 2 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y = ingot.matmul %b, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y, %0, %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// The parts of a region follow each other.
func.func @forward(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<64x64xf32> {ingot.name = "y"}) {
  %a = ingot.matmul %x, %x {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = ingot.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-error @below {{is in region 0, which does not follow the regions before it}}
  %c = ingot.matmul %x, %a {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = ingot.matmul %b, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// Tests that a loop does not write over what a region beside it reads, though
// no operation reads it later.
// CHECK-LABEL: exec.step @forward
//       CHECK: exec.call @ingot_side_end() <>
//       CHECK: %[[FROM:.*]] = exec.buffer{{ +}}arena [[#AT:]] : memref<64x64xf32>
//   CHECK-NOT: arena [[#AT]] : memref<64x64xf32>
//       CHECK: exec.launch @kernel_0(%[[FROM]])
//       CHECK: exec.call @ingot_side_wait() <>
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @forward(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"}) -> (tensor<64x64xf32> {ingot.name = "y"}) {
    %a = ingot.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = ingot.matmul %a, %a {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = ingot.fusion loop(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%v: tensor<64x64xf32>):
      %0 = ingot.exp %v : tensor<64x64xf32>
      ingot.yield %0 : tensor<64x64xf32>
    }
    %y = ingot.matmul %b, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
}

// -----

// Tests that the wait for a bucket of states is a call of its own, behind the
// region in front of it.
// CHECK-LABEL: exec.step @forward
//       CHECK: @ingot_side_start() <>
//       CHECK: @ingot_all_reduce(
//       CHECK: @ingot_side_end() <>
//   CHECK-NOT: @
//       CHECK: @ingot_all_gather_wait
//       CHECK: @ingot_side_wait() <>
module attributes {ingot.mesh = {tensor = 2}, ingot.target = #ingot.target<"cpu">} {
  ingot.state parameter @w : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 4096>}
  func.func @forward(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"}, %w: tensor<64x64xf32> {ingot.state = @w})
      -> (tensor<64x64xf32> {ingot.name = "y"}) {
    %a = ingot.matmul %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = ingot.all_reduce sum %a over [tensor] {ingot.side = 0 : i64} : tensor<64x64xf32>
    %old = ingot.state_gather_wait 0 %w at [0] of 4096 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = ingot.matmul %x, %old : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y = ingot.matmul %b, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
}

// -----

// A region does not go over it.
module attributes {ingot.target = #ingot.target<"cuda">} {
  ingot.state parameter @w : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 4096>}
  func.func @forward(%x: tensor<64x64xf32> {ingot.name = "x", ingot.kind = "data"}, %w: tensor<64x64xf32> {ingot.state = @w})
      -> (tensor<64x64xf32> {ingot.name = "y"}) {
    %a = ingot.matmul %x, %x {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %old = ingot.state_gather_wait 0 %w at [0] of 4096 : (tensor<64x64xf32>) -> tensor<64x64xf32>
    // expected-error @below {{is in region 0, which does not follow the regions before it}}
    %b = ingot.matmul %a, %old {ingot.side = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %b : tensor<64x64xf32>
  }
}

// RUN: ingot-opt %s --ingot-attach-target=target=cpu --ingot-outline-loops | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cpu --ingot-outline-loops --ingot-simplify | ingot-opt | FileCheck %s --check-prefix=AGAIN

// CHECK-LABEL: func.func @aligned
// CHECK: %[[R:.*]]:2 = ingot.repeat @loop_0 16 reverse carries(%{{.*}}) slices(%{{.*}}) captures(%{{.*}}) :
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @aligned(%a: tensor<16xf32>, %x: tensor<16x16xf32>, %w: tensor<3xf32>) -> (tensor<16xf32>, tensor<16x16xf32>) {
  %0:2 = ingot.loop 16 reverse carries(%a) slices(%x) captures(%w)
      : (tensor<16xf32>, tensor<16x16xf32>, tensor<3xf32>) -> (tensor<16xf32>, tensor<16x16xf32>) {
  ^body(%p: tensor<16xf32>, %s: tensor<16xf32>, %v: tensor<3xf32>):
    %sum = ingot.add %p, %s : tensor<16xf32>
    ingot.yield %sum, %p : tensor<16xf32>, tensor<16xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<16x16xf32>
}

// Slices of 12 bytes are padded to 64.
// CHECK-LABEL: func.func @padded
// CHECK: %[[P:.*]] = ingot.pad %{{.*}} low = [0, 0] high = [0, 13]
// CHECK: %[[R:.*]] = ingot.repeat @loop_1 2 slices(%[[P]]) : (tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK: %[[S:.*]] = ingot.slice %[[R]]
// CHECK: ingot.reshape %[[S]]
func.func @padded(%x: tensor<2x3x1xf32>) -> tensor<2x3x1xf32> {
  %0 = ingot.loop 2 slices(%x) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32> {
  ^body(%s: tensor<3x1xf32>):
    %n = ingot.neg %s : tensor<3x1xf32>
    ingot.yield %n : tensor<3x1xf32>
  }
  return %0 : tensor<2x3x1xf32>
}

// CHECK-LABEL: func.func private @loop_0(
// CHECK-SAME: tensor<16xf32> {ingot.slot = @carried0}, %{{.*}}: tensor<16xf32> {ingot.slot = @slice0}, %{{.*}}: tensor<3xf32> {ingot.slot = @capture0})
// CHECK-SAME: -> (tensor<16xf32> {ingot.slot = @carried0}, tensor<16xf32> {ingot.slot = @output0})

// CHECK-LABEL: func.func private @loop_1(
// CHECK-SAME: %[[A:.*]]: tensor<16xf32> {ingot.slot = @slice0})
// CHECK: %[[S:.*]] = ingot.slice %[[A]]
// CHECK: %[[T:.*]] = ingot.reshape %[[S]]
// CHECK: %[[N:.*]] = ingot.neg %[[T]] : tensor<3x1xf32>
// CHECK: ingot.pad
// AGAIN: func.func private @loop_1(

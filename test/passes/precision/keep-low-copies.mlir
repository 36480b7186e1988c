// RUN: ingot-opt %s --ingot-keep-low-copies --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-keep-low-copies --split-input-file --remarks-filter=keep-low-copies --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS
// RUN: ingot-opt %s --ingot-keep-low-copies=shards --split-input-file | FileCheck %s --check-prefix=SHARDS

// Where ranks will have shards, masters are whole.
// SHARDS: ingot.state parameter @w : tensor<2x2xf32>
// SHARDS-NOT: halves
// SHARDS: ingot.state low_copy @"w/bf16" of @w : tensor<2x2xbf16>
// SHARDS-LABEL: func.func @train_step
// SHARDS: %[[NEW:.*]] = ingot.neg
// SHARDS: %[[COPY:.*]] = ingot.cast %[[NEW]] : tensor<2x2xf32> -> tensor<2x2xbf16>
// SHARDS: return %{{.*}}, %[[NEW]], %[[COPY]]


// The copy follows its weight; every function reads it, the step writes it,
// and what it lacks of the weight, which is nowhere else.
// REMARKS: remark{{.*}}ComputeCopy{{.*}}weight=w
// REMARKS: remark{{.*}}SplitMaster{{.*}}weight=w
// CHECK: ingot.state parameter @w {{.*}} {halves = [@"w/bf16", @"w/lower"]}
// CHECK: ingot.state low_copy @"w/bf16" of @w : tensor<2x2xbf16>
// CHECK: ingot.state lower_half @"w/lower" of @w : tensor<2x2xi16>
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[COPY:[a-z0-9]+]]: tensor<2x2xbf16> {ingot.state = @"w/bf16"}
// CHECK-SAME: %[[LOWER:[a-z0-9]+]]: tensor<2x2xi16> {ingot.state = @"w/lower"}
// CHECK-SAME: -> (tensor<2x2xbf16> {ingot.name = "y"}, tensor<2x2xbf16> {ingot.state = @"w/bf16"}, tensor<2x2xi16> {ingot.state = @"w/lower"})
// CHECK: %[[OLD:.*]] = ingot.join_halves %[[COPY]], %[[LOWER]]
// CHECK: ingot.matmul %{{.*}}, %[[COPY]]
// CHECK: %[[NEW:.*]] = ingot.neg %[[OLD]]
// CHECK: %[[NEWCOPY:.*]] = ingot.upper_half %[[NEW]]
// CHECK: %[[NEWLOWER:.*]] = ingot.lower_half %[[NEW]]
// CHECK: return %{{.*}}, %[[NEWCOPY]], %[[NEWLOWER]]
// CHECK-LABEL: func.func @predict
// CHECK-NOT: @w}
// CHECK-NOT: ingot.cast
// CHECK: return
ingot.state parameter @w : tensor<2x2xf32> = dense<1.0> : tensor<2x2xf32>
func.func @train_step(%x: tensor<2x2xbf16> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<2x2xf32> {ingot.state = @w})
    -> (tensor<2x2xbf16> {ingot.name = "y"}, tensor<2x2xf32> {ingot.state = @w}) {
  %0 = ingot.cast %w : tensor<2x2xf32> -> tensor<2x2xbf16>
  %1 = ingot.matmul %x, %0 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %2 = ingot.neg %w : tensor<2x2xf32>
  return %1, %2 : tensor<2x2xbf16>, tensor<2x2xf32>
}
func.func @predict(%x: tensor<2x2xbf16> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<2x2xf32> {ingot.state = @w})
    -> (tensor<2x2xbf16> {ingot.name = "y"}) {
  %0 = ingot.cast %w : tensor<2x2xf32> -> tensor<2x2xbf16>
  %1 = ingot.matmul %x, %0 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return %1 : tensor<2x2xbf16>
}

// -----

// Tests that a weight that ranks collect has no copy, which the step would have to wait for.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x2xf32> {ingot.state = @w}
// CHECK: ingot.cast %[[W]]
// CHECK: %[[WHOLE:.*]] = ingot.all_gather_wait
// CHECK: return %{{.*}}, %[[WHOLE]] :
// REMARKS: remark: {{.*}}Missed{{.*}}its all-gather overlaps with the next forward pass, which rounds it
ingot.state parameter @w : tensor<2x2xf32> = dense<1.0> : tensor<2x2xf32>
func.func @train_step(%x: tensor<2x2xbf16> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<2x2xf32> {ingot.state = @w})
    -> (tensor<2x2xbf16> {ingot.name = "y"}, tensor<2x2xf32> {ingot.state = @w}) {
  %0 = ingot.cast %w : tensor<2x2xf32> -> tensor<2x2xbf16>
  %1 = ingot.matmul %x, %0 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %2 = ingot.neg %w : tensor<2x2xf32>
  %start = ingot.all_gather_start %2 : (tensor<2x2xf32>) -> tensor<4xf32>
  %3 = ingot.all_gather_wait %start : (tensor<4xf32>) -> tensor<2x2xf32>
  return %1, %3 : tensor<2x2xbf16>, tensor<2x2xf32>
}

// -----

// A copy in fp16 is no half: the master stays.
// REMARKS: remark{{.*}}SplitMaster{{.*}}only bf16 is the upper half of fp32
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: {ingot.state = @w}
// CHECK: %[[NEW:.*]] = ingot.neg
// CHECK: %[[NEWCOPY:.*]] = ingot.cast %[[NEW]] : tensor<2x2xf32> -> tensor<2x2xf16>
// CHECK: return %{{.*}}, %[[NEW]], %[[NEWCOPY]]
ingot.state parameter @w : tensor<2x2xf32> = dense<1.0> : tensor<2x2xf32>
func.func @train_step(%x: tensor<2x2xf16> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<2x2xf32> {ingot.state = @w})
    -> (tensor<2x2xf16> {ingot.name = "y"}, tensor<2x2xf32> {ingot.state = @w}) {
  %0 = ingot.cast %w : tensor<2x2xf32> -> tensor<2x2xf16>
  %1 = ingot.matmul %x, %0 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  %2 = ingot.neg %w : tensor<2x2xf32>
  return %1, %2 : tensor<2x2xf16>, tensor<2x2xf32>
}

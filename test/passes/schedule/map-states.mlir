// RUN: ingot-opt %s --ingot-map-states=least-bytes=16 --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-map-states=least-bytes=16 --split-input-file --remarks-filter=map-states --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS
// RUN: ingot-opt %s --ingot-form-fusions --ingot-map-states=least-bytes=16 --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=PLACED

// Tests that frozen states stay in the file of weights: those that functions
// read are mapped, also the 16-bit copy of one that nobody reads, which has no
// memory. Small states, splats, and what a step changes are in the block. The
// mapped ones are behind it, in their order.
// REMARKS: remark{{.*}}FrozenState{{.*}}bytes=32, home=mapped, state=w
// REMARKS: remark{{.*}}FrozenState{{.*}}bytes=32, home=file, state=v
// REMARKS: remark{{.*}}FrozenState{{.*}}bytes=16, home=mapped, state=v/bf16
// CHECK: ingot.state frozen @w {{.*}}{exec.home = "mapped"}
// CHECK: ingot.state frozen @v {{.*}}{exec.home = "file"}
// CHECK: ingot.state low_copy @"v/bf16" {{.*}}{exec.home = "mapped"}
// CHECK: ingot.state frozen @small
// CHECK-NOT: exec.home
// CHECK: ingot.state frozen @splat
// CHECK-NOT: exec.home
// CHECK: ingot.state parameter @trained
// CHECK-NOT: exec.home
// PLACED: module attributes {exec.mapped_bytes = 128 : i64, exec.state_bytes = 192 : i64, exec.weights_file}
// PLACED: ingot.state frozen @w {{.*}}exec.offset = 65536
// PLACED: ingot.state frozen @v {{.*}}{exec.home = "file"}
// PLACED: ingot.state low_copy @"v/bf16" {{.*}}exec.offset = 65600
// PLACED: ingot.state parameter @trained {{.*}}exec.offset = 128
// PLACED: exec.buffer state 65536 : memref<8xf32>
module attributes {exec.weights_file} {
  ingot.state frozen @w : tensor<8xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  ingot.state frozen @v : tensor<8xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  ingot.state low_copy @"v/bf16" of @v : tensor<8xbf16> = dense<0.0> : tensor<8xbf16>
  ingot.state frozen @small : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
  ingot.state frozen @splat : tensor<8xf32> = dense<1.0> : tensor<8xf32>
  ingot.state parameter @trained : tensor<8xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  func.func @train_step(%w: tensor<8xf32> {ingot.state = @w},
                        %v: tensor<8xbf16> {ingot.state = @"v/bf16"},
                        %small: tensor<2xf32> {ingot.state = @small},
                        %splat: tensor<8xf32> {ingot.state = @splat},
                        %trained: tensor<8xf32> {ingot.state = @trained})
      -> (tensor<8xf32> {ingot.state = @trained}, tensor<8xf32> {ingot.name = "y"}) {
    %c = ingot.cast %v : tensor<8xbf16> -> tensor<8xf32>
    %s = ingot.add %w, %c : tensor<8xf32>
    %new = ingot.sub %trained, %s : tensor<8xf32>
    %y = ingot.add %w, %splat : tensor<8xf32>
    return %new, %y : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Tests that what is in the trainer has memory in the block, as before.
// REMARKS: remark{{.*}}FrozenState{{.*}}the weights are in the trainer, not in a file beside it
// CHECK: ingot.state frozen @w
// CHECK-NOT: exec.home
module {
  ingot.state frozen @w : tensor<8xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  func.func @predict(%w: tensor<8xf32> {ingot.state = @w}) -> (tensor<8xf32> {ingot.name = "y"}) {
    %0 = ingot.neg %w : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Tests that a device, which has a copy of the states, maps none.
// REMARKS: remark{{.*}}FrozenState{{.*}}the device has memory of its own
// CHECK: ingot.state frozen @w
// CHECK-NOT: exec.home
module attributes {exec.weights_file, ingot.target = #ingot.target<"cuda">} {
  ingot.state frozen @w : tensor<8xf32> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  func.func @predict(%w: tensor<8xf32> {ingot.state = @w}) -> (tensor<8xf32> {ingot.name = "y"}) {
    %0 = ingot.neg %w : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

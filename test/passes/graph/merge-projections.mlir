// RUN: ingot-opt %s --split-input-file --ingot-merge-projections | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-merge-projections --remarks-filter=merge-projections --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --split-input-file --ingot-attach-target=target=cuda --ingot-merge-projections=precision=bf16 | FileCheck %s --check-prefix=DEVICE
// RUN: ingot-opt %s --split-input-file --ingot-attach-target=target=cuda --ingot-merge-projections=precision=bf16 --remarks-filter=merge-projections --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=DEVICE-REMARK

// Queries, keys and values of one input, two heads to a key head, in no order.
ingot.state parameter @wq : tensor<64x32xf32> = dense<0.0> : tensor<64x32xf32>
ingot.state parameter @wk : tensor<32x32xf32> = dense<0.0> : tensor<32x32xf32>
ingot.state parameter @wv : tensor<32x32xf32> = dense<0.0> : tensor<32x32xf32>
ingot.state parameter @bq : tensor<64xf32> = dense<0.0> : tensor<64xf32>
ingot.state parameter @bk : tensor<32xf32> = dense<0.0> : tensor<32xf32>
ingot.state parameter @bv : tensor<32xf32> = dense<0.0> : tensor<32xf32>
// DEVICE-LABEL: func @forward
// DEVICE:       ingot.packed_attention {{.*}} {key_heads = 2 : i64, right = 0 : i64
// DEVICE-REMARK: remark: [Passed] Projections
// DEVICE-REMARK: remark: [Passed] PackedAttention
// CHECK-LABEL: func @forward
// CHECK-SAME:    %[[X:arg[0-9]+]]: {{[^)]*}} %[[WQ:arg[0-9]+]]: tensor<64x32xf32>{{.*}} %[[WK:arg[0-9]+]]: tensor<32x32xf32>{{.*}} %[[WV:arg[0-9]+]]: tensor<32x32xf32>{{.*}} %[[BQ:arg[0-9]+]]: tensor<64xf32>{{.*}} %[[BK:arg[0-9]+]]: tensor<32xf32>{{.*}} %[[BV:arg[0-9]+]]: tensor<32xf32>
func.func @forward(%x: tensor<512x32xf32> {ingot.kind = "data", ingot.name = "x"},
                   %wq: tensor<64x32xf32> {ingot.state = @wq}, %wk: tensor<32x32xf32> {ingot.state = @wk},
                   %wv: tensor<32x32xf32> {ingot.state = @wv}, %bq: tensor<64xf32> {ingot.state = @bq},
                   %bk: tensor<32xf32> {ingot.state = @bk}, %bv: tensor<32xf32> {ingot.state = @bv})
    -> (tensor<2x256x4x16xf32> {ingot.name = "y"}) {
  // CHECK:      %[[W:.*]] = ingot.concat %[[WQ]], %[[WK]], %[[WV]] dim = 0
  // CHECK-NEXT: %[[Y:.*]] = ingot.matmul %[[X]], %[[W]] transposed : (tensor<512x32xf32>, tensor<128x32xf32>) -> tensor<512x128xf32>
  // CHECK-NEXT: %[[Y3:.*]] = ingot.reshape %[[Y]] : tensor<512x128xf32> -> tensor<2x256x128xf32>
  // CHECK-NEXT: %[[B:.*]] = ingot.concat %[[BQ]], %[[BK]], %[[BV]] dim = 0
  // CHECK-NEXT: %[[B3:.*]] = ingot.broadcast %[[B]] dims = [2]
  // CHECK-NEXT: %[[SUM:.*]] = ingot.add %[[Y3]], %[[B3]]
  // CHECK-NEXT: %[[HEADS:.*]] = ingot.reshape %[[SUM]] : tensor<2x256x128xf32> -> tensor<2x256x8x16xf32>
  // CHECK-NEXT: %[[R:.*]], %{{.*}} = ingot.packed_attention %[[HEADS]] {key_heads = 2 : i64, right = 0 : i64, scale = 2.500000e-01 : f64}
  // CHECK-NEXT: return %[[R]]
  // REMARK: remark: [Passed] Projections | {{.*}} cost_seconds={{.*}}, saved_seconds=
  // REMARK: remark: [Passed] PackedAttention | {{.*}} bytes_saved=1048576
  %v = ingot.matmul %x, %wv transposed : (tensor<512x32xf32>, tensor<32x32xf32>) -> tensor<512x32xf32>
  %k = ingot.matmul %x, %wk transposed : (tensor<512x32xf32>, tensor<32x32xf32>) -> tensor<512x32xf32>
  %q = ingot.matmul %x, %wq transposed : (tensor<512x32xf32>, tensor<64x32xf32>) -> tensor<512x64xf32>
  %q3 = ingot.reshape %q : tensor<512x64xf32> -> tensor<2x256x64xf32>
  %k3 = ingot.reshape %k : tensor<512x32xf32> -> tensor<2x256x32xf32>
  %v3 = ingot.reshape %v : tensor<512x32xf32> -> tensor<2x256x32xf32>
  %bq3 = ingot.broadcast %bq dims = [2] : tensor<64xf32> -> tensor<2x256x64xf32>
  %bk3 = ingot.broadcast %bk dims = [2] : tensor<32xf32> -> tensor<2x256x32xf32>
  %bv3 = ingot.broadcast %bv dims = [2] : tensor<32xf32> -> tensor<2x256x32xf32>
  %qb = ingot.add %q3, %bq3 : tensor<2x256x64xf32>
  %kb = ingot.add %bk3, %k3 : tensor<2x256x32xf32>
  %vb = ingot.add %v3, %bv3 : tensor<2x256x32xf32>
  %qh = ingot.reshape %qb : tensor<2x256x64xf32> -> tensor<2x256x4x16xf32>
  %kh = ingot.reshape %kb : tensor<2x256x32xf32> -> tensor<2x256x2x16xf32>
  %vh = ingot.reshape %vb : tensor<2x256x32xf32> -> tensor<2x256x2x16xf32>
  %r:2 = ingot.attention %qh, %kh, %vh {right = 0 : i64, scale = 0.25 : f64} : (tensor<2x256x4x16xf32>, tensor<2x256x2x16xf32>, tensor<2x256x2x16xf32>) -> (tensor<2x256x4x16xf32>, tensor<2x4x256xf32>)
  return %r#0 : tensor<2x256x4x16xf32>
}

// -----

// Parts of one tensor, cut along any dimension; a mask goes along, but not on
// a device.
// DEVICE-LABEL: func @parts
// DEVICE:       ingot.attention {{.*}} mask
// DEVICE-REMARK: remark: [Missed] PackedAttention | {{.*}} Reason="the library does not support masks"
// CHECK-LABEL: func @parts
// CHECK-SAME:    %[[X:arg[0-9]+]]: tensor<2x32x3x2x16xf32>, %[[MASK:arg[0-9]+]]:
// CHECK-NEXT:  %[[HEADS:.*]] = ingot.reshape %[[X]] : tensor<2x32x3x2x16xf32> -> tensor<2x32x6x16xf32>
// CHECK-NEXT:  ingot.packed_attention %[[HEADS]] mask %[[MASK]] {key_heads = 2 : i64, scale = 1.000000e+00 : f64}
func.func @parts(%x: tensor<2x32x3x2x16xf32>, %mask: tensor<2x1x1x32xi1>) -> tensor<2x32x2x16xf32> {
  %0 = ingot.slice %x starts = [0, 0, 0, 0, 0] limits = [2, 32, 1, 2, 16] strides = [1, 1, 1, 1, 1] : (tensor<2x32x3x2x16xf32>) -> tensor<2x32x1x2x16xf32>
  %1 = ingot.slice %x starts = [0, 0, 1, 0, 0] limits = [2, 32, 2, 2, 16] strides = [1, 1, 1, 1, 1] : (tensor<2x32x3x2x16xf32>) -> tensor<2x32x1x2x16xf32>
  %2 = ingot.slice %x starts = [0, 0, 2, 0, 0] limits = [2, 32, 3, 2, 16] strides = [1, 1, 1, 1, 1] : (tensor<2x32x3x2x16xf32>) -> tensor<2x32x1x2x16xf32>
  %q = ingot.reshape %0 : tensor<2x32x1x2x16xf32> -> tensor<2x32x2x16xf32>
  %k = ingot.reshape %1 : tensor<2x32x1x2x16xf32> -> tensor<2x32x2x16xf32>
  %v = ingot.reshape %2 : tensor<2x32x1x2x16xf32> -> tensor<2x32x2x16xf32>
  %r:2 = ingot.attention %q, %k, %v mask %mask {scale = 1.0 : f64} : (tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x1x1x32xi1>) -> (tensor<2x32x2x16xf32>, tensor<2x2x32xf32>)
  return %r#0 : tensor<2x32x2x16xf32>
}

// -----

// CHECK-LABEL: func @keys_first
// CHECK:       ingot.attention
// REMARK: remark: [Missed] PackedAttention | {{.*}} Reason="rows do not consist of all queries, then keys, then values"
func.func @keys_first(%x: tensor<2x32x96xf32>) -> tensor<2x32x2x16xf32> {
  %0 = ingot.slice %x starts = [0, 0, 32] limits = [2, 32, 64] strides = [1, 1, 1] : (tensor<2x32x96xf32>) -> tensor<2x32x32xf32>
  %1 = ingot.slice %x starts = [0, 0, 0] limits = [2, 32, 32] strides = [1, 1, 1] : (tensor<2x32x96xf32>) -> tensor<2x32x32xf32>
  %2 = ingot.slice %x starts = [0, 0, 64] limits = [2, 32, 96] strides = [1, 1, 1] : (tensor<2x32x96xf32>) -> tensor<2x32x32xf32>
  %q = ingot.reshape %0 : tensor<2x32x32xf32> -> tensor<2x32x2x16xf32>
  %k = ingot.reshape %1 : tensor<2x32x32xf32> -> tensor<2x32x2x16xf32>
  %v = ingot.reshape %2 : tensor<2x32x32xf32> -> tensor<2x32x2x16xf32>
  %r:2 = ingot.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32>) -> (tensor<2x32x2x16xf32>, tensor<2x2x32xf32>)
  return %r#0 : tensor<2x32x2x16xf32>
}

// -----

// CHECK-LABEL: func @unaligned
// CHECK:       ingot.attention
// REMARK: remark: [Missed] PackedAttention | {{.*}} Reason="keys or values would not begin at an aligned address"
func.func @unaligned(%x: tensor<2x32x24xf32>) -> tensor<2x32x2x4xf32> {
  %0 = ingot.slice %x starts = [0, 0, 0] limits = [2, 32, 8] strides = [1, 1, 1] : (tensor<2x32x24xf32>) -> tensor<2x32x8xf32>
  %1 = ingot.slice %x starts = [0, 0, 8] limits = [2, 32, 16] strides = [1, 1, 1] : (tensor<2x32x24xf32>) -> tensor<2x32x8xf32>
  %2 = ingot.slice %x starts = [0, 0, 16] limits = [2, 32, 24] strides = [1, 1, 1] : (tensor<2x32x24xf32>) -> tensor<2x32x8xf32>
  %q = ingot.reshape %0 : tensor<2x32x8xf32> -> tensor<2x32x2x4xf32>
  %k = ingot.reshape %1 : tensor<2x32x8xf32> -> tensor<2x32x2x4xf32>
  %v = ingot.reshape %2 : tensor<2x32x8xf32> -> tensor<2x32x2x4xf32>
  %r:2 = ingot.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<2x32x2x4xf32>, tensor<2x32x2x4xf32>, tensor<2x32x2x4xf32>) -> (tensor<2x32x2x4xf32>, tensor<2x2x32xf32>)
  return %r#0 : tensor<2x32x2x4xf32>
}

// -----

// Layers that loops read: parts of the result would be written again.
ingot.state parameter @gate : tensor<512x512xf32> = dense<0.0> : tensor<512x512xf32>
ingot.state parameter @up : tensor<512x512xf32> = dense<0.0> : tensor<512x512xf32>
// CHECK-LABEL: func @forward
// CHECK-NOT:   ingot.concat
// REMARK: remark: [Missed] Projections | {{.*}} Reason="the parts would be copied"
func.func @forward(%x: tensor<4096x512xf32> {ingot.kind = "data", ingot.name = "x"},
                   %gate: tensor<512x512xf32> {ingot.state = @gate}, %up: tensor<512x512xf32> {ingot.state = @up})
    -> (tensor<4096x512xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %gate : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
  %1 = ingot.matmul %x, %up : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
  %2 = ingot.tanh %0 : tensor<4096x512xf32>
  %3 = ingot.mul %2, %1 : tensor<4096x512xf32>
  return %3 : tensor<4096x512xf32>
}

// -----

// Small ones: calls cost more than copies. Columns of weights are put together.
ingot.state parameter @gate : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
ingot.state parameter @up : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
ingot.state parameter @down : tensor<16x8xf32> = dense<0.0> : tensor<16x8xf32>
// CHECK-LABEL: func @forward
// CHECK:       ingot.concat %arg1, %arg2, %arg3 dim = 1
// CHECK-NEXT:  %[[Y:.*]] = ingot.matmul %arg0, %{{.*}} : (tensor<4x16xf32>, tensor<16x40xf32>) -> tensor<4x40xf32>
// CHECK-NEXT:  %[[A:.*]] = ingot.slice %[[Y]] starts = [0, 0] limits = [4, 16]
// CHECK-NEXT:  %[[B:.*]] = ingot.slice %[[Y]] starts = [0, 16] limits = [4, 32]
// CHECK-NEXT:  %[[C:.*]] = ingot.slice %[[Y]] starts = [0, 32] limits = [4, 40]
// CHECK-NEXT:  return %[[A]], %[[B]], %[[C]]
// REMARK: remark: [Passed] Projections
func.func @forward(%x: tensor<4x16xf32> {ingot.kind = "data", ingot.name = "x"},
                   %gate: tensor<16x16xf32> {ingot.state = @gate}, %up: tensor<16x16xf32> {ingot.state = @up},
                   %down: tensor<16x8xf32> {ingot.state = @down})
    -> (tensor<4x16xf32> {ingot.name = "a"}, tensor<4x16xf32> {ingot.name = "b"}, tensor<4x8xf32> {ingot.name = "c"}) {
  %0 = ingot.matmul %x, %gate : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = ingot.matmul %x, %up : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %2 = ingot.matmul %x, %down : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>
}

// -----

// A frozen weight among trained ones, another transposition: nothing in common.
ingot.state parameter @a : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
ingot.state frozen @b : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
ingot.state parameter @c : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
// CHECK-LABEL: func @forward
// CHECK-NOT:   ingot.concat
// REMARK-NOT:  remark:
func.func @forward(%x: tensor<4x16xf32> {ingot.kind = "data", ingot.name = "x"},
                   %a: tensor<16x16xf32> {ingot.state = @a}, %b: tensor<16x16xf32> {ingot.state = @b},
                   %c: tensor<16x16xf32> {ingot.state = @c})
    -> (tensor<4x16xf32> {ingot.name = "a"}, tensor<4x16xf32> {ingot.name = "b"}, tensor<4x16xf32> {ingot.name = "c"}) {
  %0 = ingot.matmul %x, %a : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = ingot.matmul %x, %b : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %2 = ingot.matmul %x, %c transposed : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  return %0, %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// An imported training step: what gives the gradient stays as it is.
ingot.state parameter @a : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
ingot.state parameter @b : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>
// CHECK-LABEL: func @train_step
// CHECK-NOT:   ingot.concat
func.func @train_step(%x: tensor<4x16xf32> {ingot.kind = "data", ingot.name = "x"},
                   %a: tensor<16x16xf32> {ingot.state = @a}, %b: tensor<16x16xf32> {ingot.state = @b})
    -> (tensor<4x16xf32> {ingot.name = "a"}, tensor<16x16xf32> {ingot.gradient = @a}) {
  %0 = ingot.matmul %x, %a : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %1 = ingot.matmul %x, %b : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %2 = ingot.mul %0, %1 : tensor<4x16xf32>
  %3 = ingot.matmul %x transposed, %2 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
  return %2, %3 : tensor<4x16xf32>, tensor<16x16xf32>
}

// RUN: ingot-opt %s --ingot-encode-base | FileCheck %s
// RUN: ingot-opt %s --ingot-encode-base=encodes=false --remarks-filter=encode-base --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=PLAIN

// Weights that come with codes are multiplied by them; one whose numbers
// something else reads, and all where matmuls cannot decode, get their numbers.
// CHECK:       ingot.state frozen @up : tensor<4x16xf32> = dense<0.000000e+00> : tensor<4x16xf32> {ingot.encoding
// CHECK:       ingot.state frozen @read : tensor<16x4xf32> = dense<2.000000e+00> : tensor<16x4xf32>{{$}}
// CHECK-NOT:   @"read/codes"
// CHECK:       func.func @forward(%[[X:.*]]: tensor<2x16xf32> {{.*}}, %{{.*}}: tensor<16x4xf32> {ingot.state = @read}, %[[CODES:.*]]: tensor<32xui8> {ingot.state = @"up/codes"}, %[[SCALES:.*]]: tensor<4xf32> {ingot.state = @up.absmax})
// CHECK:       ingot.decoded_matmul %[[X]], %[[CODES]] transposed by %[[SCALES]] as "int4" block 16
// CHECK:       ingot.matmul
// PLAIN:       remark: [Missed] EncodedWeight | {{.*}} Reason="ranks with parts of weights, and devices, have no codes yet", weight=up
// PLAIN:       ingot.state frozen @up : tensor<4x16xf32> = dense<1.000000e+00> : tensor<4x16xf32>{{$}}
// PLAIN-NOT:   ingot.decoded_matmul
ingot.state frozen @up : tensor<4x16xf32> = dense<0.0> : tensor<4x16xf32> {ingot.encoding = {block = 16 : i64, kind = "int4", parts = [@"up/codes", @up.absmax]}}
ingot.state frozen @"up/codes" : tensor<32xui8> = dense<153> : tensor<32xui8>
ingot.state frozen @up.absmax : tensor<4xf32> = dense<1.0> : tensor<4xf32>
ingot.state frozen @read : tensor<16x4xf32> = dense<0.0> : tensor<16x4xf32> {ingot.encoding = {block = 16 : i64, kind = "int4", parts = [@"read/codes", @read.absmax], transposed}}
ingot.state frozen @"read/codes" : tensor<32xui8> = dense<170> : tensor<32xui8>
ingot.state frozen @read.absmax : tensor<4xf32> = dense<1.0> : tensor<4xf32>
func.func @forward(%x: tensor<2x16xf32> {ingot.kind = "data", ingot.name = "x"},
                   %up: tensor<4x16xf32> {ingot.state = @up}, %read: tensor<16x4xf32> {ingot.state = @read})
    -> (tensor<2x4xf32> {ingot.name = "y"}, tensor<2x4xf32> {ingot.name = "z"}, tensor<16x4xf32> {ingot.name = "w"}) {
  %0 = ingot.matmul %x, %up transposed : (tensor<2x16xf32>, tensor<4x16xf32>) -> tensor<2x4xf32>
  %1 = ingot.matmul %x, %read : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  %2 = ingot.tanh %read : tensor<16x4xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<16x4xf32>
}

// RUN: ingot-opt %s --split-input-file --ingot-add-adapters='adapter={{lora:r=2,alpha=4@up}}' | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-add-adapters='adapter={{lora:r=2,alpha=4@up}}' --remarks-filter=add-adapters --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --split-input-file --ingot-add-adapters='adapter={{rslora:r=4,alpha=4,dropout=0.5@all-linear}}' | FileCheck %s --check-prefix=ALL
// RUN: ingot-opt %s --split-input-file --ingot-add-adapters='adapter={{rslora:r=4,alpha=4,dropout=0.5@all-linear}}' --remarks-filter=add-adapters --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=ALL-REMARK
// RUN: ingot-opt %s --split-input-file --ingot-add-adapters='adapter={{lora:bias=adapters@/up/}} adapter-train=head' | FileCheck %s --check-prefix=BIAS
// RUN: ingot-opt %s --split-input-file --ingot-add-adapters='adapter={{lora:r=3,bias=all@/u.*/},{lora:r=5,bias=all@head,up}}' | FileCheck %s --check-prefix=FIRST

// The product is of the layer's input, and added to the sum with the bias; the
// base is not trained. The head has an adapter only if it is named.
// CHECK:       module attributes {ingot.adapters = [{a = @up.lora_A.weight, alpha = 4.000000e+00 : f64, b = @up.lora_B.weight, bias = "none", dropout = 0.000000e+00 : f64, module = "up", scale = 2.000000e+00 : f64, weight = @up.weight}]}
// CHECK:       ingot.state frozen @up.weight
// CHECK:       ingot.state frozen @up.bias
// CHECK:       ingot.state frozen @head.weight
// CHECK:       ingot.state parameter @up.lora_A.weight : tensor<2x4xf32> = dense<0.000000e+00> : tensor<2x4xf32> {ingot.uniform = 5.000000e-01 : f64}
// CHECK-NEXT:  ingot.state parameter @up.lora_B.weight : tensor<8x2xf32> = dense<0.000000e+00> : tensor<8x2xf32>
// CHECK:       func @forward(%[[X:arg[0-9]+]]: {{.*}} %[[A:arg[0-9]+]]: tensor<2x4xf32> {ingot.state = @up.lora_A.weight}, %[[B:arg[0-9]+]]: tensor<8x2xf32> {ingot.state = @up.lora_B.weight})
// CHECK:       %[[BASE:.*]] = ingot.add
// CHECK:       %[[LOW:.*]] = ingot.matmul %[[X]], %[[A]] transposed : (tensor<16x4xf32>, tensor<2x4xf32>) -> tensor<16x2xf32>
// CHECK-NEXT:  %[[TWO:.*]] = ingot.constant dense<2.000000e+00> : tensor<16x2xf32>
// CHECK-NEXT:  %[[SCALED:.*]] = ingot.mul %[[LOW]], %[[TWO]]
// CHECK-NEXT:  %[[HIGH:.*]] = ingot.matmul %[[SCALED]], %[[B]] transposed : (tensor<16x2xf32>, tensor<8x2xf32>) -> tensor<16x8xf32>
// CHECK-NEXT:  %[[SUM:.*]] = ingot.add %[[BASE]], %[[HIGH]]
// CHECK-NEXT:  ingot.tanh %[[SUM]]
// REMARK:      remark: [Passed] Adapter | {{.*}} elements=24, kind=lora, module=up, rank=2, weight=up.weight
// All linear layers but the head.
// ALL:         alpha = 4.000000e+00 : f64, b = @up.lora_B.weight, bias = "none", dropout = 5.000000e-01 : f64, module = "up", rank_stabilized, scale = 2.000000e+00
// ALL:         ingot.state parameter @up.lora_A.weight : tensor<4x4xf32>
// ALL-NOT:     @head.lora
// ALL:         %[[DROPPED:.*]], %{{.*}} = ingot.dropout %{{.*}}, %{{.*}}, %{{.*}} ratio = 5.000000e-01 stream = 0
// ALL-NEXT:    ingot.matmul %[[DROPPED]], %{{.*}} transposed : (tensor<16x4xf32>, tensor<4x4xf32>)
// ALL-REMARK:  remark: [Missed] Adapter | {{.*}} Reason="it is the head of the model", module=head
// ALL-REMARK:  remark: [Passed] Adapter | {{.*}} module=up
// BIAS:        ingot.state frozen @up.weight
// BIAS-NEXT:   ingot.state parameter @up.bias
// BIAS-NEXT:   ingot.state parameter @head.weight
// The first rule that matches a layer, and weights in either layout.
// FIRST:       module = "up", scale = {{.*}}, weight = @up.weight}
// FIRST-SAME:  module = "head", scale = {{.*}}, transposed, weight = @head.weight}
// FIRST:       ingot.state parameter @up.bias
// FIRST:       ingot.state parameter @up.lora_A.weight : tensor<3x4xf32>
// FIRST:       ingot.state parameter @head.lora_A.weight : tensor<5x8xf32>
// FIRST:       ingot.state parameter @head.lora_B.weight : tensor<3x5xf32>
ingot.state parameter @up.weight : tensor<8x4xf32> = dense<0.5> : tensor<8x4xf32>
ingot.state parameter @up.bias : tensor<8xf32> = dense<0.0> : tensor<8xf32>
ingot.state parameter @head.weight : tensor<8x3xf32> = dense<0.5> : tensor<8x3xf32>
func.func @forward(%x: tensor<16x4xf32> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<8x4xf32> {ingot.state = @up.weight}, %bias: tensor<8xf32> {ingot.state = @up.bias},
                   %h: tensor<8x3xf32> {ingot.state = @head.weight})
    -> (tensor<16x3xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w transposed : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
  %1 = ingot.broadcast %bias dims = [1] : tensor<8xf32> -> tensor<16x8xf32>
  %2 = ingot.add %0, %1 : tensor<16x8xf32>
  %3 = ingot.tanh %2 : tensor<16x8xf32>
  %4 = ingot.matmul %3, %h : (tensor<16x8xf32>, tensor<8x3xf32>) -> tensor<16x3xf32>
  return %4 : tensor<16x3xf32>
}

// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --ingot-simplify | FileCheck %s --check-prefix=FOLDED

// CHECK: module attributes {ingot.mesh = {context = 3 : i64, inner = 1 : i64, tensor = 2 : i64}}
module attributes {ingot.mesh = {context = 3, inner = 1, tensor = 2}} {
// CHECK-LABEL: func.func @exchanges
// CHECK: %[[A:.+]] = ingot.all_reduce sum %{{.+}} over [data, tensor] : tensor<6x4xf32>
// CHECK: %[[B:.+]] = ingot.all_reduce max %[[A]] over [pipeline] gradient_of @w : tensor<6x4xf32>
// CHECK: %[[C:.+]] = ingot.part %[[B]] dim 0 over [tensor, context] : tensor<6x4xf32> -> tensor<1x4xf32>
// CHECK: %[[D:.+]] = ingot.all_gather %[[C]] dim 0 over [tensor] : tensor<1x4xf32> -> tensor<2x4xf32>
// CHECK: %[[E:.+]] = ingot.all_to_all %[[D]] split 1 concat 0 over [tensor] : tensor<2x4xf32> -> tensor<4x2xf32>
// CHECK: %[[F:.+]] = ingot.reduce_scatter min %[[E]] dim 1 over [tensor] : tensor<4x2xf32> -> tensor<4x1xf32>
// CHECK: ingot.permute %[[F]] by -1 over [context] : tensor<4x1xf32>

// Tests that exchanges over axes of one rank are no exchanges.
// FOLDED-LABEL: func.func @exchanges
// FOLDED: %[[A:.+]] = ingot.all_reduce sum
// FOLDED-NEXT: ingot.part %[[A]]
func.func @exchanges(%x: tensor<6x4xf32>) -> tensor<4x1xf32> {
  %0 = ingot.all_reduce sum %x over [data, tensor] : tensor<6x4xf32>
  %1 = ingot.all_reduce max %0 over [pipeline] gradient_of @w : tensor<6x4xf32>
  %2 = ingot.part %1 dim 0 over [tensor, context] : tensor<6x4xf32> -> tensor<1x4xf32>
  %3 = ingot.all_gather %2 dim 0 over [tensor] : tensor<1x4xf32> -> tensor<2x4xf32>
  %4 = ingot.all_to_all %3 split 1 concat 0 over [tensor] : tensor<2x4xf32> -> tensor<4x2xf32>
  %5 = ingot.reduce_scatter min %4 dim 1 over [tensor] : tensor<4x2xf32> -> tensor<4x1xf32>
  %6 = ingot.permute %5 by -1 over [context] : tensor<4x1xf32>
  return %6 : tensor<4x1xf32>
}
}

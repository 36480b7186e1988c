// RUN: ingot-opt %s --ingot-lower-exchanges | FileCheck %s

// A part of an index is an index, and what has the order of memory stays as it is. Sums over data belong to buckets.
//       CHECK: ingot.state coordinates @coordinates : tensor<5xi64> = dense<0>
// CHECK-LABEL: func.func @f
//  CHECK-SAME: %[[X:.+]]: tensor<4x8xf32>, %[[C:.+]]: tensor<5xi64> {ingot.state = @coordinates}
//       CHECK: ingot.all_gather %[[X]] dim 0 over [tensor]
//       CHECK: ingot.all_reduce max %[[X]] over [tensor]
//       CHECK: ingot.all_reduce sum %[[X]] over [data]
//       CHECK: %[[PLACE:.+]] = ingot.slice %[[C]] starts = [4] limits = [5]
//       CHECK: ingot.iota {dim = 1 : i64} : tensor<4x4xi64>
// Columns of ranks are put one after the other before they are sent, and behind each other afterwards.
//       CHECK: %[[APART:.+]] = ingot.reshape %[[X]] : tensor<4x8xf32> -> tensor<4x2x4xf32>
//       CHECK: %[[STACKED:.+]] = ingot.transpose %[[APART]] [1, 0, 2]
//       CHECK: %[[PARTS:.+]] = ingot.reshape %[[STACKED]] : tensor<2x4x4xf32> -> tensor<8x4xf32>
//       CHECK: ingot.reduce_scatter sum %[[PARTS]] dim 0 over [tensor]
//       CHECK: ingot.all_to_all %{{.+}} split 0 concat 0 over [tensor]
//       CHECK: ingot.reshape {{.+}} -> tensor<2x16xf32>
module attributes {ingot.mesh = {tensor = 2}} {
func.func @f(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xi64>, tensor<4x4xf32>, tensor<2x16xf32>) {
  %0 = ingot.all_gather %x dim 0 over [tensor] : tensor<4x8xf32> -> tensor<8x8xf32>
  %1 = ingot.all_reduce max %x over [tensor] : tensor<4x8xf32>
  %2 = ingot.all_reduce sum %x over [data] : tensor<4x8xf32>
  %3 = ingot.iota {dim = 1 : i64} : tensor<4x8xi64>
  %4 = ingot.part %3 dim 1 over [tensor] : tensor<4x8xi64> -> tensor<4x4xi64>
  %5 = ingot.reduce_scatter sum %x dim 1 over [tensor] : tensor<4x8xf32> -> tensor<4x4xf32>
  %6 = ingot.all_to_all %x split 0 concat 1 over [tensor] : tensor<4x8xf32> -> tensor<2x16xf32>
  return %0, %1, %2, %4, %5, %6 : tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xi64>, tensor<4x4xf32>, tensor<2x16xf32>
}
}

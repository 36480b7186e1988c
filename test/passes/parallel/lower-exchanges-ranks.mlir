// Tests on simulated ranks, along two axes and along both together, that each exchange becomes one of parts that are one
// after the other in memory, or a part by coordinates, and moves each element to the same place. The last all-gather brings what every
// rank has to the first one.
// RUN: %python -c "import numpy as n; n.savez('%t.npz', x=n.arange(4 * 8 * 12, dtype='f8').reshape(4, 8, 12))"
// RUN: ingot-eval %s --function f --ranks 12 --inputs %t.npz --outputs %t.before.npz
// RUN: ingot-opt %s --ingot-lower-exchanges -o %t.mlir
// RUN: ingot-eval %t.mlir --function f --ranks 12 --inputs %t.npz --outputs %t.after.npz
// RUN: %arrays compare --rtol 0 --atol 0 --names parts,gathered,scattered,exchanged,mixed,index,both %t.before.npz %t.after.npz

// Once more after simplification.
// RUN: ingot-opt %t.mlir --ingot-simplify -o %t.simple.mlir
// RUN: ingot-eval %t.simple.mlir --function f --ranks 12 --inputs %t.npz --outputs %t.simple.npz
// RUN: %arrays compare --rtol 0 --atol 0 --names parts,gathered,scattered,exchanged,mixed,index,both %t.before.npz %t.simple.npz

// RUN: FileCheck %s --input-file %t.mlir
// CHECK: ingot.state coordinates @coordinates : tensor<5xi64>
// CHECK-NOT: ingot.part
// CHECK-NOT: {{dim|split|concat}} {{[1-9]}} {{over|concat}}
module attributes {ingot.mesh = {context = 2, tensor = 3}} {
func.func @f(%x: tensor<4x8x12xf64> {ingot.kind = "data", ingot.name = "x"}) -> (
    tensor<24x4x12xf64> {ingot.name = "parts"}, tensor<24x8x12xf64> {ingot.name = "gathered"},
    tensor<24x8x4xf64> {ingot.name = "scattered"}, tensor<24x8x4xf64> {ingot.name = "exchanged"},
    tensor<12x8x24xf64> {ingot.name = "mixed"}, tensor<24x8x12xf64> {ingot.name = "index"},
    tensor<24x8x2xf64> {ingot.name = "both"}) {
  %rows = ingot.part %x dim 1 over [context] : tensor<4x8x12xf64> -> tensor<4x4x12xf64>
  %own = ingot.part %rows dim 2 over [tensor] : tensor<4x4x12xf64> -> tensor<4x4x4xf64>
  %0 = ingot.all_gather %own dim 2 over [tensor] : tensor<4x4x4xf64> -> tensor<4x4x12xf64>
  %1 = ingot.add %0, %0 : tensor<4x4x12xf64>
  %2 = ingot.all_gather %rows dim 1 over [context] : tensor<4x4x12xf64> -> tensor<4x8x12xf64>
  %3 = ingot.reduce_scatter sum %x dim 2 over [tensor] : tensor<4x8x12xf64> -> tensor<4x8x4xf64>
  %columns = ingot.part %x dim 2 over [tensor] : tensor<4x8x12xf64> -> tensor<4x8x4xf64>
  %scaled = ingot.mul %columns, %columns : tensor<4x8x4xf64>
  %4 = ingot.all_to_all %scaled split 2 concat 2 over [context] : tensor<4x8x4xf64> -> tensor<4x8x4xf64>
  %5 = ingot.all_to_all %x split 0 concat 2 over [context] : tensor<4x8x12xf64> -> tensor<2x8x24xf64>
  %i = ingot.iota {dim = 2 : i64} : tensor<4x8x24xf64>
  %6 = ingot.part %i dim 2 over [context] : tensor<4x8x24xf64> -> tensor<4x8x12xf64>
  %7 = ingot.part %x dim 2 over [context, tensor] : tensor<4x8x12xf64> -> tensor<4x8x2xf64>
  %p = ingot.all_gather %1 dim 0 over [context, tensor] : tensor<4x4x12xf64> -> tensor<24x4x12xf64>
  %g = ingot.all_gather %2 dim 0 over [context, tensor] : tensor<4x8x12xf64> -> tensor<24x8x12xf64>
  %s = ingot.all_gather %3 dim 0 over [context, tensor] : tensor<4x8x4xf64> -> tensor<24x8x4xf64>
  %e = ingot.all_gather %4 dim 0 over [context, tensor] : tensor<4x8x4xf64> -> tensor<24x8x4xf64>
  %m = ingot.all_gather %5 dim 0 over [context, tensor] : tensor<2x8x24xf64> -> tensor<12x8x24xf64>
  %n = ingot.all_gather %6 dim 0 over [context, tensor] : tensor<4x8x12xf64> -> tensor<24x8x12xf64>
  %b = ingot.all_gather %7 dim 0 over [context, tensor] : tensor<4x8x2xf64> -> tensor<24x8x2xf64>
  return %p, %g, %s, %e, %m, %n, %b : tensor<24x4x12xf64>, tensor<24x8x12xf64>, tensor<24x8x4xf64>, tensor<24x8x4xf64>, tensor<12x8x24xf64>, tensor<24x8x12xf64>, tensor<24x8x2xf64>
}
}

// Tests on simulated ranks that pieces give what the whole exchange gives, as far as sums of another order do.
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); n.savez('%t.npz', x=r.normal(size=(64, 32)), w=r.normal(size=(32, 48)))"
// RUN: ingot-eval %s --function f --ranks 3 --inputs %t.npz --outputs %t.before.npz
// RUN: ingot-opt %s --ingot-split-exchanges -o %t.mlir
// RUN: ingot-opt %t.mlir --ingot-lower-exchanges -o %t.lowered.mlir
// RUN: ingot-eval %t.mlir --function f --ranks 3 --inputs %t.npz --outputs %t.after.npz
// RUN: %arrays compare --rtol 1e-12 --atol 1e-12 --names sum,parts,moved %t.before.npz %t.after.npz
// RUN: ingot-eval %t.lowered.mlir --function f --ranks 3 --inputs %t.npz --outputs %t.lowered.npz
// RUN: %arrays compare --rtol 1e-12 --atol 1e-12 --names sum,parts,moved %t.before.npz %t.lowered.npz

// RUN: FileCheck %s --input-file %t.mlir
// CHECK-COUNT-3: ingot.concat
module attributes {ingot.mesh = {tensor = 3}, ingot.machine = {matmul_f64 = 1.0e6, link_bandwidth = 1.0e6, link_seconds = 1.0e-9, launch_seconds = 1.0e-9, memory_bandwidth = 1.0e12, cache_bandwidth = 1.0e12}} {
func.func @f(%x: tensor<64x32xf64> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<32x48xf64> {ingot.kind = "data", ingot.name = "w"})
    -> (tensor<64x48xf64> {ingot.name = "sum"}, tensor<64x48xf64> {ingot.name = "parts"}, tensor<64x48xf64> {ingot.name = "moved"}) {
  %i = ingot.iota {dim = 0 : i64} : tensor<3xf64>
  %n = ingot.part %i dim 0 over [tensor] : tensor<3xf64> -> tensor<1xf64>
  %r = ingot.reshape %n : tensor<1xf64> -> tensor<f64>
  %b = ingot.broadcast %r dims = [] : tensor<f64> -> tensor<64x32xf64>
  %own = ingot.add %x, %b : tensor<64x32xf64>
  %0 = ingot.matmul %own, %w : (tensor<64x32xf64>, tensor<32x48xf64>) -> tensor<64x48xf64>
  %sum = ingot.all_reduce sum %0 over [tensor] : tensor<64x48xf64>
  %own1 = ingot.neg %own : tensor<64x32xf64>
  %w1 = ingot.neg %w : tensor<32x48xf64>
  %1 = ingot.matmul %own1, %w1 : (tensor<64x32xf64>, tensor<32x48xf64>) -> tensor<64x48xf64>
  %part = ingot.reduce_scatter sum %1 dim 1 over [tensor] : tensor<64x48xf64> -> tensor<64x16xf64>
  %parts = ingot.all_gather %part dim 1 over [tensor] : tensor<64x16xf64> -> tensor<64x48xf64>
  %own2 = ingot.mul %own, %own : tensor<64x32xf64>
  %w2 = ingot.mul %w, %w : tensor<32x48xf64>
  %2 = ingot.matmul %own2, %w2 : (tensor<64x32xf64>, tensor<32x48xf64>) -> tensor<64x48xf64>
  %moved = ingot.all_to_all %2 split 1 concat 1 over [tensor] : tensor<64x48xf64> -> tensor<64x48xf64>
  return %sum, %parts, %moved : tensor<64x48xf64>, tensor<64x48xf64>, tensor<64x48xf64>
}
}

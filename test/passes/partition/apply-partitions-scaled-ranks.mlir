// Tests on simulated ranks that matmuls of 8-bit floats are computed in parts: the scale of a whole operand is that of
// its parts, scales of runs are parts of all, and no run is cut.
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); n.savez('%t.npz', x=r.standard_normal((16, 32)).astype('f'), lhs=r.uniform(0.5, 2, (2, 16)).astype('f'), rhs=r.uniform(0.5, 2, (2, 32)).astype('f'))"
// RUN: %arrays make %t.states.npz up=32x256 down=256x32
// RUN: ingot-eval %s --function train_step --inputs %t.npz --states %t.states.npz --outputs %t.one.npz
// RUN: ingot-opt %s --ingot-apply-partitions=keep-global --ingot-verify-partition -o %t.two.mlir
// RUN: ingot-eval %t.two.mlir --function train_step --ranks 2 --inputs %t.npz --states %t.states.npz --outputs %t.two.npz
// RUN: %arrays compare --rtol 1e-5 --atol 1e-4 --names y %t.one.npz %t.two.npz

// RUN: FileCheck %s --input-file %t.two.mlir
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.scaled_matmul {{.+}}, tensor<32x128xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x128xf32>
// CHECK: ingot.scaled_matmul {{.+}}, tensor<128x32xf8E4M3FN>, tensor<1x16xf32>, tensor<1x32xf32>) -> tensor<16x32xf32>
// CHECK-NOT: ingot.all_gather
// CHECK: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<16x32xf32>
// CHECK: return
module attributes {ingot.mesh = {tensor = 2}} {
ingot.state parameter @up : tensor<32x256xf32> = dense<0.0> : tensor<32x256xf32> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @down : tensor<256x32xf32> = dense<0.0> : tensor<256x32xf32> {ingot.partition = [{tensor}, {}]}
func.func @train_step(%x: tensor<16x32xf32> {ingot.kind = "data", ingot.name = "x"},
    %lhs: tensor<2x16xf32> {ingot.kind = "data", ingot.name = "lhs"},
    %rhs: tensor<2x32xf32> {ingot.kind = "data", ingot.name = "rhs"},
    %up: tensor<32x256xf32> {ingot.state = @up}, %down: tensor<256x32xf32> {ingot.state = @down})
    -> (tensor<16x32xf32> {ingot.name = "y"}) {
  %s = ingot.constant dense<0.5> : tensor<f32>
  %0 = ingot.cast %x : tensor<16x32xf32> -> tensor<16x32xf8E4M3FN>
  %1 = ingot.cast %up : tensor<32x256xf32> -> tensor<32x256xf8E4M3FN>
  %2 = ingot.scaled_matmul %0 by tensor %s, %1 by tensor %s
      : (tensor<16x32xf8E4M3FN>, tensor<32x256xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<16x256xf32>
  %3 = ingot.cast %2 : tensor<16x256xf32> -> tensor<16x256xf8E4M3FN>
  %4 = ingot.cast %down : tensor<256x32xf32> -> tensor<256x32xf8E4M3FN>
  %5 = ingot.scaled_matmul %3 by runs %lhs, %4 by runs %rhs
      : (tensor<16x256xf8E4M3FN>, tensor<256x32xf8E4M3FN>, tensor<2x16xf32>, tensor<2x32xf32>) -> tensor<16x32xf32>
  return %5 : tensor<16x32xf32>
}
}

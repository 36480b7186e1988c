// Tests in f64 on simulated ranks that a multilayer perceptron whose layers are split by columns and by rows trains as on
// one rank: with clipping, momentum, and with two and four ranks.
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); n.savez('%t.npz', x=r.standard_normal((6, 4)), labels=r.integers(0, 3, 6), lr=0.1)"
// RUN: %arrays make %t.states.npz up=4x8 bias=8 down=8x3 last=3
// RUN: ingot-opt %s "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients "--ingot-apply-optimizer=optimizer=momentum clip clip-norm=0.5" -o %t.global.mlir
// RUN: ingot-eval %t.global.mlir --function train_step --inputs %t.npz --states %t.states.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.global.mlir --ingot-apply-partitions=keep-global --ingot-verify-partition -o %t.two.mlir
// RUN: ingot-eval %t.two.mlir --function train_step --ranks 2 --inputs %t.npz --states %t.states.npz --steps 3 --outputs %t.2.npz --state-out %t.2.state.npz
// RUN: sed s/tensor=2/tensor=4/ %t.global.mlir | sed 's/tensor = 2/tensor = 4/' > %t.global4.mlir
// RUN: ingot-opt %t.global4.mlir --ingot-apply-partitions=keep-global --ingot-verify-partition --ingot-simplify -o %t.four.mlir
// RUN: ingot-eval %t.four.mlir --function train_step --ranks 4 --inputs %t.npz --states %t.states.npz --steps 3 --outputs %t.4.npz --state-out %t.4.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names loss %t.one.npz %t.2.npz %t.4.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names up,bias,down,last,up/momentum,bias/momentum,down/momentum,last/momentum %t.one.state.npz %t.2.state.npz %t.4.state.npz

// One sum in the forward pass, one for the gradient's norm of each split parameter, and states in parts, moments too.
// RUN: FileCheck %s --input-file %t.two.mlir
// CHECK-DAG: ingot.state moment @"up/momentum" {{.+}} {ingot.partition = [{}, {tensor}]}
// CHECK-DAG: ingot.state moment @"bias/momentum" {{.+}} {ingot.partition = [{tensor}]}
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: tensor<4x4xf64> {ingot.state = @up}
// CHECK-SAME: tensor<4x3xf64> {ingot.state = @down}
// CHECK: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<6x3xf64>
// CHECK-NOT: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<{{.+}}x
// CHECK-NOT: ingot.all_gather
// CHECK: return
module attributes {ingot.mesh = {tensor = 2}} {
ingot.state parameter @up : tensor<4x8xf64> = dense<0.0> : tensor<4x8xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @bias : tensor<8xf64> = dense<0.0> : tensor<8xf64> {ingot.partition = [{tensor}]}
ingot.state parameter @down : tensor<8x3xf64> = dense<0.0> : tensor<8x3xf64> {ingot.partition = [{tensor}, {}]}
ingot.state parameter @last : tensor<3xf64> = dense<0.0> : tensor<3xf64>
func.func @forward(%x: tensor<6x4xf64> {ingot.kind = "data", ingot.name = "x"}, %up: tensor<4x8xf64> {ingot.state = @up},
    %bias: tensor<8xf64> {ingot.state = @bias}, %down: tensor<8x3xf64> {ingot.state = @down},
    %last: tensor<3xf64> {ingot.state = @last}) -> (tensor<6x3xf64> {ingot.name = "logits"}) {
  %0 = ingot.matmul %x, %up : (tensor<6x4xf64>, tensor<4x8xf64>) -> tensor<6x8xf64>
  %1 = ingot.broadcast %bias dims = [1] : tensor<8xf64> -> tensor<6x8xf64>
  %2 = ingot.add %0, %1 : tensor<6x8xf64>
  %3 = ingot.tanh %2 : tensor<6x8xf64>
  %4 = ingot.matmul %3, %down : (tensor<6x8xf64>, tensor<8x3xf64>) -> tensor<6x3xf64>
  %5 = ingot.broadcast %last dims = [1] : tensor<3xf64> -> tensor<6x3xf64>
  %6 = ingot.add %4, %5 : tensor<6x3xf64>
  return %6 : tensor<6x3xf64>
}
}

// Tests in f64 on simulated ranks that a network of convolutions trains as on one rank: the first is split by output
// channels, its batch normalization with them, the second by input channels. Running statistics are adopted.
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); n.savez('%t.npz', x=r.standard_normal((4, 3, 6, 6)), labels=r.integers(0, 3, 4), lr=0.1)"
// RUN: %arrays make %t.states.npz f1=4x3x3x3 s1=4 b1=4 f2=2x4x3x3 s2=2 b2=2 w=18x3
// RUN: ingot-opt %s "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd -o %t.global.mlir
// RUN: ingot-eval %t.global.mlir --function train_step --inputs %t.npz --states %t.states.npz --steps 3 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.global.mlir --ingot-apply-partitions=keep-global --ingot-verify-partition -o %t.local.mlir
// RUN: ingot-eval %t.local.mlir --function train_step --ranks 2 --inputs %t.npz --states %t.states.npz --steps 3 --outputs %t.two.npz --state-out %t.two.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names loss %t.one.npz %t.two.npz
// RUN: %arrays compare --rtol 1e-10 --atol 1e-11 --names f1,s1,b1,m1,v1,f2,s2,b2,m2,v2,w %t.one.state.npz %t.two.state.npz

// One sum of images; the gradient with respect to the input is not needed.
// RUN: FileCheck %s --input-file %t.local.mlir
// CHECK: ingot.state running @m1 {{.+}} {ingot.partition = [{tensor}]}
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<4x2x6x6xf64>
// CHECK-NOT: ingot.all_
// CHECK: return
module attributes {ingot.mesh = {tensor = 2}} {
ingot.state parameter @f1 : tensor<4x3x3x3xf64> = dense<0.0> : tensor<4x3x3x3xf64> {ingot.partition = [{tensor}, {}, {}, {}]}
ingot.state parameter @s1 : tensor<4xf64> = dense<0.0> : tensor<4xf64> {ingot.partition = [{tensor}]}
ingot.state parameter @b1 : tensor<4xf64> = dense<0.0> : tensor<4xf64> {ingot.partition = [{tensor}]}
ingot.state running @m1 : tensor<4xf64> = dense<0.0> : tensor<4xf64>
ingot.state running @v1 : tensor<4xf64> = dense<1.0> : tensor<4xf64>
ingot.state parameter @f2 : tensor<2x4x3x3xf64> = dense<0.0> : tensor<2x4x3x3xf64> {ingot.partition = [{}, {tensor}, {}, {}]}
ingot.state parameter @s2 : tensor<2xf64> = dense<0.0> : tensor<2xf64>
ingot.state parameter @b2 : tensor<2xf64> = dense<0.0> : tensor<2xf64>
ingot.state running @m2 : tensor<2xf64> = dense<0.0> : tensor<2xf64>
ingot.state running @v2 : tensor<2xf64> = dense<1.0> : tensor<2xf64>
ingot.state parameter @w : tensor<18x3xf64> = dense<0.0> : tensor<18x3xf64>
func.func @forward(%x: tensor<4x3x6x6xf64> {ingot.kind = "data", ingot.name = "x"}, %f1: tensor<4x3x3x3xf64> {ingot.state = @f1},
    %s1: tensor<4xf64> {ingot.state = @s1}, %b1: tensor<4xf64> {ingot.state = @b1}, %m1: tensor<4xf64> {ingot.state = @m1},
    %v1: tensor<4xf64> {ingot.state = @v1}, %f2: tensor<2x4x3x3xf64> {ingot.state = @f2}, %s2: tensor<2xf64> {ingot.state = @s2},
    %b2: tensor<2xf64> {ingot.state = @b2}, %m2: tensor<2xf64> {ingot.state = @m2}, %v2: tensor<2xf64> {ingot.state = @v2},
    %w: tensor<18x3xf64> {ingot.state = @w}) -> (tensor<4x3xf64> {ingot.name = "logits"}, tensor<4xf64> {ingot.state = @m1},
    tensor<4xf64> {ingot.state = @v1}, tensor<2xf64> {ingot.state = @m2}, tensor<2xf64> {ingot.state = @v2}) {
  %0 = ingot.conv %x, %f1 {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<4x3x6x6xf64>, tensor<4x3x3x3xf64>) -> tensor<4x4x6x6xf64>
  %n1:5 = ingot.batch_norm %0, %s1, %b1, %m1, %v1 {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x4x6x6xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4x4x6x6xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
  %1 = ingot.tanh %n1#0 : tensor<4x4x6x6xf64>
  %2 = ingot.conv %1, %f2 {dilations = array<i64: 1, 1>, groups = 1 : i64, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<4x4x6x6xf64>, tensor<2x4x3x3xf64>) -> tensor<4x2x6x6xf64>
  %n2:5 = ingot.batch_norm %2, %s2, %b2, %m2, %v2 {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x2x6x6xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<4x2x6x6xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  %3:2 = ingot.max_pool %n2#0 {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<4x2x6x6xf64>) -> (tensor<4x2x3x3xf64>, tensor<4x2x3x3xi64>)
  %4 = ingot.reshape %3#0 : tensor<4x2x3x3xf64> -> tensor<4x18xf64>
  %5 = ingot.matmul %4, %w : (tensor<4x18xf64>, tensor<18x3xf64>) -> tensor<4x3xf64>
  return %5, %n1#1, %n1#2, %n2#1, %n2#2 : tensor<4x3xf64>, tensor<4xf64>, tensor<4xf64>, tensor<2xf64>, tensor<2xf64>
}
}

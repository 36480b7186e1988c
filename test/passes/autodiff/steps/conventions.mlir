// RUN: ingot-opt %s --ingot-differentiate -o %t && ingot-eval %t --function train_step | FileCheck %s

// Derivatives where there is a choice, as the descriptions of the ops say and as
// PyTorch has them.

// max and min give the second operand everything at a tie: relu has 0 at 0.
// CHECK-DAG: relu.grad: tensor<3xf32> [0, 0, 1]
ingot.state parameter @relu : tensor<3xf32> = dense<[-1.0, 0.0, 1.0]> : tensor<3xf32>
// CHECK-DAG: relu6.grad: tensor<3xf32> [1, 0, 0]
ingot.state parameter @relu6 : tensor<3xf32> = dense<[5.0, 6.0, 7.0]> : tensor<3xf32>
// CHECK-DAG: abs.grad: tensor<3xf32> [-1, 0, 1]
ingot.state parameter @abs : tensor<3xf32> = dense<[-1.0, 0.0, 1.0]> : tensor<3xf32>
// Elements that share the extremum share its gradient.
// CHECK-DAG: largest.grad: tensor<4xf32> [0, 0.5, 0.5, 0]
ingot.state parameter @largest : tensor<4xf32> = dense<[1.0, 2.0, 2.0, -3.0]> : tensor<4xf32>
// The first of equals wins a window.
// CHECK-DAG: window.grad: tensor<1x1x4xf32> {{\[\[\[}}0, 1, 0, 1]]]
ingot.state parameter @window : tensor<1x1x4xf32> = dense<[[[1.0, 2.0, 2.0, 3.0]]]> : tensor<1x1x4xf32>
// 0^2 and 0^0: no infinity times zero.
// CHECK-DAG: base.grad: tensor<3xf32> [0, 0, 4]
// CHECK-DAG: exponent.grad: tensor<3xf32> [0, 0, 2.77258{{[0-9]*}}]
ingot.state parameter @base : tensor<3xf32> = dense<[0.0, 0.0, 2.0]> : tensor<3xf32>
ingot.state parameter @exponent : tensor<3xf32> = dense<[2.0, 0.0, 2.0]> : tensor<3xf32>
// An index outside is clamped, and so is its gradient.
// CHECK-DAG: table.grad: tensor<3x1xf32> {{\[\[}}1], [0], [2]]
ingot.state parameter @table : tensor<3x1xf32> = dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>

func.func @train_step(%relu: tensor<3xf32> {ingot.state = @relu},
                      %relu6: tensor<3xf32> {ingot.state = @relu6},
                      %abs: tensor<3xf32> {ingot.state = @abs},
                      %largest: tensor<4xf32> {ingot.state = @largest},
                      %window: tensor<1x1x4xf32> {ingot.state = @window},
                      %base: tensor<3xf32> {ingot.state = @base},
                      %exponent: tensor<3xf32> {ingot.state = @exponent},
                      %table: tensor<3x1xf32> {ingot.state = @table})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %zero = ingot.constant dense<0.0> : tensor<3xf32>
  %six = ingot.constant dense<6.0> : tensor<3xf32>
  %0 = ingot.max %relu, %zero : tensor<3xf32>
  %1 = ingot.min %relu6, %six : tensor<3xf32>
  %2 = ingot.abs %abs : tensor<3xf32>
  %3 = ingot.reduce max %largest dims = [0] : (tensor<4xf32>) -> tensor<f32>
  %4 = ingot.broadcast %3 dims = [] : tensor<f32> -> tensor<1xf32>
  %5, %indices = ingot.max_pool %window {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>,
      pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xi64>)
  %6 = ingot.reshape %5 : tensor<1x1x2xf32> -> tensor<2xf32>
  %7 = ingot.pow %base, %exponent : tensor<3xf32>
  %rows = ingot.constant dense<[-5, 2, 9]> : tensor<3xi64>
  %8 = ingot.gather %table[%rows] dim = 0 : (tensor<3x1xf32>, tensor<3xi64>) -> tensor<3x1xf32>
  %9 = ingot.reshape %8 : tensor<3x1xf32> -> tensor<3xf32>
  %10 = ingot.concat %0, %1, %2, %4, %6, %7, %9 dim = 0
    : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<18xf32>
  %11 = ingot.reduce sum %10 dims = [0] : (tensor<18xf32>) -> tensor<f32>
  return %11 : tensor<f32>
}

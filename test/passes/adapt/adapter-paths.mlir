// RUN: ingot-opt %s --ingot-add-adapters='adapter={{lora@all-linear}}' --remarks-filter=add-adapters --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s

// The path of a layer: of the exporter's metadata, which locations carry below
// the node's name; the initializer's; the node's. A second weight of a module
// has its own name, and a shared weight one adapter. The bias tells what the
// node's path lacks.
// CHECK: module=layers.0.q, rank=8, weight=q
// CHECK: module=layers.0.k, rank=8, weight=layers.0.k.weight
// CHECK: module=layers.0.v, rank=8, weight=onnx::MatMul_12
// CHECK: module=other, rank=8, weight=other.weight
// CHECK: module=other, rank=8, weight=other.weight
// CHECK: module=model.layers.1.v, rank=8, weight=onnx::MatMul_13
ingot.state parameter @"onnx::MatMul_13" : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state parameter @model.layers.1.v.bias : tensor<4xf32> = dense<0.5> : tensor<4xf32>
ingot.state parameter @q : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state parameter @layers.0.k.weight : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state parameter @"onnx::MatMul_12" : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
ingot.state parameter @other.weight : tensor<4x4xf32> = dense<0.5> : tensor<4x4xf32>
func.func @forward(%x: tensor<16x4xf32> {ingot.kind = "data", ingot.name = "x"},
                   %q: tensor<4x4xf32> {ingot.state = @q}, %k: tensor<4x4xf32> {ingot.state = @layers.0.k.weight},
                   %v: tensor<4x4xf32> {ingot.state = @"onnx::MatMul_12"}, %o: tensor<4x4xf32> {ingot.state = @other.weight},
                   %u: tensor<4x4xf32> {ingot.state = @"onnx::MatMul_13"}, %b: tensor<4xf32> {ingot.state = @model.layers.1.v.bias})
    -> (tensor<16x4xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %q : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32> loc("node_MatMul_1"("layers.0.q"))
  %1 = ingot.matmul %0, %k : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32> loc("node_MatMul_2")
  %2 = ingot.matmul %1, %v : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32> loc("/layers.0/v/MatMul")
  %3 = ingot.matmul %2, %o : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32> loc("node_MatMul_3"("layers.0.q"))
  %4 = ingot.matmul %3, %o : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32> loc("node_MatMul_4"("layers.0.q"))
  %5 = ingot.matmul %4, %u : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32> loc("/layers.1/v/MatMul")
  %6 = ingot.broadcast %b dims = [1] : tensor<4xf32> -> tensor<16x4xf32>
  %7 = ingot.add %5, %6 : tensor<16x4xf32>
  %8 = ingot.tanh %7 : tensor<16x4xf32>
  return %8 : tensor<16x4xf32>
}

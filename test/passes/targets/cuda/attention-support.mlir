// RUN: ingot-opt %s --ingot-attach-target="target=cuda arch=sm_90" --ingot-decompose=keep-anchors | FileCheck %s

// Tests that the gradient of attention is not the library's where all queries
// share a bias: cuDNN 9 has it wrong. Its forward pass is right.
// CHECK-LABEL: func.func @shared
//   CHECK-NOT:   ingot.attention_grad
//       CHECK:   return
// CHECK-LABEL: func.func @each
//       CHECK:   ingot.attention_grad
// CHECK-LABEL: func.func @forward_of_shared
//       CHECK:   ingot.attention %
func.func @shared(%q: tensor<2x8x2x16xbf16>, %o: tensor<2x8x2x16xbf16>, %l: tensor<2x2x8xf32>, %b: tensor<2x1x1x8xf32>) -> tensor<2x8x2x16xbf16> {
  %dq, %dk, %dv = ingot.attention_grad %q, %q, %q, %o, %l, %q bias %b {scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>, tensor<2x8x2x16xbf16>, tensor<2x1x1x8xf32>) -> (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>)
  return %dq : tensor<2x8x2x16xbf16>
}
func.func @each(%q: tensor<2x8x2x16xbf16>, %o: tensor<2x8x2x16xbf16>, %l: tensor<2x2x8xf32>, %b: tensor<2x1x8x8xf32>) -> tensor<2x8x2x16xbf16> {
  %dq, %dk, %dv = ingot.attention_grad %q, %q, %q, %o, %l, %q bias %b {scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>, tensor<2x8x2x16xbf16>, tensor<2x1x8x8xf32>) -> (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>)
  return %dq : tensor<2x8x2x16xbf16>
}
func.func @forward_of_shared(%q: tensor<2x8x2x16xbf16>, %b: tensor<2x1x1x8xf32>) -> tensor<2x8x2x16xbf16> {
  %r, %l = ingot.attention %q, %q, %q bias %b {scale = 0.25 : f64} : (tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x8x2x16xbf16>, tensor<2x1x1x8xf32>) -> (tensor<2x8x2x16xbf16>, tensor<2x2x8xf32>)
  return %r : tensor<2x8x2x16xbf16>
}

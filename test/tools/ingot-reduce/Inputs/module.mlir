func.func @first(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ingot.exp %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @second(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ingot.softmax %x dim = 1 : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
func.func @third(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ingot.tanh %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

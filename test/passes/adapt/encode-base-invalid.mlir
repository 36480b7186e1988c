// RUN: not ingot-opt %s --ingot-encode-base='base=nf4:double,block=x' 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not ingot-opt %s --ingot-encode-base=base=nf3 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not ingot-opt %s --ingot-encode-base=base=int8:double 2>&1 | FileCheck %s --check-prefix=DOUBLE
// RUN: not ingot-opt %s --ingot-encode-base=base=nf4 2>&1 | FileCheck %s --check-prefix=NONE

// BLOCK:       error: --base: block of 'x' is no size of blocks
// BLOCK-NEXT:  hint: give a power of two from 16 to 4096, as in nf4:block=64,double
// KIND:        error: --base: unknown encoding 'nf3'
// KIND-NEXT:   hint: choose nf4, fp4, int4 or int8
// DOUBLE:      error: --base: scales of int8 are not encoded
// NONE:        'nf4' finds no weight that can be encoded
// NONE:        hint: it takes frozen weights of linear layers: add --adapter
ingot.state parameter @up.weight : tensor<32x32xf32> = dense<0.5> : tensor<32x32xf32>
func.func @forward(%x: tensor<16x32xf32> {ingot.kind = "data", ingot.name = "x"}, %up: tensor<32x32xf32> {ingot.state = @up.weight})
    -> (tensor<16x32xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %up transposed : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  %1 = ingot.tanh %0 : tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}

// RUN: ingot-opt %s --ingot-form-fusions | FileCheck %s
// RUN: ingot-opt %s --ingot-form-fusions="each" | FileCheck %s --check-prefix=EACH

// Tests that an encoded state is decoded, updated and encoded by one kernel over blocks, which updates the parameter as
// well, and that nothing of the state's size in f32 is in memory. The last block is shorter.
// CHECK-LABEL: func @update
//       CHECK: ingot.fusion row
//       CHECK:   ingot.decode_blocks
//       CHECK:   ingot.block_max
//       CHECK:   ingot.encode_blocks
//       CHECK:   ingot.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<4200xf32>, tensor<17xf32>, tensor<4200xui8>
//   CHECK-NOT: ingot.fusion
// EACH-LABEL: func @update
//       EACH: ingot.fusion loop
//       EACH:   ingot.block_max
func.func @update(%w: tensor<4200xf32>, %g: tensor<4200xf32>, %codes: tensor<4200xui8>, %scales: tensor<17xf32>,
                  %numbers: tensor<256xf32>, %cells: tensor<3073xui8>, %middles: tensor<256xf32>)
    -> (tensor<4200xf32>, tensor<4200xui8>, tensor<17xf32>) {
  %m = ingot.decode_blocks %codes[%numbers] by %scales as "dyn8" block 256
      : (tensor<4200xui8>, tensor<256xf32>, tensor<17xf32>) -> tensor<4200xf32>
  %sum = ingot.add %m, %g : tensor<4200xf32>
  %next = ingot.sub %w, %sum : tensor<4200xf32>
  %most = ingot.block_max %sum block 256 : (tensor<4200xf32>) -> tensor<17xf32>
  %zero = ingot.constant dense<0.0> : tensor<17xf32>
  %one = ingot.constant dense<1.0> : tensor<17xf32>
  %isZero = ingot.compare eq %most, %zero : (tensor<17xf32>, tensor<17xf32>) -> tensor<17xi1>
  %scale = ingot.select %isZero, %one, %most : tensor<17xi1>, tensor<17xf32>
  %encoded = ingot.encode_blocks %sum[%cells, %middles] by %scale as "dyn8" block 256
      : (tensor<4200xf32>, tensor<3073xui8>, tensor<256xf32>, tensor<17xf32>) -> tensor<4200xui8>
  return %next, %encoded, %scale : tensor<4200xf32>, tensor<4200xui8>, tensor<17xf32>
}

// Tests that what is computed again from parameters of which ranks have shards reads them as they are gathered for the
// backward pass, however large they are, and does not keep them from the forward pass.
// RUN: ingot-opt %s --ingot-place-gathers --ingot-rematerialize=memory-budget=at-least:1000 | FileCheck %s

// CHECK-LABEL: func.func @train_step
// CHECK: ingot.matmul %{{.+}} transposed
// CHECK: %[[FLIGHT:.+]] = ingot.all_gather_start
// CHECK: ingot.reduce
// CHECK: %[[FIRST:.+]] = ingot.matmul %{{.+}}, %{{.+}} : (tensor<4x64xf32>, tensor<64x64xf32>)
// CHECK: %[[AGAIN:.+]] = ingot.all_gather_wait %[[FLIGHT]]
// CHECK: %[[SECOND:.+]] = ingot.matmul %[[FIRST]], %[[AGAIN]] : (tensor<4x64xf32>, tensor<64x64xf32>)
// CHECK: ingot.mul %{{.+}}, %[[SECOND]]
module {
  ingot.state parameter @a : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32> {shard = #ingot.shard<first = 0, of = 4096>}
  ingot.state parameter @b : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32> {shard = #ingot.shard<first = 0, of = 4096>}
  ingot.state parameter @c : tensor<64x64xf32> = dense<1.0> : tensor<64x64xf32> {shard = #ingot.shard<first = 0, of = 4096>}
  func.func @train_step(%x: tensor<4x64xf32> {ingot.kind = "data", ingot.name = "x"}, %a: tensor<64x64xf32> {ingot.state = @a}, %b: tensor<64x64xf32> {ingot.state = @b}, %c: tensor<64x64xf32> {ingot.state = @c})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4x64xf32> {ingot.name = "gradient"}) {
    %sa = ingot.all_gather_start %a : (tensor<64x64xf32>) -> tensor<4096xf32>
    %ga = ingot.all_gather_wait %sa : (tensor<4096xf32>) -> tensor<64x64xf32>
    %sb = ingot.all_gather_start %b : (tensor<64x64xf32>) -> tensor<4096xf32>
    %gb = ingot.all_gather_wait %sb : (tensor<4096xf32>) -> tensor<64x64xf32>
    %sc = ingot.all_gather_start %c : (tensor<64x64xf32>) -> tensor<4096xf32>
    %gc = ingot.all_gather_wait %sc : (tensor<4096xf32>) -> tensor<64x64xf32>
    %0 = ingot.matmul %x, %ga : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %1 = ingot.matmul %0, %gb : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %2 = ingot.matmul %1, %gc : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %loss = ingot.reduce sum %2 dims = [0, 1] : (tensor<4x64xf32>) -> tensor<f32>
    %g2 = ingot.matmul %2, %gc transposed : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %g1 = ingot.mul %g2, %1 : tensor<4x64xf32>
    %g0 = ingot.matmul %g1, %gb transposed : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %g = ingot.mul %g0, %0 : tensor<4x64xf32>
    return %loss, %g : tensor<f32>, tensor<4x64xf32>
  }
}

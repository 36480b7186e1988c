// RUN: ingot-opt %s --ingot-rematerialize=memory-budget=365000 | FileCheck %s

// Three parts of one product live from the forward to the backward pass, beside
// another product. Each part alone would pay for the whole product; together
// they cost less a byte than the other one.
// CHECK-LABEL: func.func @train_step
//       CHECK: ingot.matmul {{.*}} -> tensor<64x192xf32>
//       CHECK: ingot.matmul {{.*}} -> tensor<64x64xf32>
//       CHECK: ingot.fusion reduction
//       CHECK: %[[AGAIN:.*]] = ingot.matmul {{.*}} -> tensor<64x192xf32>
// CHECK-COUNT-3: ingot.fusion loop(%[[AGAIN]])
//   CHECK-NOT: ingot.matmul
module attributes {ingot.machine = {vector_f32 = 1.0e+12 : f64, memory_bandwidth = 1.0e+15 : f64, cache_bandwidth = 1.0e+15 : f64, launch_seconds = 1.0e-12 : f64}} {
  func.func @train_step(%x: tensor<64x64xf32> {ingot.kind = "data", ingot.name = "x"},
                        %w: tensor<64x192xf32> {ingot.kind = "data", ingot.name = "w"},
                        %l: tensor<64x128xf32> {ingot.kind = "data", ingot.name = "l"},
                        %r: tensor<128x64xf32> {ingot.kind = "data", ingot.name = "r"})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<64x64xf32> {ingot.name = "y"}) {
    %all = ingot.matmul %x, %w : (tensor<64x64xf32>, tensor<64x192xf32>) -> tensor<64x192xf32>
    %q = ingot.fusion loop(%all) : (tensor<64x192xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x192xf32>):
      %0 = ingot.slice %a starts = [0, 0] limits = [64, 64] strides = [1, 1] : (tensor<64x192xf32>) -> tensor<64x64xf32>
      ingot.yield %0 : tensor<64x64xf32>
    }
    %k = ingot.fusion loop(%all) : (tensor<64x192xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x192xf32>):
      %0 = ingot.slice %a starts = [0, 64] limits = [64, 128] strides = [1, 1] : (tensor<64x192xf32>) -> tensor<64x64xf32>
      ingot.yield %0 : tensor<64x64xf32>
    }
    %v = ingot.fusion loop(%all) : (tensor<64x192xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x192xf32>):
      %0 = ingot.slice %a starts = [0, 128] limits = [64, 192] strides = [1, 1] : (tensor<64x192xf32>) -> tensor<64x64xf32>
      ingot.yield %0 : tensor<64x64xf32>
    }
    %other = ingot.matmul %l, %r : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    %sum = ingot.fusion loop(%q, %k, %v, %other) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>):
      %0 = ingot.add %a, %b : tensor<64x64xf32>
      %1 = ingot.mul %c, %d : tensor<64x64xf32>
      %2 = ingot.add %0, %1 : tensor<64x64xf32>
      ingot.yield %2 : tensor<64x64xf32>
    }
    %wide = ingot.fusion loop(%sum) : (tensor<64x64xf32>) -> tensor<12x64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>):
      %0 = ingot.broadcast %a dims = [1, 2] : tensor<64x64xf32> -> tensor<12x64x64xf32>
      ingot.yield %0 : tensor<12x64x64xf32>
    }
    %loss = ingot.fusion reduction(%wide) : (tensor<12x64x64xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<12x64x64xf32>):
      %0 = ingot.reduce sum %a dims = [0, 1, 2] : (tensor<12x64x64xf32>) -> tensor<f32>
      ingot.yield %0 : tensor<f32>
    }
    %y = ingot.fusion loop(%q, %k, %v, %other, %loss) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>, %d: tensor<64x64xf32>, %e: tensor<f32>):
      %0 = ingot.mul %a, %b : tensor<64x64xf32>
      %1 = ingot.mul %c, %d : tensor<64x64xf32>
      %2 = ingot.mul %0, %1 : tensor<64x64xf32>
      %3 = ingot.broadcast %e dims = [] : tensor<f32> -> tensor<64x64xf32>
      %4 = ingot.mul %2, %3 : tensor<64x64xf32>
      ingot.yield %4 : tensor<64x64xf32>
    }
    return %loss, %y : tensor<f32>, tensor<64x64xf32>
  }
}

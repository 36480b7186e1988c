// RUN: ingot-opt %s --ingot-shard-updates --split-input-file --verify-diagnostics | FileCheck %s
// RUN: ingot-opt %s --ingot-shard-updates=gradients --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=GRADIENTS

// Tests that new values of parameters are collected in the layout of their gradients, and that moments are in shards.
// CHECK-DAG: ingot.state moment @"b/m" : tensor<3xf32> = dense<0.000000e+00> : tensor<3xf32> {shard = #ingot.shard<first = 0, of = 39>}
// CHECK-DAG: ingot.state moment @"a/m" : tensor<7xf32> = dense<0.000000e+00> : tensor<7xf32> {shard = #ingot.shard<first = 32, of = 39>}
// CHECK-LABEL: func.func @train_step
// CHECK: %[[SUMS:.+]]:2 = ingot.reduce_scatter_wait
// CHECK: %[[NB:.+]] = ingot.sub %{{.+}}, %[[MB:.+]] : tensor<3xf32>
// CHECK: %[[NA:.+]] = ingot.sub %{{.+}}, %[[MA:.+]] : tensor<7xf32>
// CHECK: %[[START:.+]] = ingot.all_gather_start %[[NB]], %[[NA]] : (tensor<3xf32>, tensor<7xf32>) -> tensor<39xf32>
// CHECK: %[[ALL:.+]]:2 = ingot.all_gather_wait %[[START]]
// CHECK: return %[[ALL]]#1, %[[ALL]]#0, %[[MA]], %[[MB]] :

// Tests that sums of gradients become states.
// GRADIENTS-DAG: ingot.state accumulator @"b/gradient" : tensor<3xbf16> = dense<0.000000e+00> : tensor<3xbf16> {shard = #ingot.shard<first = 0, of = 39>}
// GRADIENTS-DAG: ingot.state accumulator @"a/gradient" : tensor<7xbf16> = dense<0.000000e+00> : tensor<7xbf16> {shard = #ingot.shard<first = 32, of = 39>}
// GRADIENTS: -> ({{.*}}tensor<3xbf16> {ingot.state = @"b/gradient"}, tensor<7xbf16> {ingot.state = @"a/gradient"})
// GRADIENTS: %[[SUMS:.+]]:2 = ingot.reduce_scatter_wait
// GRADIENTS: return {{.*}}, %[[SUMS]]#0, %[[SUMS]]#1 :
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  ingot.state moment @"a/m" : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state moment @"b/m" : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %b: tensor<3xf32> {ingot.state = @b}, %ma: tensor<7xf32> {ingot.state = @"a/m"},
      %mb: tensor<3xf32> {ingot.state = @"b/m"}, %ga: tensor<7xbf16>, %gb: tensor<3xbf16>)
      -> (tensor<7xf32> {ingot.state = @a}, tensor<3xf32> {ingot.state = @b}, tensor<7xf32> {ingot.state = @"a/m"}, tensor<3xf32> {ingot.state = @"b/m"}) {
    %bucket = ingot.reduce_scatter_start %gb, %ga : (tensor<3xbf16>, tensor<7xbf16>) -> tensor<39xbf16>
    %sums:2 = ingot.reduce_scatter_wait %bucket : (tensor<39xbf16>) -> (tensor<3xbf16>, tensor<7xbf16>)
    %gb2 = ingot.cast %sums#0 : tensor<3xbf16> -> tensor<3xf32>
    %ga2 = ingot.cast %sums#1 : tensor<7xbf16> -> tensor<7xf32>
    %mb2 = ingot.add %mb, %gb2 : tensor<3xf32>
    %ma2 = ingot.add %ma, %ga2 : tensor<7xf32>
    %b2 = ingot.sub %b, %mb2 : tensor<3xf32>
    %a2 = ingot.sub %a, %ma2 : tensor<7xf32>
    return %a2, %b2, %ma2, %mb2 : tensor<7xf32>, tensor<3xf32>, tensor<7xf32>, tensor<3xf32>
  }
}

// -----

// Tests that an update that needs more than the rank's elements is refused.
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %g: tensor<7xf32>) -> (tensor<7xf32> {ingot.state = @a}) {
    %bucket = ingot.reduce_scatter_start %g : (tensor<7xf32>) -> tensor<7xf32>
    %sum = ingot.reduce_scatter_wait %bucket : (tensor<7xf32>) -> tensor<7xf32>
    // expected-error@+1 {{C9: needs elements outside of the rank's shard}}
    %total = ingot.reduce sum %sum dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %all = ingot.broadcast %total dims = [] : tensor<f32> -> tensor<7xf32>
    %next = ingot.sub %a, %all : tensor<7xf32>
    return %next : tensor<7xf32>
  }
}

// -----

// Tests that whole gradients are left alone.
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: all_gather
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %g: tensor<7xf32>) -> (tensor<7xf32> {ingot.state = @a}) {
    %bucket = ingot.all_reduce_start %g : (tensor<7xf32>) -> tensor<7xf32>
    %sum = ingot.all_reduce_wait %bucket : (tensor<7xf32>) -> tensor<7xf32>
    %next = ingot.sub %a, %sum : tensor<7xf32>
    return %next : tensor<7xf32>
  }
}

// -----

// Tests a bucket for each of many parameters: results are added while others are still to be read.
// CHECK-LABEL: func.func @train_step
// CHECK-COUNT-7: ingot.all_gather_wait
// GRADIENTS-DAG: ingot.state accumulator @"w0/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-DAG: ingot.state accumulator @"w1/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-DAG: ingot.state accumulator @"w2/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-DAG: ingot.state accumulator @"w3/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-DAG: ingot.state accumulator @"w4/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-DAG: ingot.state accumulator @"w5/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-DAG: ingot.state accumulator @"w6/gradient" : tensor<4xf32> = dense<0.000000e+00> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
// GRADIENTS-COUNT-7: ingot.all_gather_wait
module {
  ingot.state parameter @w0 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @w1 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @w2 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @w3 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @w4 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @w5 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @w6 : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  func.func @train_step(%g0: tensor<4xf32>, %g1: tensor<4xf32>, %g2: tensor<4xf32>, %g3: tensor<4xf32>, %g4: tensor<4xf32>, %g5: tensor<4xf32>, %g6: tensor<4xf32>,
      %w0: tensor<4xf32> {ingot.state = @w0}, %w1: tensor<4xf32> {ingot.state = @w1}, %w2: tensor<4xf32> {ingot.state = @w2}, %w3: tensor<4xf32> {ingot.state = @w3}, %w4: tensor<4xf32> {ingot.state = @w4}, %w5: tensor<4xf32> {ingot.state = @w5}, %w6: tensor<4xf32> {ingot.state = @w6})
      -> (tensor<4xf32> {ingot.state = @w0}, tensor<4xf32> {ingot.state = @w1}, tensor<4xf32> {ingot.state = @w2}, tensor<4xf32> {ingot.state = @w3}, tensor<4xf32> {ingot.state = @w4}, tensor<4xf32> {ingot.state = @w5}, tensor<4xf32> {ingot.state = @w6}) {
    %b0 = ingot.reduce_scatter_start %g0 : (tensor<4xf32>) -> tensor<4xf32>
    %b1 = ingot.reduce_scatter_start %g1 : (tensor<4xf32>) -> tensor<4xf32>
    %b2 = ingot.reduce_scatter_start %g2 : (tensor<4xf32>) -> tensor<4xf32>
    %b3 = ingot.reduce_scatter_start %g3 : (tensor<4xf32>) -> tensor<4xf32>
    %b4 = ingot.reduce_scatter_start %g4 : (tensor<4xf32>) -> tensor<4xf32>
    %b5 = ingot.reduce_scatter_start %g5 : (tensor<4xf32>) -> tensor<4xf32>
    %b6 = ingot.reduce_scatter_start %g6 : (tensor<4xf32>) -> tensor<4xf32>
    %s0 = ingot.reduce_scatter_wait %b0 : (tensor<4xf32>) -> tensor<4xf32>
    %n0 = ingot.sub %w0, %s0 : tensor<4xf32>
    %s1 = ingot.reduce_scatter_wait %b1 : (tensor<4xf32>) -> tensor<4xf32>
    %n1 = ingot.sub %w1, %s1 : tensor<4xf32>
    %s2 = ingot.reduce_scatter_wait %b2 : (tensor<4xf32>) -> tensor<4xf32>
    %n2 = ingot.sub %w2, %s2 : tensor<4xf32>
    %s3 = ingot.reduce_scatter_wait %b3 : (tensor<4xf32>) -> tensor<4xf32>
    %n3 = ingot.sub %w3, %s3 : tensor<4xf32>
    %s4 = ingot.reduce_scatter_wait %b4 : (tensor<4xf32>) -> tensor<4xf32>
    %n4 = ingot.sub %w4, %s4 : tensor<4xf32>
    %s5 = ingot.reduce_scatter_wait %b5 : (tensor<4xf32>) -> tensor<4xf32>
    %n5 = ingot.sub %w5, %s5 : tensor<4xf32>
    %s6 = ingot.reduce_scatter_wait %b6 : (tensor<4xf32>) -> tensor<4xf32>
    %n6 = ingot.sub %w6, %s6 : tensor<4xf32>
    return %n0, %n1, %n2, %n3, %n4, %n5, %n6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

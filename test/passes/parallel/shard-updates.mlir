// RUN: ingot-opt %s --ingot-shard-updates --split-input-file --verify-diagnostics | FileCheck %s
// RUN: ingot-opt %s --ingot-shard-updates=gradients --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=GRADIENTS

// Tests that new values of parameters are collected in the layout of their gradients, and that moments are in shards.
// CHECK-DAG: ingot.state moment @"b/m" : tensor<3xf32> = dense<0.000000e+00> : tensor<3xf32> {shard = array<i64: 0, 39>}
// CHECK-DAG: ingot.state moment @"a/m" : tensor<7xf32> = dense<0.000000e+00> : tensor<7xf32> {shard = array<i64: 32, 39>}
// CHECK-LABEL: func.func @train_step
// CHECK: %[[SUMS:.+]]:2 = ingot.reduce_scatter_wait
// CHECK: %[[NB:.+]] = ingot.sub %{{.+}}, %[[MB:.+]] : tensor<3xf32>
// CHECK: %[[NA:.+]] = ingot.sub %{{.+}}, %[[MA:.+]] : tensor<7xf32>
// CHECK: %[[START:.+]] = ingot.all_gather_start %[[NB]], %[[NA]] : (tensor<3xf32>, tensor<7xf32>) -> tensor<39xf32>
// CHECK: %[[ALL:.+]]:2 = ingot.all_gather_wait %[[START]]
// CHECK: return %[[ALL]]#1, %[[ALL]]#0, %[[MA]], %[[MB]] :

// Tests that sums of gradients become states.
// GRADIENTS-DAG: ingot.state accumulator @"b/gradient" : tensor<3xbf16> = dense<0.000000e+00> : tensor<3xbf16> {shard = array<i64: 0, 39>}
// GRADIENTS-DAG: ingot.state accumulator @"a/gradient" : tensor<7xbf16> = dense<0.000000e+00> : tensor<7xbf16> {shard = array<i64: 32, 39>}
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
    // expected-error@+1 {{C9: needs elements that the rank does not have}}
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

// RUN: ingot-opt %s --ingot-shard-updates --split-input-file --verify-diagnostics | FileCheck %s

// Tests that ranks have shards of codes and scales: parts of buckets that may be encoded begin at blocks, and buckets end
// with one.
// CHECK-DAG: ingot.state moment @"a/m/codes" : tensor<4200xui8> = dense<127> : tensor<4200xui8> {shard = #ingot.shard<first = 512, of = 4864>}
// CHECK-DAG: ingot.state moment @"a/m.absmax" : tensor<17xf32> = dense<0.000000e+00> : tensor<17xf32> {ingot.block = 256 : i64, shard = #ingot.shard<first = 512, of = 4864>}
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.all_gather_start %{{.*}}, %{{.*}} : (tensor<300xf32>, tensor<3x1400xf32>) -> tensor<4864xf32>
module {
  ingot.state parameter @a : tensor<3x1400xf32> = dense<0.0> : tensor<3x1400xf32>
  ingot.state parameter @b : tensor<300xf32> = dense<0.0> : tensor<300xf32>
  ingot.state moment @"a/m" : tensor<4200xf32> = dense<0.0> : tensor<4200xf32> {ingot.encoding = {block = 256 : i64, kind = "dyn8", parts = [@"a/m/codes", @"a/m.absmax"]}}
  ingot.state moment @"a/m/codes" : tensor<4200xui8> = dense<127> : tensor<4200xui8>
  ingot.state moment @"a/m.absmax" : tensor<17xf32> = dense<0.0> : tensor<17xf32> {ingot.block = 256 : i64}
  func.func @train_step(%a: tensor<3x1400xf32> {ingot.state = @a}, %b: tensor<300xf32> {ingot.state = @b},
      %codes: tensor<4200xui8> {ingot.state = @"a/m/codes"}, %scales: tensor<17xf32> {ingot.state = @"a/m.absmax"},
      %numbers: tensor<256xf32>, %cells: tensor<3073xui8>, %middles: tensor<256xf32>, %ga: tensor<3x1400xf32>, %gb: tensor<300xf32>)
      -> (tensor<3x1400xf32> {ingot.state = @a}, tensor<300xf32> {ingot.state = @b}, tensor<4200xui8> {ingot.state = @"a/m/codes"},
          tensor<17xf32> {ingot.state = @"a/m.absmax"}) {
    %bucket = ingot.reduce_scatter_start %gb, %ga : (tensor<300xf32>, tensor<3x1400xf32>) -> tensor<4864xf32>
    %sums:2 = ingot.reduce_scatter_wait %bucket : (tensor<4864xf32>) -> (tensor<300xf32>, tensor<3x1400xf32>)
    %g = ingot.reshape %sums#1 : tensor<3x1400xf32> -> tensor<4200xf32>
    %old = ingot.reshape %a : tensor<3x1400xf32> -> tensor<4200xf32>
    %m = ingot.decode_blocks %codes[%numbers] by %scales as "dyn8" block 256
        : (tensor<4200xui8>, tensor<256xf32>, tensor<17xf32>) -> tensor<4200xf32>
    %m2 = ingot.add %m, %g : tensor<4200xf32>
    %flat = ingot.sub %old, %m2 : tensor<4200xf32>
    %a2 = ingot.reshape %flat : tensor<4200xf32> -> tensor<3x1400xf32>
    %b2 = ingot.sub %b, %sums#0 : tensor<300xf32>
    %most = ingot.block_max %m2 block 256 : (tensor<4200xf32>) -> tensor<17xf32>
    %codes2 = ingot.encode_blocks %m2[%cells, %middles] by %most as "dyn8" block 256
        : (tensor<4200xf32>, tensor<3073xui8>, tensor<256xf32>, tensor<17xf32>) -> tensor<4200xui8>
    return %a2, %b2, %codes2, %most : tensor<3x1400xf32>, tensor<300xf32>, tensor<4200xui8>, tensor<17xf32>
  }
}

// -----

// Tests that blocks which are not within shards are refused.
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %g: tensor<7xf32>)
      -> (tensor<7xf32> {ingot.state = @a}, tensor<2xf32> {ingot.name = "most"}) {
    %bucket = ingot.reduce_scatter_start %g : (tensor<7xf32>) -> tensor<7xf32>
    %sum = ingot.reduce_scatter_wait %bucket : (tensor<7xf32>) -> tensor<7xf32>
    // expected-error@+1 {{C9: needs elements outside of the rank's shard}}
    %most = ingot.block_max %sum block 4 : (tensor<7xf32>) -> tensor<2xf32>
    return %sum, %most : tensor<7xf32>, tensor<2xf32>
  }
}

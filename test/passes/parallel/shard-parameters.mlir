// RUN: ingot-opt %s "--ingot-shard-updates=gradients parameters" --split-input-file --verify-diagnostics | FileCheck %s

// Tests that parameters and their compute copies have the shards of their gradients, that what reads them whole reads what
// is gathered, in one bucket for each type, and that updates read and write shards. The decay is computed from a shard, and
// once more from the whole parameter, which something else reads. A function that reads one parameter gathers its bucket.
// CHECK-DAG: ingot.state parameter @a : tensor<7xf32> = {{.*}} {shard = #ingot.shard<first = 32, of = 39>}
// CHECK-DAG: ingot.state parameter @b : tensor<3xf32> = {{.*}} {shard = #ingot.shard<first = 0, of = 39>}
// CHECK-DAG: ingot.state low_copy @"a/bf16" of @a : tensor<7xbf16> = {{.*}} {shard = #ingot.shard<first = 32, of = 39>}
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<7xf32> {ingot.state = @a}, %[[B:[a-z0-9]+]]: tensor<3xf32> {ingot.state = @b}, %[[AL:[a-z0-9]+]]: tensor<7xbf16> {ingot.state = @"a/bf16"}, %[[BL:[a-z0-9]+]]: tensor<3xbf16> {ingot.state = @"b/bf16"}
// CHECK: %[[LOW:.+]] = ingot.all_gather_start %[[BL]], %[[AL]] : (tensor<3xbf16>, tensor<7xbf16>) -> tensor<39xbf16>
// CHECK: %[[LOWS:.+]]:2 = ingot.all_gather_wait %[[LOW]]
// CHECK: ingot.reduce sum %[[LOWS]]#1
// CHECK: %[[OWN:.+]] = ingot.mul %[[A]], %[[A]]
// CHECK: %[[HIGH:.+]] = ingot.all_gather_start %[[B]], %[[A]]
// CHECK: %[[HIGHS:.+]]:2 = ingot.all_gather_wait %[[HIGH]]
// CHECK: %[[WHOLE:.+]] = ingot.mul %[[HIGHS]]#1, %[[HIGHS]]#1
// CHECK: ingot.reduce sum %[[WHOLE]]
// CHECK: %[[SUMS:.+]]:2 = ingot.reduce_scatter_wait
// CHECK: %[[STEP:.+]] = ingot.add %[[OWN]], %[[SUMS]]#1
// CHECK: %[[NA:.+]] = ingot.sub %[[A]], %[[STEP]]
// CHECK: %[[NB:.+]] = ingot.sub %[[B]], %[[SUMS]]#0
// CHECK-NOT: all_gather
// CHECK: return %{{.+}}, %{{.+}}, %[[NA]], %[[NB]],
// CHECK-LABEL: func.func @predict
// CHECK: %[[ONE:.+]] = ingot.all_gather_start %{{.+}}, %{{.+}} : (tensor<3xbf16>, tensor<7xbf16>)
// CHECK: %[[TWO:.+]]:2 = ingot.all_gather_wait %[[ONE]]
// CHECK: ingot.reduce sum %[[TWO]]#0
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  ingot.state low_copy @"a/bf16" of @a : tensor<7xbf16> = dense<0.0> : tensor<7xbf16>
  ingot.state low_copy @"b/bf16" of @b : tensor<3xbf16> = dense<0.0> : tensor<3xbf16>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %b: tensor<3xf32> {ingot.state = @b}, %al: tensor<7xbf16> {ingot.state = @"a/bf16"},
      %bl: tensor<3xbf16> {ingot.state = @"b/bf16"}, %ga: tensor<7xf32>, %gb: tensor<3xf32>)
      -> (tensor<bf16>, tensor<f32>, tensor<7xf32> {ingot.state = @a}, tensor<3xf32> {ingot.state = @b}, tensor<7xbf16> {ingot.state = @"a/bf16"}, tensor<3xbf16> {ingot.state = @"b/bf16"}) {
    %read = ingot.reduce sum %al dims = [0] : (tensor<7xbf16>) -> tensor<bf16>
    %decay = ingot.mul %a, %a : tensor<7xf32>
    %norm = ingot.reduce sum %decay dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %bucket = ingot.reduce_scatter_start %gb, %ga : (tensor<3xf32>, tensor<7xf32>) -> tensor<39xf32>
    %sums:2 = ingot.reduce_scatter_wait %bucket : (tensor<39xf32>) -> (tensor<3xf32>, tensor<7xf32>)
    %step = ingot.add %decay, %sums#1 : tensor<7xf32>
    %na = ingot.sub %a, %step : tensor<7xf32>
    %nb = ingot.sub %b, %sums#0 : tensor<3xf32>
    %nal = ingot.cast %na : tensor<7xf32> -> tensor<7xbf16>
    %nbl = ingot.cast %nb : tensor<3xf32> -> tensor<3xbf16>
    return %read, %norm, %na, %nb, %nal, %nbl : tensor<bf16>, tensor<f32>, tensor<7xf32>, tensor<3xf32>, tensor<7xbf16>, tensor<3xbf16>
  }
  func.func @predict(%bl: tensor<3xbf16> {ingot.state = @"b/bf16"}) -> (tensor<bf16> {ingot.name = "y"}) {
    %y = ingot.reduce sum %bl dims = [0] : (tensor<3xbf16>) -> tensor<bf16>
    return %y : tensor<bf16>
  }
}

// -----

// Tests that a bucket that cannot be gathered in one type is refused.
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  ingot.state low_copy @"a/bf16" of @a : tensor<7xbf16> = dense<0.0> : tensor<7xbf16>
  // expected-error@+1 {{a bucket of gradients has parameters that are not gathered in one type: a/bf16}}
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %b: tensor<3xf32> {ingot.state = @b}, %al: tensor<7xbf16> {ingot.state = @"a/bf16"}, %ga: tensor<7xf32>, %gb: tensor<3xf32>)
      -> (tensor<bf16>, tensor<7xf32> {ingot.state = @a}, tensor<3xf32> {ingot.state = @b}, tensor<7xbf16> {ingot.state = @"a/bf16"}) {
    %read = ingot.reduce sum %al dims = [0] : (tensor<7xbf16>) -> tensor<bf16>
    %bucket = ingot.reduce_scatter_start %gb, %ga : (tensor<3xf32>, tensor<7xf32>) -> tensor<39xf32>
    %sums:2 = ingot.reduce_scatter_wait %bucket : (tensor<39xf32>) -> (tensor<3xf32>, tensor<7xf32>)
    %na = ingot.sub %a, %sums#1 : tensor<7xf32>
    %nb = ingot.sub %b, %sums#0 : tensor<3xf32>
    %nal = ingot.cast %na : tensor<7xf32> -> tensor<7xbf16>
    return %read, %na, %nb, %nal : tensor<bf16>, tensor<7xf32>, tensor<3xf32>, tensor<7xbf16>
  }
}

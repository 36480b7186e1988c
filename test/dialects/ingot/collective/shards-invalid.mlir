// RUN: ingot-opt %s --ingot-form-fusions --split-input-file --verify-diagnostics

// Tests what passes refuse of tensors of which each rank has a shard.

// Parts are gathered in the order in which they were scattered.
func.func @gathered(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %sums = ingot.reduce_scatter_start %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<35xf32>
  %0:2 = ingot.reduce_scatter_wait %sums : (tensor<35xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  %1 = ingot.neg %0#0 : tensor<2xf32>
  // expected-error@+1 {{C8: a part must have the offset of its shards: 32 of 35, got 0 of 34}}
  %bucket = ingot.all_gather_start %0#1, %1 : (tensor<3xf32>, tensor<2xf32>) -> tensor<34xf32>
  %2:2 = ingot.all_gather_wait %bucket : (tensor<34xf32>) -> (tensor<3xf32>, tensor<2xf32>)
  return %2#0, %2#1 : tensor<3xf32>, tensor<2xf32>
}

// -----

// A part lies where it should, in a bucket that is longer.
func.func @other_bucket(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %sums = ingot.reduce_scatter_start %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<35xf32>
  %0:2 = ingot.reduce_scatter_wait %sums : (tensor<35xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  // expected-error@+1 {{C8: a part must have the offset of its shards: 0 of 35, got 0 of 2}}
  %bucket = ingot.all_gather_start %0#0 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ingot.all_gather_wait %bucket : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// Whole tensors may be anywhere: every rank has its shard of them.
func.func @whole(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %bucket = ingot.all_gather_start %y, %x : (tensor<3xf32>, tensor<2xf32>) -> tensor<34xf32>
  %0:2 = ingot.all_gather_wait %bucket : (tensor<34xf32>) -> (tensor<3xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<2xf32>
}

// -----

func.func @new_states(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %sums = ingot.reduce_scatter_start %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<35xf32>
  %0:2 = ingot.reduce_scatter_wait %sums : (tensor<35xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  // expected-error@+1 {{C8: a part must have the offset of its shards: 0 of 35, got 32 of 35}}
  %1:2 = ingot.state_gather_start 0 %0#0, %0#1 at [32, 0] of 35 : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  return %1#0, %1#1 : tensor<2xf32>, tensor<3xf32>
}

// -----

module {
  ingot.state parameter @w : tensor<2xf32> = dense<0.0> : tensor<2xf32> {gathered = #ingot.gathered<bucket = 0, first = 32, of = 34>}
  func.func @forward(%w: tensor<2xf32> {ingot.state = @w}) -> tensor<2xf32> {
    // expected-error@+1 {{C8: a part must have the offset of its shards: 32 of 34, got 0 of 34}}
    %0 = ingot.state_gather_wait 0 %w at [0] of 34 : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

func.func @elsewhere(%x: tensor<2xf32>) -> tensor<2xf32> {
  %sums = ingot.reduce_scatter_start %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<34xf32>
  %0:2 = ingot.reduce_scatter_wait %sums : (tensor<34xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-error@+1 {{C9: needs elements outside of the rank's shard}}
  %1 = ingot.add %0#0, %0#1 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

func.func @fused(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %sums = ingot.reduce_scatter_start %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<34xf32>
  %0:2 = ingot.reduce_scatter_wait %sums : (tensor<34xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-error@+1 {{C9: combines values of different shards, or of a shard and a whole tensor}}
  %1:2 = ingot.fusion loop(%0#0, %0#1) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %2 = ingot.neg %a : tensor<2xf32>
    %3 = ingot.exp %b : tensor<2xf32>
    ingot.yield %2, %3 : tensor<2xf32>, tensor<2xf32>
  }
  return %1#0, %1#1 : tensor<2xf32>, tensor<2xf32>
}

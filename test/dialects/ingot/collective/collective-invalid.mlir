// RUN: ingot-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error@+1 {{C1: the bucket must have rank 1, got 2}}
  %0 = ingot.all_reduce_start %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = ingot.all_reduce_wait %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

func.func @element(%x: tensor<2xf32>, %y: tensor<2xbf16>) -> tensor<2xf32> {
  // expected-error@+1 {{C2: parts and bucket must have one element type, got 'bf16' and 'f32'}}
  %0 = ingot.all_reduce_start %x, %y : (tensor<2xf32>, tensor<2xbf16>) -> tensor<4xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @count(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C3: the bucket must have as many elements as its parts take, 19, got 6}}
  %0 = ingot.all_reduce_start %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<6xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @user(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C4: only all_reduce_wait may use the bucket}}
  %0 = ingot.all_reduce_start %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @source(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C5: the bucket must come from all_reduce_start}}
  %0 = ingot.all_reduce_wait %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @scatter_layout(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C3: the bucket must have as many elements as its parts take, 35, got 19}}
  %0 = ingot.reduce_scatter_start %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<19xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @gather_source(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C5: the bucket must come from all_gather_start}}
  %0 = ingot.all_gather_wait %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @place(%x: tensor<2xf32>) -> tensor<f64> {
  // expected-error@+1 {{C6: the tensor must lie within its bucket, at a multiple of 32, got 2 elements at 31 of 64}}
  %0 = ingot.shard_square_sum %x at 31 of 64 : tensor<2xf32> -> tensor<f64>
  return %0 : tensor<f64>
}

// -----

func.func @scalar(%x: tensor<2xf32>) -> tensor<1xf64> {
  // expected-error@+1 {{C7: the result must be a scalar}}
  %0 = ingot.shard_square_sum %x at 0 of 2 : tensor<2xf32> -> tensor<1xf64>
  return %0 : tensor<1xf64>
}

// -----

func.func @too_large_k(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C10: topk keeps 1 to 2 elements, others none; got 3}}
  %0 = ingot.compress %x {compression = #ingot<compression topk>, k = 3 : i64} : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @k_of_int8(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C10: topk keeps 1 to 2 elements, others none; got 1}}
  %0 = ingot.compress %x {compression = #ingot<compression int8>, k = 1 : i64} : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @uncompressed(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C14: `none` is no compression}}
  %0 = ingot.compress %x {compression = #ingot<compression none>} : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @compressed_type(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  // expected-error@+1 {{C11: a compressed bucket must be f32, got 'tensor<2xbf16>'}}
  %0 = ingot.all_reduce_start %x {compression = #ingot<compression int8>} : (tensor<2xbf16>) -> tensor<2xbf16>
  return %x : tensor<2xbf16>
}

// -----

func.func @state_types(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  // expected-error@+1 {{C12: results must have the operands' types, want 'tensor<4xf32>', got 'tensor<2x2xf32>'}}
  %0 = ingot.state_gather_wait 0 %x at [0] of 4 : (tensor<4xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @state_places(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{C13: each part needs its offset in the bucket, got 1 parts and 2 offsets}}
  %0 = ingot.state_gather_wait 0 %x at [0, 32] of 36 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @state_outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{C13: parts must have one element type and lie within their bucket, at multiples of 32, got 'tensor<4xf32>' at 32 of 35}}
  %0 = ingot.state_gather_start 0 %x at [32] of 35 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Large sharded buckets are padded to equal shards, here to 66 times 6144.
func.func @reduce_scatter_padded(%a: tensor<400000xf32>) -> tensor<400000xf32> {
  %0 = ingot.reduce_scatter_start %a : (tensor<400000xf32>) -> tensor<405504xf32>
  %1 = ingot.reduce_scatter_wait %0 : (tensor<405504xf32>) -> tensor<400000xf32>
  // expected-error @+1 {{C3: the bucket must have as many elements as its parts take, 405504, got 400000}}
  %2 = ingot.reduce_scatter_start %a : (tensor<400000xf32>) -> tensor<400000xf32>
  return %1 : tensor<400000xf32>
}

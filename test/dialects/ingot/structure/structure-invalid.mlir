// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/structure.md.

// expected-error @+1 {{'ingot.state' op C1: the initial value must be 'tensor<2xf32>', got 'tensor<3xf32>'}}
ingot.state parameter @w : tensor<2xf32> = dense<0.0> : tensor<3xf32>

// -----

// expected-error @+1 {{C2: a parameter must be floating point, got 'tensor<2xi64>'}}
ingot.state parameter @w : tensor<2xi64> = dense<0> : tensor<2xi64>

// -----

// expected-error @+1 {{C2: a moment must be floating point or ui8, got 'tensor<2xi64>'}}
ingot.state moment @m : tensor<2xi64> = dense<0> : tensor<2xi64>

// -----

// expected-error @+1 {{C3: a step must be tensor<i64>, got 'tensor<1xi64>'}}
ingot.state step @step : tensor<1xi64> = dense<0> : tensor<1xi64>

// -----

// expected-error @+1 {{C3: a seed must be tensor<i64>, got 'tensor<i32>'}}
ingot.state seed @seed : tensor<i32> = dense<0> : tensor<i32>

// -----

func.func @barrier(%a: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{'ingot.barrier' op C1: results must have the operands' types, want 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = ingot.barrier %a : (tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @arguments(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{'ingot.fusion' op C1: the body's arguments must be the inputs, want 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = ingot.fusion loop (%a) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<3xf32>):
    %1 = ingot.constant dense<0.0> : tensor<2xf32>
    ingot.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @yields(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{C2: the body must yield the results, want 'tensor<2xf32>', got }}
  %0 = ingot.fusion loop (%a) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    %1 = ingot.exp %x : tensor<2xf32>
    ingot.yield %1, %1 : tensor<2xf32>, tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @nothing(%a: tensor<2xf32>) {
  // expected-error @+1 {{C3: must have a result}}
  ingot.fusion loop (%a) : (tensor<2xf32>) -> () {
  ^bb0(%x: tensor<2xf32>):
    ingot.yield
  }
  return
}

// -----

func.func @no_scalar_body(%i: tensor<3xi64>, %u: tensor<3x2xf32>) -> tensor<5x2xf32> {
  %0 = ingot.fusion loop (%i, %u) : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf32> {
  ^bb0(%x: tensor<3xi64>, %y: tensor<3x2xf32>):
    // expected-error @+1 {{C4: has no scalar body, so that a loop fusion cannot hold it}}
    %1 = ingot.scatter_add %y[%x] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf32>
    ingot.yield %1 : tensor<5x2xf32>
  }
  return %0 : tensor<5x2xf32>
}

// -----

func.func @data(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ingot.fusion loop (%a) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    // expected-error @+1 {{C5: a constant within a fusion must be a splat}}
    %1 = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %2 = ingot.add %x, %1 : tensor<2xf32>
    ingot.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @shapes(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>) {
  // expected-error @+1 {{C6: results of a loop fusion must have one shape, want that of 'tensor<2xf32>', got 'tensor<1xf32>' for result 1}}
  %0:2 = ingot.fusion loop (%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>) {
  ^bb0(%x: tensor<2xf32>):
    %1 = ingot.exp %x : tensor<2xf32>
    %2 = ingot.slice %x starts = [0] limits = [1] strides = [1] : (tensor<2xf32>) -> tensor<1xf32>
    ingot.yield %1, %2 : tensor<2xf32>, tensor<1xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<1xf32>
}

// -----

func.func @no_reduction(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{C7: a reduction fusion must yield reductions, but value 0 is none}}
  %0 = ingot.fusion reduction (%a) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    %1 = ingot.exp %x : tensor<2xf32>
    ingot.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @spaces(%a: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // expected-error @+1 {{C8: the reductions must fold one iteration space, want [2, 2] over [0], got [2, 2] over [1] for value 1}}
  %0:2 = ingot.fusion reduction (%a) : (tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.reduce sum %x dims = [0] : (tensor<2x2xf32>) -> tensor<2xf32>
    %2 = ingot.reduce sum %x dims = [1] : (tensor<2x2xf32>) -> tensor<2xf32>
    ingot.yield %1, %2 : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

// -----

func.func @no_kernel(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{C9: a custom fusion must hold one op, with a kernel body, got 1 ops}}
  %0 = ingot.fusion custom (%a) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    %1 = ingot.exp %x : tensor<2xf32>
    ingot.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

func.func @order(%i: tensor<3xi64>, %u: tensor<3x2xf32>) -> tensor<5x2xf32> {
  // expected-error @+1 {{C10: the op of a custom fusion must take the arguments and give the results in order}}
  %0 = ingot.fusion custom (%u, %i) : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<5x2xf32> {
  ^bb0(%y: tensor<3x2xf32>, %x: tensor<3xi64>):
    %1 = ingot.scatter_add %y[%x] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<5x2xf32>
    ingot.yield %1 : tensor<5x2xf32>
  }
  return %0 : tensor<5x2xf32>
}

// -----

func.func @no_rows(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{C11: a row fusion must hold a reduction over whole rows}}
  %0 = ingot.fusion row (%a) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%x: tensor<4x2xf32>):
    %1 = ingot.exp %x : tensor<4x2xf32>
    ingot.yield %1 : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}

// -----

func.func @column_sums(%a: tensor<4x2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{C11: a row fusion must hold a reduction over whole rows}}
  %0 = ingot.fusion row (%a) : (tensor<4x2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<4x2xf32>):
    %1 = ingot.reduce sum %x dims = [0] : (tensor<4x2xf32>) -> tensor<2xf32>
    ingot.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// -----

// Row i of the result needs the sum of row j.
func.func @across_rows(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = ingot.fusion row (%a) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%x: tensor<4x4xf32>):
    // expected-error @+1 {{C12: is not computed row by row, in rows of 4 elements}}
    %1 = ingot.reduce sum %x dims = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
    %2 = ingot.broadcast %1 dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
    %3 = ingot.mul %x, %2 : tensor<4x4xf32>
    ingot.yield %3 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// A loop that reads another one's result cannot run beside it.
func.func @dependent_group(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = ingot.fusion group (%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x: tensor<4xf32>):
    %1 = ingot.fusion loop (%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%y: tensor<4xf32>):
      %3 = ingot.exp %y : tensor<4xf32>
      ingot.yield %3 : tensor<4xf32>
    }
    // expected-error @+1 {{C17: a group fusion must contain loop fusions whose operands are operands of the group}}
    %2 = ingot.fusion loop (%1) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%y: tensor<4xf32>):
      %3 = ingot.exp %y : tensor<4xf32>
      ingot.yield %3 : tensor<4xf32>
    }
    ingot.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @group_order(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @+1 {{C18: a group fusion must yield the results of its loops in order}}
  %0:2 = ingot.fusion group (%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x: tensor<4xf32>):
    %1 = ingot.fusion loop (%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%y: tensor<4xf32>):
      %3 = ingot.exp %y : tensor<4xf32>
      ingot.yield %3 : tensor<4xf32>
    }
    ingot.yield %1, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{F1: "ingot.state" must name a state}}
func.func @f(%a: tensor<2xf32> {ingot.state = "w"}) {
  return
}

// -----

// expected-error @+1 {{F1: "ingot.state" names @w, which is not a state}}
func.func @f(%a: tensor<2xf32> {ingot.state = @w}) {
  return
}

// -----

ingot.state parameter @w : tensor<2xf32> = dense<0.0> : tensor<2xf32>
// expected-error @+1 {{F2: the value of state @w must be 'tensor<2xf32>', got 'tensor<3xf32>'}}
func.func @f(%a: tensor<3xf32>) -> (tensor<3xf32> {ingot.state = @w}) {
  return %a : tensor<3xf32>
}

// -----

ingot.state parameter @w : tensor<2xf32> = dense<0.0> : tensor<2xf32>
// expected-error @+1 {{F2: the value of state @w must be 'tensor<2xf32>', got 'tensor<3xf32>'}}
func.func @f(%a: tensor<3xf32>) -> (tensor<3xf32> {ingot.gradient = @w}) {
  return %a : tensor<3xf32>
}

// -----

// expected-error @+1 {{F3: "ingot.name" must be a string}}
func.func @f(%a: tensor<2xf32> {ingot.name = 3}) {
  return
}

// -----

// expected-error @+1 {{F4: "ingot.kind" must be one of data, labels, hyper, valid, cotangent, got "date"}}
func.func @f(%a: tensor<2xf32> {ingot.kind = "date"}) {
  return
}

// -----

// expected-error @+1 {{F5: an argument cannot have the attribute ingot.gradient}}
func.func @f(%a: tensor<2xf32> {ingot.gradient = @w}) {
  return
}

// -----

// expected-error @+1 {{F5: a result cannot have the attribute ingot.kind}}
func.func @f(%a: tensor<2xf32>) -> (tensor<2xf32> {ingot.kind = "data"}) {
  return %a : tensor<2xf32>
}

// -----

// expected-error @+1 {{F6: ingot.classes must be a positive integer, got 0 : i64}}
func.func @f(%a: tensor<2xi64> {ingot.kind = "labels", ingot.classes = 0}) {
  return
}

// -----

// expected-error @+1 {{'ingot.state' op C4: a loss_scale must be a scalar or a vector, got 'tensor<2x2xf32>'}}
ingot.state loss_scale @s : tensor<2x2xf32> = dense<1.0> : tensor<2x2xf32>

// -----

// expected-error @+1 {{'ingot.state' op C5: a low_copy must be floating point and name the state that it copies}}
ingot.state low_copy @c : tensor<2xbf16> = dense<0.0> : tensor<2xbf16>

// -----

// expected-error @+1 {{'ingot.state' op C8: a state that is split into halves must be an f32 parameter and name both halves}}
ingot.state parameter @w : tensor<2xf32> = dense<0.0> : tensor<2xf32> {halves = [@c]}

// -----

// expected-error @+1 {{'ingot.state' op C10: coordinates must be 'tensor<5xi64>', got 'tensor<5xi32>'}}
ingot.state coordinates @c : tensor<5xi32> = dense<0> : tensor<5xi32>

// -----

// expected-error @+1 {{'ingot.state' op C9: a lower_half must have i16 elements and name the parameter that it is a half of}}
ingot.state lower_half @c : tensor<2xi16> = dense<0> : tensor<2xi16>

// -----

func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{C13: an epilogue fusion must contain one library call that supports an epilogue}}
  %0 = ingot.fusion epilogue(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%x: tensor<2x3xf32>):
    %1 = ingot.exp %x : tensor<2x3xf32>
    ingot.yield %1 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// -----

func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = ingot.fusion epilogue(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.exp %x : tensor<2x2xf32>
    // expected-error @+1 {{C14: must take operands of the fusion}}
    %2 = ingot.matmul %1, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = ingot.exp %2 : tensor<2x2xf32>
    ingot.yield %3 : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

// -----

func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = ingot.fusion epilogue(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%x: tensor<2x2xf32>):
    // expected-error @+1 {{C15: does not read the library call's result at the current element}}
    %1 = ingot.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = ingot.transpose %1 [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    ingot.yield %2 : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

// -----

func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xbf16> {
  // expected-error @+1 {{C16: no result has the element type of the library call's result}}
  %0 = ingot.fusion epilogue(%a) : (tensor<2x2xf32>) -> tensor<2x2xbf16> {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = ingot.cast %1 : tensor<2x2xf32> -> tensor<2x2xbf16>
    ingot.yield %2 : tensor<2x2xbf16>
  }
  return %0 : tensor<2x2xbf16>
}

// -----

// expected-error@+1 {{C6: a sharded state must be floating point, or codes, and lie within its bucket}}
ingot.state moment @m : tensor<4xf32> = dense<0.0> : tensor<4xf32> {shard = #ingot.shard<first = 32, of = 35>}

// -----

// expected-error@+1 {{C7: a gathered state must be an unsharded parameter and lie within its bucket}}
ingot.state moment @m : tensor<4xf32> = dense<0.0> : tensor<4xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 35>}

// -----

func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{C19: `library` must name inputs and results}}
  %0 = ingot.fusion epilogue(%a) attributes {library = #ingot.library_epilogue<relu bias = 1 result = 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    ingot.yield %1 : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

// -----

func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{C19: only an epilogue fusion has `library`}}
  %0 = ingot.fusion loop(%a) attributes {library = #ingot.library_epilogue<relu result = 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.exp %x : tensor<2x2xf32>
    ingot.yield %1 : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}

// -----

func.func @f(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  // expected-error @+1 {{C20: `bias_grad` must be a sum}}
  %0:2 = ingot.fusion epilogue(%a) attributes {library = #ingot.library_epilogue<identity result = 0 bias_grad = 1 of lhs>} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = ingot.exp %x : tensor<2x2xf32>
    ingot.yield %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
  }
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

func.func @f(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  // expected-error @+1 {{C20: a result with its own order must be computed from inputs and other results}}
  %0:2 = ingot.fusion epilogue(%a) attributes {library = #ingot.library_epilogue<identity result = 0 bias_grad = 1 of result>} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  ^bb0(%x: tensor<2x2xf32>):
    %1 = ingot.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = ingot.exp %1 : tensor<2x2xf32>
    %3 = ingot.reduce sum %1 dims = [0] : (tensor<2x2xf32>) -> tensor<2xf32>
    ingot.yield %2, %3 : tensor<2x2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<2xf32>
}

// -----

func.func @tile_without_exchange(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @+1 {{C21: results of a tile fusion must be the elements of one matrix, one of them with rows and columns exchanged, or reductions of tiles}}
  %0 = ingot.fusion tile(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = ingot.neg %a : tensor<64x64xf32>
    ingot.yield %1 : tensor<64x64xf32>
  }
  return %0 : tensor<64x64xf32>
}

// -----

func.func @tile_argument(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @+1 {{C21: a tile fusion must compute its results}}
  %0 = ingot.fusion tile(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    ingot.yield %a : tensor<64x64xf32>
  }
  return %0 : tensor<64x64xf32>
}

// -----

func.func @tile_of_tile(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<1x1xf32>) {
  %0:2 = ingot.fusion tile(%x) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<1x1xf32>) {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = ingot.reshape %a : tensor<64x64xf32> -> tensor<1x64x1x64xf32>
    %2 = ingot.reduce max %1 dims = [1, 3] : (tensor<1x64x1x64xf32>) -> tensor<1x1xf32>
    // expected-error @+1 {{C22: is not computed tile by tile, in tiles of 64 x 64}}
    %scalar = ingot.reshape %2 : tensor<1x1xf32> -> tensor<f32>
    %3 = ingot.broadcast %scalar dims = [] : tensor<f32> -> tensor<64x64xf32>
    %4 = ingot.mul %a, %3 : tensor<64x64xf32>
    %5 = ingot.transpose %4 [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    ingot.yield %5, %2 : tensor<64x64xf32>, tensor<1x1xf32>
  }
  return %0#0, %0#1 : tensor<64x64xf32>, tensor<1x1xf32>
}

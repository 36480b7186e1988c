// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/loop.md.

func.func @results(%a: tensor<2xf32>) {
  // expected-error @+1 {{'ingot.loop' op C1: has 1 carried values and only 0 results}}
  ingot.loop 3 carries(%a) : (tensor<2xf32>) -> () {
  ^body(%p: tensor<2xf32>):
    ingot.yield %p : tensor<2xf32>
  }
  return
}

// -----

func.func @carried(%a: tensor<2xf32>) {
  // expected-error @+1 {{C1: a carried value must keep its type, want 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = ingot.loop 3 carries(%a) : (tensor<2xf32>) -> tensor<3xf32> {
  ^body(%p: tensor<2xf32>):
    ingot.yield %p : tensor<2xf32>
  }
  return
}

// -----

func.func @sequence(%x: tensor<2xf32>) {
  // expected-error @+1 {{C2: a sequence must have one slice for each of 3 iterations, got 'tensor<2xf32>'}}
  %0 = ingot.loop 3 slices(%x) : (tensor<2xf32>) -> tensor<3xf32> {
  ^body(%p: tensor<f32>):
    ingot.yield %p : tensor<f32>
  }
  return
}

// -----

func.func @output(%x: tensor<3xf32>) {
  // expected-error @+1 {{C2: an output must have one slice for each of 3 iterations, got 'tensor<f32>'}}
  %0 = ingot.loop 3 slices(%x) : (tensor<3xf32>) -> tensor<f32> {
  ^body(%p: tensor<f32>):
    ingot.yield %p : tensor<f32>
  }
  return
}

// -----

func.func @count(%x: tensor<0xf32>) {
  // expected-error @+1 {{attribute 'count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = ingot.loop 0 slices(%x) : (tensor<0xf32>) -> tensor<0xf32> {
  ^body(%p: tensor<f32>):
    ingot.yield %p : tensor<f32>
  }
  return
}

// -----

func.func @arguments(%x: tensor<3x2xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{C3: the body must take 'tensor<2xf32>', 'tensor<2xf32>', got 'tensor<2xf32>'}}
  %0 = ingot.loop 3 slices(%x) captures(%w) : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32> {
  ^body(%p: tensor<2xf32>):
    ingot.yield %p : tensor<2xf32>
  }
  return
}

// -----

func.func @yielded(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{C4: the body must yield 'tensor<2xf32>', got }}
  %0 = ingot.loop 3 slices(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32> {
  ^body(%p: tensor<2xf32>):
    ingot.yield
  }
  return
}

// -----

func.func @function(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{'ingot.repeat' op C5: @absent is no function}}
  %0 = ingot.repeat @absent 3 slices(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func private @body(%x: tensor<3xf32> {ingot.slot = @slice0}) -> (tensor<3xf32> {ingot.slot = @output0}) {
  return %x : tensor<3xf32>
}
func.func @types(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{C3: the body must take 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = ingot.repeat @body 3 slices(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

// expected-error @+1 {{F7: "ingot.slot" must be a symbol}}
func.func private @body(%x: tensor<3xf32> {ingot.slot = "slice0"}) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}

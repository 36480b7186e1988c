// Tests that the verifier rejects what is no partition of a tensor.
// RUN: ingot-opt %s --split-input-file --verify-diagnostics

// P1
module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be a dictionary for each dimension}}
ingot.state parameter @w : tensor<4x4xf32> = dense<0.0> : tensor<4x4xf32> {ingot.partition = [{tensor}]}
}

// -----

module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be in dimension 1, axes of ranks, alone or with a list of segments}}
ingot.state parameter @w : tensor<4x4xf32> = dense<0.0> : tensor<4x4xf32> {ingot.partition = [{}, {rows}]}
}

// -----

// The number of ranks along data is that of a run.
module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be axes whose number of ranks is in the mesh}}
ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32> {ingot.partition = [{data}]}
}

// -----

// P2
module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be axes that split one dimension each}}
ingot.state parameter @w : tensor<4x4xf32> = dense<0.0> : tensor<4x4xf32> {ingot.partition = [{tensor}, {tensor}]}
}

// -----

// P3
module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be in dimension 0, segments of 8 elements}}
ingot.state parameter @w : tensor<8xf32> = dense<0.0> : tensor<8xf32> {ingot.partition = [{tensor = [4, 2]}]}
}

// -----

// P4
module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be in dimension 0, segments that 2 ranks have equal parts of}}
ingot.state parameter @w : tensor<8xf32> = dense<0.0> : tensor<8xf32> {ingot.partition = [{tensor = [5, 3]}]}
}

// -----

module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: ingot.partition must be in dimension 0, less padding than there are parts}}
ingot.state parameter @w : tensor<6xf32> = dense<0.0> : tensor<6xf32> {ingot.partition = [{tensor, pad = 2}]}
}

// -----

// Nothing else has a partition.
module attributes {ingot.mesh = {tensor = 2}} {
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{F9: ingot.partition must be on a state, an argument or a result}}
  %0 = ingot.neg %x {ingot.partition = [{tensor}]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

module attributes {ingot.mesh = {tensor = 2}} {
// expected-error @below {{F9: "ingot.partition" must be in dimension 0, segments that 2 ranks have equal parts of}}
func.func @forward(%x: tensor<3xf32> {ingot.partition = [{tensor}]}) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
}

// -----

// F2: a state's value is whole, or a part of its partition.
module attributes {ingot.mesh = {tensor = 2}} {
ingot.state parameter @w : tensor<8xf32> = dense<0.0> : tensor<8xf32> {ingot.partition = [{tensor}]}
func.func @whole(%w: tensor<8xf32> {ingot.state = @w}) {
  return
}
func.func @part(%w: tensor<4xf32> {ingot.state = @w}) {
  return
}
// expected-error @below {{F2: the value of state @w must be 'tensor<8xf32>', got 'tensor<2xf32>'}}
func.func @other(%w: tensor<2xf32> {ingot.state = @w}) {
  return
}
}

// -----

// expected-error @+1 {{'func.func' op F10: "ingot.split_rows" must be an axis, of a function, got "rows"}}
func.func @rows() attributes {ingot.split_rows = "rows"} {
  return
}

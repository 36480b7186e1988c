// RUN: ingot-opt %s --split-input-file --verify-diagnostics

func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C1: an exchange is over one or more different axes}}
  %0 = ingot.all_reduce sum %x over [data, data] : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @none(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C1: an exchange is over one or more different axes}}
  %0 = ingot.permute %x by 1 over [] : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @name(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'expert' is not an axis of ranks: pipeline, data, inner, context, tensor}}
  %0 = ingot.all_reduce sum %x over [expert] : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @kind(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C2: ranks exchange sums, maxima or minima}}
  %0 = ingot.all_reduce prod %x over [data] : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @unknown(%x: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{C3: shapes cannot depend on the ranks of an axis whose number a run decides}}
  %0 = ingot.all_gather %x dim 0 over [data] : tensor<2xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module attributes {ingot.mesh = {tensor = 2}} {
func.func @uneven(%x: tensor<3xf32>) -> tensor<1xf32> {
  // expected-error@+1 {{C3: dimension 0 of 'tensor<3xf32>' has no 2 equal parts}}
  %0 = ingot.part %x dim 0 over [tensor] : tensor<3xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
}

// -----

module attributes {ingot.mesh = {tensor = 2}} {
func.func @shape(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{C3: the result must have type 'tensor<8x1xf32>', got 'tensor<4x2xf32>'}}
  %0 = ingot.all_to_all %x split 1 concat 0 over [tensor] : tensor<4x2xf32> -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
}

// -----

module attributes {ingot.mesh = {tensor = 2}} {
func.func @dimension(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C3: 'tensor<4xf32>' has no dimension 1}}
  %0 = ingot.reduce_scatter sum %x dim 1 over [tensor] : tensor<4xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
}

// -----

func.func @ring(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{C4: a ring is along one axis, got 2}}
  %0 = ingot.permute %x by 1 over [context, tensor] : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error@+1 {{F8: ingot.mesh must be one or more ranks along each axis, got {tensor = 0 : i64}}}
module attributes {ingot.mesh = {tensor = 0}} {
}

// -----

// expected-error@+1 {{F8: ingot.mesh must be of the axes pipeline, data, inner, context, tensor, got {expert = 2 : i64}}}
module attributes {ingot.mesh = {expert = 2}} {
}

// -----

// expected-error@+1 {{F8: ingot.mesh must be a dictionary of axes, got 4 : i64}}
module attributes {ingot.mesh = 4 : i64} {
}

// RUN: ingot-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{F8: ingot.adapters must be an array of adapters}}
module attributes {ingot.adapters = [{a = @a, b = @b, weight = @w, module = "up", bias = "none", scale = 2.0 : f64, alpha = 4.0 : f64}]} {}

// -----

// expected-error@+1 {{F8: ingot.adapters belongs to a module}}
func.func private @f() attributes {ingot.adapters = []}

// -----

// expected-error@+1 {{F10: ingot.uniform must be a finite number on a state of floats, got -1.000000e+00}}
ingot.state parameter @negative : tensor<2xf32> = dense<0.0> : tensor<2xf32> {ingot.uniform = -1.0 : f64}

// -----

// expected-error@+1 {{F10: ingot.uniform must be a finite number on a state of floats}}
ingot.state step @integers : tensor<i64> = dense<0> : tensor<i64> {ingot.uniform = 1.0 : f64}

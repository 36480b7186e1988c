// RUN: ingot-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{F8: ingot.quantizers must be an array of quantizers}}
module attributes {ingot.quantizers = [{scale = @s, least = 0.0 : f64, greatest = 255.0 : f64}]} {}

// -----

// expected-error@+1 {{F8: ingot.quantizers belongs to a module}}
func.func private @f() attributes {ingot.quantizers = []}

// -----

// expected-error@+1 {{F10: ingot.least must be a finite number on a parameter, got 1.000000e+00}}
ingot.state running @scale : tensor<2xf32> = dense<0.0> : tensor<2xf32> {ingot.least = 1.0 : f64}

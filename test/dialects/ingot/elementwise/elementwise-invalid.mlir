// RUN: ingot-opt %s -split-input-file -verify-diagnostics
// Constraints of docs/spec/elementwise.md.

func.func @c1(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating point or integer values}}
  %0 = ingot.add %a, %a : tensor<2xi1>
  return
}

// -----

func.func @c1_float(%a: tensor<2xi32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating point values}}
  %0 = ingot.exp %a : tensor<2xi32>
  return
}

// -----

func.func @c1_bool(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of integer or 1-bit signless integer values}}
  %0 = ingot.not %a : tensor<2xf32>
  return
}

// -----

func.func @c2(%a: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating point values}}
  %0 = ingot.exp %a : tensor<?xf32>
  return
}

// -----

func.func @c3(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "ingot.add"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @c3_result(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "ingot.exp"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @c4_compare(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{requires all operands to have the same type}}
  %0 = ingot.compare lt %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @c4_compare_result(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.compare lt %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @c5_select(%c: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.select %c, %a, %a : tensor<3xi1>, tensor<2xf32>
  return
}

// -----

func.func @c6_cast(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.cast %a : tensor<2xf32> -> tensor<3xi32>
  return
}

// -----

func.func @c7_drawn(%a: tensor<2xf32>, %drawn: tensor<3xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.stochastic_round %a, %drawn : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xbf16>
  return
}

// -----

func.func @c7_result(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.stochastic_round %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xbf16>
  return
}

// -----

func.func @c8_upper(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.upper_half %a : (tensor<2xf32>) -> tensor<3xbf16>
  return
}

// -----

func.func @c8_lower(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.lower_half %a : (tensor<2xf32>) -> tensor<3xi16>
  return
}

// -----

func.func @c8_join(%a: tensor<2xbf16>, %b: tensor<3xi16>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.join_halves %a, %b : (tensor<2xbf16>, tensor<3xi16>) -> tensor<2xf32>
  return
}

// -----

func.func @c9(%a: tensor<2xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = ingot.magnitude %a : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @c10(%a: tensor<2xf32>) {
  // expected-error @+1 {{C10: elements of 32 bits have no equals of 64 bits}}
  %0 = ingot.bitcast %a : tensor<2xf32> -> tensor<2xi64>
  return
}

// -----

func.func @shift_of_floats(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of integer values}}
  %0 = ingot.shift_left %a, %a : tensor<2xf32>
  return
}

// -----

func.func @c11_wide(%a: tensor<2xf32>) {
  // expected-error @+1 {{rounds to a signed float type of at most 8 bits, not 'bf16'}}
  %0 = ingot.reduce_precision %a to bf16 : tensor<2xf32>
  return
}

// -----

func.func @c11_unsigned(%a: tensor<2xf32>) {
  // expected-error @+1 {{rounds to a signed float type of at most 8 bits, not 'f8E8M0FNU'}}
  %0 = ingot.reduce_precision %a to f8E8M0FNU : tensor<2xf32>
  return
}

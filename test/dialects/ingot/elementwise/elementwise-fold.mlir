// RUN: ingot-opt %s --canonicalize | FileCheck %s
// Constants are computed, and only identities that keep NaN and infinities are
// used.

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = ingot.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %b = ingot.constant dense<[0.5, -2.0, 0.0]> : tensor<3xf32>
  // CHECK-DAG: dense<[1.500000e+00, 0.000000e+00, 4.000000e+00]>
  %0 = ingot.add %a, %b : tensor<3xf32>
  // CHECK-DAG: dense<[5.000000e-01, 4.000000e+00, 4.000000e+00]>
  %1 = ingot.sub %a, %b : tensor<3xf32>
  // CHECK-DAG: dense<[2.000000e+00, -1.000000e+00, 0x7F800000]>
  %2 = ingot.div %a, %b : tensor<3xf32>
  // CHECK-DAG: dense<[-5.000000e-01, 2.000000e+00, -0.000000e+00]>
  %3 = ingot.neg %b : tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Elements round in their own format: 1 + 2^-12 is 1 in f16.
// CHECK-LABEL: func.func @half
func.func @half() -> tensor<f16> {
  %a = ingot.constant dense<1.0> : tensor<f16>
  %b = ingot.constant dense<2.44140625e-4> : tensor<f16>
  // CHECK: ingot.constant dense<1.000000e+00> : tensor<f16>
  %0 = ingot.add %a, %b : tensor<f16>
  return %0 : tensor<f16>
}

// CHECK-LABEL: func.func @nan
func.func @nan() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = ingot.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %b = ingot.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  // CHECK: ingot.constant dense<0x7FC00000> : tensor<2xf32>
  %0 = ingot.max %a, %b : tensor<2xf32>
  %1 = ingot.min %a, %b : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// Division rounds towards zero, and by zero gives 0.
// CHECK-LABEL: func.func @integers
func.func @integers() -> (tensor<4xi32>, tensor<2xui8>, tensor<2xui8>) {
  %a = ingot.constant dense<[7, -7, 7, -2147483648]> : tensor<4xi32>
  %b = ingot.constant dense<[2, 2, 0, -1]> : tensor<4xi32>
  // CHECK-DAG: dense<[3, -3, 0, -2147483648]> : tensor<4xi32>
  %0 = ingot.div %a, %b : tensor<4xi32>
  %c = ingot.constant dense<[200, 3]> : tensor<2xui8>
  %d = ingot.constant dense<[100, 5]> : tensor<2xui8>
  // CHECK-DAG: dense<[200, 5]> : tensor<2xui8>
  %1 = ingot.max %c, %d : tensor<2xui8>
  // CHECK-DAG: dense<[44, 8]> : tensor<2xui8>
  %2 = ingot.add %c, %d : tensor<2xui8>
  return %0, %1, %2 : tensor<4xi32>, tensor<2xui8>, tensor<2xui8>
}

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<3xf32>
  %one = ingot.constant dense<1.0> : tensor<3xf32>
  %0 = ingot.add %zero, %x : tensor<3xf32>
  %1 = ingot.sub %x, %zero : tensor<3xf32>
  %2 = ingot.mul %one, %x : tensor<3xf32>
  %3 = ingot.div %x, %one : tensor<3xf32>
  %4 = ingot.neg %x : tensor<3xf32>
  %5 = ingot.neg %4 : tensor<3xf32>
  %6 = ingot.max %x, %x : tensor<3xf32>
  return %0, %1, %2, %3, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// 0 * inf and inf - inf are NaN.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = ingot.constant dense<0.0> : tensor<3xf32>
  // CHECK: ingot.mul
  %0 = ingot.mul %x, %zero : tensor<3xf32>
  // CHECK: ingot.sub
  %1 = ingot.sub %x, %x : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @integer_zeros
// CHECK: %[[ZERO:.*]] = ingot.constant dense<0> : tensor<3xi32>
// CHECK-NEXT: return %[[ZERO]], %[[ZERO]]
func.func @integer_zeros(%x: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %zero = ingot.constant dense<0> : tensor<3xi32>
  %0 = ingot.mul %x, %zero : tensor<3xi32>
  %1 = ingot.sub %x, %x : tensor<3xi32>
  return %0, %1 : tensor<3xi32>, tensor<3xi32>
}

// CHECK-LABEL: func.func @casts
func.func @casts() -> (tensor<3xi32>, tensor<3xf32>, tensor<3xi1>, tensor<2xf32>, tensor<2xbf16>) {
  %f = ingot.constant dense<[1.9, -1.9, 0.0]> : tensor<3xf32>
  // CHECK-DAG: dense<[1, -1, 0]> : tensor<3xi32>
  %0 = ingot.cast %f : tensor<3xf32> -> tensor<3xi32>
  // CHECK-DAG: dense<[1.000000e+00, -1.000000e+00, 0.000000e+00]> : tensor<3xf32>
  %1 = ingot.cast %0 : tensor<3xi32> -> tensor<3xf32>
  // CHECK-DAG: dense<[true, true, false]> : tensor<3xi1>
  %2 = ingot.cast %f : tensor<3xf32> -> tensor<3xi1>
  %b = ingot.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-DAG: dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  %3 = ingot.cast %b : tensor<2xi1> -> tensor<2xf32>
  // Ties to even: 1 + 2^-8 is 1, 1 + 3 * 2^-8 is 1 + 2^-6.
  %h = ingot.constant dense<[1.00390625, 1.01171875]> : tensor<2xf32>
  // CHECK-DAG: dense<[1.000000e+00, 1.015630e+00]> : tensor<2xbf16>
  %4 = ingot.cast %h : tensor<2xf32> -> tensor<2xbf16>
  return %0, %1, %2, %3, %4 : tensor<3xi32>, tensor<3xf32>, tensor<3xi1>, tensor<2xf32>, tensor<2xbf16>
}

// What the integer type cannot hold becomes the nearest end of its range, NaN
// becomes 0.
// CHECK-LABEL: func.func @unfit
func.func @unfit() -> (tensor<4xi32>, tensor<4xui8>) {
  %f = ingot.constant dense<[1.0e10, -1.0e10, 0x7FC00000, 0xFF800000]> : tensor<4xf32>
  // CHECK-DAG: dense<[2147483647, -2147483648, 0, -2147483648]> : tensor<4xi32>
  %0 = ingot.cast %f : tensor<4xf32> -> tensor<4xi32>
  // CHECK-DAG: dense<[255, 0, 0, 0]> : tensor<4xui8>
  %1 = ingot.cast %f : tensor<4xf32> -> tensor<4xui8>
  return %0, %1 : tensor<4xi32>, tensor<4xui8>
}

// Through a wider type and back nothing is lost; through a narrower one it is.
// CHECK-LABEL: func.func @round_trips
// CHECK-SAME: (%[[H:.*]]: tensor<2xbf16>, %[[F:.*]]: tensor<2xf32>)
func.func @round_trips(%h: tensor<2xbf16>, %f: tensor<2xf32>) -> (tensor<2xbf16>, tensor<2xf32>) {
  %0 = ingot.cast %h : tensor<2xbf16> -> tensor<2xf32>
  %1 = ingot.cast %0 : tensor<2xf32> -> tensor<2xbf16>
  // CHECK: %[[LOW:.*]] = ingot.cast %[[F]]
  %2 = ingot.cast %f : tensor<2xf32> -> tensor<2xf16>
  // CHECK: %[[BACK:.*]] = ingot.cast %[[LOW]]
  %3 = ingot.cast %2 : tensor<2xf16> -> tensor<2xf32>
  // CHECK: return %[[H]], %[[BACK]]
  return %1, %3 : tensor<2xbf16>, tensor<2xf32>
}

// CHECK-LABEL: func.func @booleans
// CHECK-SAME: (%[[A:.*]]: tensor<2xi1>, %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>)
func.func @booleans(%a: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>) {
  // CHECK: %[[C:.*]] = ingot.constant dense<[true, false]> : tensor<2xi1>
  %true = ingot.constant dense<true> : tensor<2xi1>
  %false = ingot.constant dense<false> : tensor<2xi1>
  %0 = ingot.and %true, %a : tensor<2xi1>
  %1 = ingot.or %a, %false : tensor<2xi1>
  %n = ingot.not %a : tensor<2xi1>
  %2 = ingot.not %n : tensor<2xi1>
  %3 = ingot.select %true, %x, %y : tensor<2xi1>, tensor<2xf32>
  %4 = ingot.select %false, %x, %y : tensor<2xi1>, tensor<2xf32>
  %c = ingot.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %5 = ingot.compare eq %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK: return %[[A]], %[[A]], %[[A]], %[[X]], %[[Y]], %[[C]]
  return %0, %1, %2, %3, %4, %5 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>
}

// Splats of any size fold; other constants up to 65536 elements.
// CHECK-LABEL: func.func @sizes
func.func @sizes() -> tensor<1000x1000xf32> {
  %a = ingot.constant dense<1.5> : tensor<1000x1000xf32>
  // CHECK: ingot.constant dense<3.000000e+00> : tensor<1000x1000xf32>
  %0 = ingot.add %a, %a : tensor<1000x1000xf32>
  return %0 : tensor<1000x1000xf32>
}

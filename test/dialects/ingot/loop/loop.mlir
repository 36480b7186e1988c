// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: func @all
// CHECK: ingot.loop 3 reverse carries(%{{.*}}) slices(%{{.*}}) captures(%{{.*}}) :
// CHECK-SAME: (tensor<2xf32>, tensor<3x2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2xf32>, %{{.*}}: tensor<2xf32>, %{{.*}}: tensor<2xf32>):
// CHECK: ingot.yield %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>
func.func @all(%a: tensor<2xf32>, %x: tensor<3x2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  %0:2 = ingot.loop 3 reverse carries(%a) slices(%x) captures(%w)
      : (tensor<2xf32>, tensor<3x2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  ^body(%p: tensor<2xf32>, %s: tensor<2xf32>, %v: tensor<2xf32>):
    %product = ingot.mul %p, %v : tensor<2xf32>
    %sum = ingot.add %product, %s : tensor<2xf32>
    ingot.yield %sum, %p : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<3x2xf32>
}

// CHECK-LABEL: func @function
// CHECK: ingot.repeat @body 3 carries(%{{.*}}) : (tensor<2xf32>) -> tensor<2xf32>
func.func @function(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ingot.repeat @body 3 carries(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @body(%a: tensor<2xf32> {ingot.slot = @carried0}) -> (tensor<2xf32> {ingot.slot = @carried0}) {
  %0 = ingot.neg %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// What is not used goes away: a carried value that only itself reads, with the
// sequence that it reads, and an output.
// CANON-LABEL: func @unused
// CANON: %[[R:.*]] = ingot.loop 3 carries(%{{.*}}) : (tensor<2xf32>) -> tensor<2xf32> {
// CANON-NEXT: ^bb0(%[[P:.*]]: tensor<2xf32>):
// CANON-NEXT: %[[N:.*]] = ingot.neg %[[P]]
// CANON-NEXT: ingot.yield %[[N]] : tensor<2xf32>
// CANON: return %[[R]]
func.func @unused(%a: tensor<2xf32>, %b: tensor<2xf32>, %x: tensor<3x2xf32>) -> tensor<2xf32> {
  %0:3 = ingot.loop 3 carries(%a, %b) slices(%x)
      : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) {
  ^body(%p: tensor<2xf32>, %q: tensor<2xf32>, %s: tensor<2xf32>):
    %n = ingot.neg %p : tensor<2xf32>
    %sum = ingot.add %q, %s : tensor<2xf32>
    ingot.yield %n, %sum, %s : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  return %0#0 : tensor<2xf32>
}

// What stays the same is a capture, splats are made in the body, and values
// given twice are one.
// CANON-LABEL: func @same
// CANON-SAME: (%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2xf32>)
// CANON: %[[R:.*]] = ingot.loop 3 carries(%[[A]]) captures(%[[B]]) :
// CANON-NEXT: ^bb0(%[[P:.*]]: tensor<2xf32>, %[[Q:.*]]: tensor<2xf32>):
// CANON-DAG: %[[ONE:.*]] = ingot.constant dense<1.000000e+00> : tensor<2xf32>
// CANON-DAG: %[[ADD:.*]] = ingot.add %[[P]], %[[Q]]
// CANON: ingot.mul %{{.*}}, %[[Q]]
// CANON: return %[[R]], %[[B]]
func.func @same(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %ones = ingot.constant dense<1.0> : tensor<3x2xf32>
  %0:2 = ingot.loop 3 carries(%a, %b) slices(%ones) captures(%b, %b)
      : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>)
      -> (tensor<2xf32>, tensor<2xf32>) {
  ^body(%p: tensor<2xf32>, %q: tensor<2xf32>, %s: tensor<2xf32>, %v: tensor<2xf32>, %w: tensor<2xf32>):
    %sum = ingot.add %p, %q : tensor<2xf32>
    %more = ingot.sub %sum, %s : tensor<2xf32>
    %product = ingot.mul %more, %v : tensor<2xf32>
    %last = ingot.div %product, %w : tensor<2xf32>
    ingot.yield %last, %q : tensor<2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

// What depends on captures only is computed before the loop, unless it is
// larger than they are.
// CANON-LABEL: func @invariant
// CANON: %[[C:.*]] = ingot.cast %{{.*}} : tensor<4x4xf32> -> tensor<4x4xbf16>
// CANON: ingot.loop 3 carries(%{{.*}}) captures(%{{.*}}) :
// CANON: ingot.matmul
// CANON: ingot.broadcast
func.func @invariant(%a: tensor<2x4xbf16>, %w: tensor<4x4xf32>, %b: tensor<4xbf16>) -> tensor<2x4xbf16> {
  %0 = ingot.loop 3 carries(%a) captures(%w, %b)
      : (tensor<2x4xbf16>, tensor<4x4xf32>, tensor<4xbf16>) -> tensor<2x4xbf16> {
  ^body(%p: tensor<2x4xbf16>, %v: tensor<4x4xf32>, %c: tensor<4xbf16>):
    %n = ingot.cast %v : tensor<4x4xf32> -> tensor<4x4xbf16>
    %m = ingot.matmul %p, %n : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
    %d = ingot.broadcast %c dims = [1] : tensor<4xbf16> -> tensor<2x4xbf16>
    %s = ingot.add %m, %d : tensor<2x4xbf16>
    ingot.yield %s : tensor<2x4xbf16>
  }
  return %0 : tensor<2x4xbf16>
}

// Sequences and outputs are in 16 bits where the body reads and computes these.
// CANON-LABEL: func @narrow
// CANON-SAME: (%[[X:.*]]: tensor<3x2xbf16>, %[[Y:.*]]: tensor<3x2xf32>)
// CANON: %[[N:.*]] = ingot.cast %[[Y]] : tensor<3x2xf32> -> tensor<3x2xbf16>
// CANON: %[[R:.*]] = ingot.loop 3 slices(%[[X]], %[[N]]) : (tensor<3x2xbf16>, tensor<3x2xbf16>) -> tensor<3x2xbf16>
// CANON: %[[W:.*]] = ingot.cast %[[R]] : tensor<3x2xbf16> -> tensor<3x2xf32>
// CANON: return %[[W]]
func.func @narrow(%x: tensor<3x2xbf16>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = ingot.cast %x : tensor<3x2xbf16> -> tensor<3x2xf32>
  %0 = ingot.loop 3 slices(%w, %y) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> {
  ^body(%s: tensor<2xf32>, %t: tensor<2xf32>):
    %a = ingot.cast %s : tensor<2xf32> -> tensor<2xbf16>
    %b = ingot.cast %t : tensor<2xf32> -> tensor<2xbf16>
    %sum = ingot.add %a, %b : tensor<2xbf16>
    %wide = ingot.cast %sum : tensor<2xbf16> -> tensor<2xf32>
    ingot.yield %wide : tensor<2xf32>
  }
  return %0 : tensor<3x2xf32>
}

// A row that the number of the iteration selects is a slice.
// CANON-LABEL: func @rows
// CANON-SAME: (%[[X:.*]]: tensor<2x4x3xf32>)
// CANON: ingot.loop 3 slices(%{{.*}}) : (tensor<3x2x3xf32>
// CANON-NOT: ingot.gather
// CANON: return
func.func @rows(%x: tensor<2x4x3xf32>) -> tensor<3x2x3xf32> {
  %i = ingot.iota {dim = 0 : i64} : tensor<3xi64>
  %0 = ingot.loop 3 slices(%i) captures(%x) : (tensor<3xi64>, tensor<2x4x3xf32>) -> tensor<3x2x3xf32> {
  ^body(%n: tensor<i64>, %all: tensor<2x4x3xf32>):
    %zero = ingot.constant dense<0> : tensor<i64>
    %size = ingot.constant dense<4> : tensor<i64>
    %negative = ingot.compare lt %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %back = ingot.add %n, %size : tensor<i64>
    %at = ingot.select %negative, %back, %n : tensor<i1>, tensor<i64>
    %row = ingot.gather %all[%at] dim = 1 : (tensor<2x4x3xf32>, tensor<i64>) -> tensor<2x3xf32>
    ingot.yield %row : tensor<2x3xf32>
  }
  return %0 : tensor<3x2x3xf32>
}

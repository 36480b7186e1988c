// RUN: ingot-eval --expect %s
// RUN: ingot-opt --canonicalize %s | ingot-eval --expect -
// RUN: ingot-opt --ingot-outline-loops %s | ingot-eval --expect -
// RUN: ingot-eval --expect --compiled=0 %s
// RUN: ingot-eval --expect --compiled %s

// Carried values that depend on one another, slices in order, a capture, and
// an output.
func.func @test_forward() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %a = ingot.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = ingot.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %x = ingot.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]>
      : tensor<3x2xf32>
  %w = ingot.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %actual:3 = ingot.loop 3 carries(%a, %b) slices(%x) captures(%w)
      : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2xf32>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) {
  ^body(%p: tensor<2xf32>, %q: tensor<2xf32>, %slice: tensor<2xf32>,
        %weight: tensor<2xf32>):
    %product = ingot.mul %p, %weight : tensor<2xf32>
    %sum = ingot.add %product, %slice : tensor<2xf32>
    ingot.yield %q, %sum, %p : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  // p: [1, 2], [0.5, -1], [3, 3]; sums: [3, 3], [4, 3.5], [11, 7.5].
  %p = ingot.constant dense<[4.0, 3.5]> : tensor<2xf32>
  %q = ingot.constant dense<[11.0, 7.5]> : tensor<2xf32>
  %all = ingot.constant dense<[[1.0, 2.0], [0.5, -1.0], [3.0, 3.0]]>
      : tensor<3x2xf32>
  func.return %actual#0, %p, %actual#1, %q, %actual#2, %all : tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>,
      tensor<3x2xf32>
}

// Slices and outputs from the last to the first; values that change places,
// one of them along a chain.
func.func @test_reverse() -> (tensor<i64>, tensor<i64>, tensor<i64>,
      tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xi64>, tensor<4xi64>) {
  %a = ingot.constant dense<1> : tensor<i64>
  %b = ingot.constant dense<2> : tensor<i64>
  %c = ingot.constant dense<3> : tensor<i64>
  %x = ingot.constant dense<[10, 20, 30, 40]> : tensor<4xi64>
  %actual:4 = ingot.loop 4 reverse carries(%a, %b, %c) slices(%x)
      : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xi64>)
      -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xi64>) {
  ^body(%p: tensor<i64>, %q: tensor<i64>, %r: tensor<i64>, %s: tensor<i64>):
    %sum = ingot.add %r, %s : tensor<i64>
    ingot.yield %q, %p, %sum, %sum : tensor<i64>, tensor<i64>, tensor<i64>,
        tensor<i64>
  }
  %sum = ingot.constant dense<103> : tensor<i64>
  %all = ingot.constant dense<[103, 93, 73, 43]> : tensor<4xi64>
  func.return %actual#0, %a, %actual#1, %b, %actual#2, %sum, %actual#3, %all
      : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>,
      tensor<i64>, tensor<4xi64>, tensor<4xi64>
}

func.func @test_rotation() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = ingot.constant dense<1.0> : tensor<2xf32>
  %b = ingot.constant dense<2.0> : tensor<2xf32>
  %c = ingot.constant dense<3.0> : tensor<2xf32>
  %actual:3 = ingot.loop 4 carries(%a, %b, %c)
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
      -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  ^body(%p: tensor<2xf32>, %q: tensor<2xf32>, %r: tensor<2xf32>):
    ingot.yield %r, %p, %q : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %actual#0, %c, %actual#1, %a, %actual#2, %b : tensor<2xf32>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xf32>
}

// A loop within a loop, one backwards: sums over all pairs.
func.func @test_nested() -> (tensor<2x3xi32>, tensor<2x3xi32>, tensor<i32>,
      tensor<i32>) {
  %x = ingot.constant dense<[1, 2]> : tensor<2xi32>
  %y = ingot.constant dense<[10, 20, 30]> : tensor<3xi32>
  %zero = ingot.constant dense<0> : tensor<i32>
  %actual:2 = ingot.loop 2 reverse carries(%zero) slices(%x) captures(%y)
      : (tensor<i32>, tensor<2xi32>, tensor<3xi32>)
      -> (tensor<i32>, tensor<2x3xi32>) {
  ^body(%sum: tensor<i32>, %a: tensor<i32>, %others: tensor<3xi32>):
    %inner:2 = ingot.loop 3 carries(%sum) slices(%others) captures(%a)
        : (tensor<i32>, tensor<3xi32>, tensor<i32>)
        -> (tensor<i32>, tensor<3xi32>) {
    ^body(%partial: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>):
      %product = ingot.mul %b, %c : tensor<i32>
      %next = ingot.add %partial, %product : tensor<i32>
      ingot.yield %next, %next : tensor<i32>, tensor<i32>
    }
    ingot.yield %inner#0, %inner#1 : tensor<i32>, tensor<3xi32>
  }
  %all = ingot.constant dense<[[130, 150, 180], [20, 60, 120]]>
      : tensor<2x3xi32>
  %sum = ingot.constant dense<180> : tensor<i32>
  func.return %actual#1, %all, %actual#0, %sum : tensor<2x3xi32>,
      tensor<2x3xi32>, tensor<i32>, tensor<i32>
}

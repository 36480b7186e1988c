// RUN: ingot-opt %s --ingot-merge-variants --split-input-file --verify-diagnostics | FileCheck %s

// The first variant's states and attributes are those of all.
// CHECK: module attributes {ingot.batch = 2 : i64, ingot.variants = ["seq=3", "seq=7"]}
// CHECK-NEXT: ingot.state parameter @w
// CHECK-NEXT: func.func @"train_step[seq=3]"(%{{.*}}: tensor<2x3xf32>
// CHECK: func.func @"train_step[seq=7]"(%{{.*}}: tensor<2x7xf32>
// CHECK-NOT: module
// CHECK-NOT: ingot.state parameter
module {
  module @"seq=3" attributes {ingot.batch = 2 : i64} {
    ingot.state parameter @w : tensor<2xf32> = dense<1.0> : tensor<2xf32>
    func.func @train_step(%x: tensor<2x3xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<2xf32> {ingot.state = @w})
        -> (tensor<2xf32> {ingot.state = @w}) {
      return %w : tensor<2xf32>
    }
  }
  module @"seq=7" attributes {ingot.batch = 2 : i64} {
    ingot.state parameter @w : tensor<2xf32> = dense<1.0> : tensor<2xf32>
    func.func @train_step(%x: tensor<2x7xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<2xf32> {ingot.state = @w})
        -> (tensor<2xf32> {ingot.state = @w}) {
      return %w : tensor<2xf32>
    }
  }
}

// -----

// Variants may differ in the batch alone.
// CHECK: module attributes {ingot.batch = 2 : i64, ingot.batches = array<i64: 2, 4>, ingot.variants = ["n=2", "n=4"]}
// CHECK-NEXT: func.func @"train_step[n=2]"(%{{.*}}: tensor<2x3xf32>
// CHECK-NEXT: return
// CHECK: func.func @"train_step[n=4]"(%{{.*}}: tensor<4x3xf32>
module {
  module @"n=2" attributes {ingot.batch = 2 : i64} {
    func.func @train_step(%x: tensor<2x3xf32>) {
      return
    }
  }
  module @"n=4" attributes {ingot.batch = 4 : i64} {
    func.func @train_step(%x: tensor<4x3xf32>) {
      return
    }
  }
}

// -----

module {
  module @"n=2" {
    ingot.state parameter @w : tensor<2xf32> = dense<1.0> : tensor<2xf32>
  }
  module @"n=4" {
    // expected-error @below {{the type or the use of this state depends on n=4}}
    // expected-note @below {{give --dim one size: variants share their states}}
    ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  }
}

// -----

// expected-error @unknown {{with k=4 samples have the same shapes as without}}
// expected-note @unknown {{give sizes that distinguish the data}}
module {
  module @"k=2" {
    func.func @train_step(%x: tensor<2x3xf32>) {
      return
    }
  }
  module @"k=4" {
    func.func @train_step(%x: tensor<2x3xf32>) {
      return
    }
  }
}

// -----

module {
  // expected-error @below {{a variant has to have a name}}
  module {}
}

// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-reduce-gradients,ingot-form-buckets{bucket-mb=0.00005})' --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-reduce-gradients --ingot-form-buckets --split-input-file | FileCheck %s --check-prefix=LARGE
// RUN: ingot-opt %s --ingot-reduce-gradients=grad-comm=bf16 --ingot-form-buckets --split-input-file | FileCheck %s --check-prefix=ROUNDED

// Tests that the loss and its weight are summed by themselves, that buckets fill
// up in the order in which gradients are computed, start right after their last
// one, and are waited for at the end.
// CHECK-LABEL: func.func @train_step
//  CHECK-SAME: -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"}, tensor<20xf32> {ingot.gradient = @c},
// CHECK: %[[ONE:.+]] = ingot.constant dense<1.0
// CHECK: %[[L:.+]] = ingot.reduce
// CHECK: %[[LOSS:.+]] = ingot.all_reduce_start %[[ONE]], %[[L]] : (tensor<f32>, tensor<f32>) -> tensor<17xf32>
// CHECK: %[[A:.+]] = ingot.exp
// CHECK: %[[B:.+]] = ingot.tanh
// CHECK: %[[FIRST:.+]] = ingot.all_reduce_start %[[A]], %[[B]] : (tensor<4x2xf32>, tensor<8xf32>) -> tensor<24xf32>
// CHECK: %[[C:.+]] = ingot.abs
// CHECK: %[[SECOND:.+]] = ingot.all_reduce_start %[[C]] : (tensor<20xf32>) -> tensor<20xf32>
// CHECK: %[[LOSSES:.+]]:2 = ingot.all_reduce_wait %[[LOSS]]
// CHECK: %[[SUMS:.+]]:2 = ingot.all_reduce_wait %[[FIRST]] : (tensor<24xf32>) -> (tensor<4x2xf32>, tensor<8xf32>)
// CHECK: %[[SUM:.+]] = ingot.all_reduce_wait %[[SECOND]]
// CHECK: return %[[LOSSES]]#1, %[[LOSSES]]#0, %[[SUM]], %[[SUMS]]#1, %[[SUMS]]#0
// LARGE-LABEL: func.func @train_step
// LARGE: ingot.all_reduce_start %{{.+}}, %{{.+}} -> tensor<17xf32>
// LARGE: ingot.all_reduce_start %{{.+}}, %{{.+}}, %{{.+}} -> tensor<52xf32>
// LARGE-NOT: ingot.all_reduce_start
// LARGE: return
// ROUNDED-LABEL: func.func @train_step
// ROUNDED: ingot.all_reduce_start %{{.+}}, %{{.+}} : (tensor<f32>, tensor<f32>)
// ROUNDED: %[[A:.+]] = ingot.cast %{{.+}} : tensor<4x2xf32> -> tensor<4x2xbf16>
// ROUNDED: ingot.all_reduce_start %[[A]], %{{.+}}, %{{.+}} : (tensor<4x2xbf16>, tensor<8xbf16>, tensor<20xbf16>)
// ROUNDED: ingot.cast %{{.+}} : tensor<4x2xbf16> -> tensor<4x2xf32>
module {
  ingot.state parameter @a : tensor<4x2xf32> = dense<0.0> : tensor<4x2xf32>
  ingot.state parameter @b : tensor<8xf32> = dense<0.0> : tensor<8xf32>
  ingot.state parameter @c : tensor<20xf32> = dense<0.0> : tensor<20xf32>
  func.func @train_step(%a: tensor<4x2xf32> {ingot.state = @a}, %b: tensor<8xf32> {ingot.state = @b}, %c: tensor<20xf32> {ingot.state = @c})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<20xf32> {ingot.gradient = @c}, tensor<8xf32> {ingot.gradient = @b}, tensor<4x2xf32> {ingot.gradient = @a}) {
    %loss = ingot.reduce sum %c dims = [0] : (tensor<20xf32>) -> tensor<f32>
    %0 = ingot.exp %a : tensor<4x2xf32>
    %1 = ingot.tanh %b : tensor<8xf32>
    %2 = ingot.abs %c : tensor<20xf32>
    return %loss, %2, %1, %0 : tensor<f32>, tensor<20xf32>, tensor<8xf32>, tensor<4x2xf32>
  }
}

// -----

// Tests that buckets hold one element type, that running statistics become means
// over ranks, and that nothing but training is changed.
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.all_reduce_start %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>)
// CHECK-DAG: ingot.all_reduce_start %{{.+}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-DAG: ingot.all_reduce_start %{{.+}} : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK: %[[ALL:.+]]:4 = ingot.all_reduce_wait
// CHECK: %[[COUNT:.+]] = ingot.broadcast %[[ALL]]#0
// CHECK: %[[MEAN:.+]] = ingot.div %[[ALL]]#3, %[[COUNT]]
// CHECK: return %[[ALL]]#1, %[[ALL]]#2, %{{.*}}, %{{.*}}, %[[MEAN]]
// CHECK-LABEL: func.func @eval_step
// CHECK-NOT: all_reduce
module {
  ingot.state parameter @a : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state parameter @b : tensor<4xbf16> = dense<0.0> : tensor<4xbf16>
  ingot.state running @mean : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  func.func @train_step(%a: tensor<4xf32> {ingot.state = @a}, %b: tensor<4xbf16> {ingot.state = @b})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"}, tensor<4xf32> {ingot.gradient = @a}, tensor<4xbf16> {ingot.gradient = @b},
          tensor<4xf32> {ingot.state = @mean}) {
    %loss = ingot.reduce sum %a dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %weight = ingot.neg %loss : tensor<f32>
    %mean = ingot.abs %a : tensor<4xf32>
    %0 = ingot.exp %a : tensor<4xf32>
    %1 = ingot.exp %b : tensor<4xbf16>
    return %loss, %weight, %0, %1, %mean : tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
  }
  func.func @eval_step(%a: tensor<4xf32> {ingot.state = @a}) -> (tensor<4xf32> {ingot.name = "x"}) {
    %0 = ingot.exp %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Tests that sums that metrics are computed from are those of all ranks, each
// element type in a bucket of its own, and that other results are not summed.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[F32:.+]] = ingot.all_reduce_start %{{.+}}, %{{.+}}, %[[ROWS:.+]] : (tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK: %[[F64:.+]] = ingot.all_reduce_start %{{.+}} : (tensor<4xf64>)
// CHECK-DAG: %[[SUMS:.+]]:3 = ingot.all_reduce_wait %[[F32]]
// CHECK-DAG: %[[ERRORS:.+]] = ingot.all_reduce_wait %[[F64]]
// CHECK: return %[[SUMS]]#1, %[[SUMS]]#0, %{{.+}}, %[[ERRORS]], %[[SUMS]]#2, %{{.+}} :
module {
  ingot.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4xf32> {ingot.state = @w})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @w}, tensor<4xf64> {ingot.name = "metric.errors"}, tensor<f32> {ingot.name = "metric.rows"}, tensor<f32> {ingot.name = "other"}) {
    %loss = ingot.reduce sum %w dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %rows = ingot.reduce max %x dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %errors = ingot.cast %x : tensor<4xf32> -> tensor<4xf64>
    %other = ingot.reduce min %x dims = [0] : (tensor<4xf32>) -> tensor<f32>
    return %loss, %x, %errors, %rows, %other : tensor<f32>, tensor<4xf32>, tensor<4xf64>, tensor<f32>, tensor<f32>
  }
}

// -----

// Tests that a sum that depends on another one is in a bucket behind that.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[FIRST:.+]] = ingot.all_reduce_start %{{.+}} : (tensor<4xf32>)
// CHECK: %[[SUM:.+]] = ingot.all_reduce_wait %[[FIRST]]
// CHECK: %[[ROOT:.+]] = ingot.sqrt %[[SUM]]
// CHECK: %[[SECOND:.+]] = ingot.all_reduce_start %[[ROOT]]
// CHECK: %[[LAST:.+]] = ingot.all_reduce_wait %[[SECOND]]
// CHECK: return %[[LAST]]
module {
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<4xf32> {ingot.name = "y"}) {
    %0 = ingot.all_reduce sum %x over [data] : tensor<4xf32>
    %1 = ingot.sqrt %0 : tensor<4xf32>
    %2 = ingot.all_reduce sum %1 over [data] : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

// Tests that the largest elements have a bucket of their own.
// CHECK-LABEL: func.func @train_step
// CHECK-DAG: ingot.all_reduce_start %{{.+}}, %{{.+}} : (tensor<f32>, tensor<f32>) -> tensor<17xf32>
// CHECK-DAG: %[[LARGEST:.+]] = ingot.all_reduce_start %{{.+}} {kind = #ingot<reduction_kind max>} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-DAG: ingot.all_reduce_wait %[[LARGEST]] : (tensor<2xf32>) -> tensor<2xf32>
module {
  ingot.state parameter @a : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state magnitudes @largest : tensor<2xf32> = dense<0.0> : tensor<2xf32>
  func.func @train_step(%a: tensor<4xf32> {ingot.state = @a}, %largest: tensor<2xf32> {ingot.state = @largest})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @a}, tensor<2xf32> {ingot.state = @largest}) {
    %loss = ingot.reduce sum %a dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %0 = ingot.exp %a : tensor<4xf32>
    %1 = ingot.exp %largest : tensor<2xf32>
    return %loss, %0, %1 : tensor<f32>, tensor<4xf32>, tensor<2xf32>
  }
}

// -----

// Tests that scalars that ranks along another axis add up share a bucket, and other tensors of theirs do not.
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<4xf32>
// CHECK: %[[START:.+]] = ingot.all_reduce_start %{{.+}}, %{{.+}} over [tensor] : (tensor<f32>, tensor<f32>) -> tensor<17xf32>
// CHECK: ingot.all_reduce_wait %[[START]]
module attributes {ingot.mesh = {tensor = 2 : i64}} {
  func.func @train_step(%x: tensor<4xf32>, %y: tensor<f32>, %z: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
    %0 = ingot.all_reduce sum %x over [tensor] : tensor<4xf32>
    %1 = ingot.all_reduce sum %y over [tensor] : tensor<f32>
    %2 = ingot.all_reduce sum %z over [tensor] : tensor<f32>
    %3 = ingot.mul %1, %2 : tensor<f32>
    return %0, %3 : tensor<4xf32>, tensor<f32>
  }
}

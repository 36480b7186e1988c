// RUN: ingot-opt %s --ingot-split-micro-steps --split-input-file | FileCheck %s

// Tests that the function for all micro-batches but the last returns the loss,
// the sums and the running statistics, and that neither the update nor what
// only the update reads is in it.
// CHECK-LABEL: func.func @accumulate_step(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %[[W:[a-z0-9]+]]: tensor<4xf32> {ingot.state = @w},
//  CHECK-SAME:   %[[MEAN:[a-z0-9]+]]: tensor<4xf32> {ingot.state = @mean}, %[[MICRO:[a-z0-9]+]]: tensor<i64> {ingot.state = @micro_step},
//  CHECK-SAME:   %[[SUM:[a-z0-9]+]]: tensor<4xf32> {ingot.state = @"w/sum"})
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.state = @mean}, tensor<i64> {ingot.state = @micro_step}, tensor<4xf32> {ingot.state = @"w/sum"})
//  CHECK-NEXT:   %[[ONE:.*]] = ingot.constant dense<1> : tensor<i64>
//  CHECK-NEXT:   %[[G:.*]] = ingot.mul %[[W]], %[[X]]
//  CHECK-NEXT:   %[[LOSS:.*]] = ingot.reduce sum %[[G]]
//  CHECK-NEXT:   %[[MEAN2:.*]] = ingot.max %[[MEAN]], %[[X]]
//  CHECK-NEXT:   %[[AFTER:.*]] = ingot.add %[[SUM]], %[[G]]
//  CHECK-NEXT:   %[[COUNT:.*]] = ingot.add %[[MICRO]], %[[ONE]]
//  CHECK-NEXT:   return %[[LOSS]], %[[MEAN2]], %[[COUNT]], %[[AFTER]] :

// Tests that the last micro-batch reads the sums, updates, stores no sum and
// sets the count of micro-batches back, the only sum that is an integer.
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   %[[M:[a-z0-9]+]]: tensor<4xf32> {ingot.state = @m}
//  CHECK-SAME:   %[[SUM:[a-z0-9]+]]: tensor<4xf32> {ingot.state = @"w/sum"})
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.state = @w}, tensor<4xf32> {ingot.state = @mean}, tensor<4xf32> {ingot.state = @m}, tensor<i64> {ingot.state = @micro_step})
//       CHECK:   %[[AFTER:.*]] = ingot.add %[[SUM]], %{{.*}}
//       CHECK:   %[[M2:.*]] = ingot.add %[[M]], %[[AFTER]]
//       CHECK:   %[[W2:.*]] = ingot.sub %{{.*}}, %[[M2]]
//       CHECK:   %[[ZERO:.*]] = ingot.constant dense<0> : tensor<i64>
//       CHECK:   return %{{.*}}, %[[W2]], %{{.*}}, %[[M2]], %[[ZERO]] :
module attributes {ingot.grad_accumulation = 4 : i64} {
  ingot.state parameter @w : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  ingot.state running @mean : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state moment @m : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state accumulator @micro_step : tensor<i64> = dense<0> : tensor<i64>
  ingot.state accumulator @"w/sum" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<4xf32> {ingot.state = @w},
                        %mean: tensor<4xf32> {ingot.state = @mean}, %m: tensor<4xf32> {ingot.state = @m},
                        %micro: tensor<i64> {ingot.state = @micro_step}, %sum: tensor<4xf32> {ingot.state = @"w/sum"})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.state = @w}, tensor<4xf32> {ingot.state = @mean},
          tensor<4xf32> {ingot.state = @m}, tensor<i64> {ingot.state = @micro_step}, tensor<4xf32> {ingot.state = @"w/sum"}) {
    %one = ingot.constant dense<1> : tensor<i64>
    %g = ingot.mul %w, %x : tensor<4xf32>
    %loss = ingot.reduce sum %g dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %mean2 = ingot.max %mean, %x : tensor<4xf32>
    %sum2 = ingot.add %sum, %g : tensor<4xf32>
    %micro2 = ingot.add %micro, %one : tensor<i64>
    %m2 = ingot.add %m, %sum2 : tensor<4xf32>
    %w2 = ingot.sub %w, %m2 : tensor<4xf32>
    return %loss, %w2, %mean2, %m2, %micro2, %sum2 : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<4xf32>
  }
}

// -----

// Tests that sums over ranks, which are in shards, belong to the update, and
// that a micro-batch returns no other named result than the loss.
// CHECK-LABEL: func.func @accumulate_step(
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.state = @"w/sum"}) {
//   CHECK-NOT:   ingot.reduce_scatter_start
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "grad_norm"}, tensor<4xf32> {ingot.state = @"w/gradient"}) {
//       CHECK:   %[[PART:.*]] = ingot.reduce_scatter_wait
//       CHECK:   return %{{.*}}, %{{.*}}, %[[PART]] :
module attributes {ingot.grad_accumulation = 2 : i64} {
  ingot.state accumulator @"w/sum" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state accumulator @"w/gradient" : tensor<4xf32> = dense<0.0> : tensor<4xf32> {shard = #ingot.shard<first = 0, of = 4>}
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %sum: tensor<4xf32> {ingot.state = @"w/sum"})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "grad_norm"},
          tensor<4xf32> {ingot.state = @"w/sum"}, tensor<4xf32> {ingot.state = @"w/gradient"}) {
    %loss = ingot.reduce sum %x dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %sum2 = ingot.add %sum, %x : tensor<4xf32>
    %norm = ingot.reduce max %sum2 dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %bucket = ingot.reduce_scatter_start %sum2 : (tensor<4xf32>) -> tensor<4xf32>
    %part = ingot.reduce_scatter_wait %bucket : (tensor<4xf32>) -> tensor<4xf32>
    return %loss, %norm, %sum2, %part : tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Tests that another function that returns sums starts anew, too, and that one
// without any stays as it is.
// CHECK-LABEL: func.func @accumulate_step(
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<i64> {ingot.state = @micro_step})
// CHECK-LABEL: func.func @warm_step(
//  CHECK-SAME:   -> (tensor<f32> {ingot.name = "loss"}, tensor<i64> {ingot.state = @micro_step})
//       CHECK:   %[[ZERO:.*]] = ingot.constant dense<0> : tensor<i64>
//       CHECK:   return %{{.*}}, %[[ZERO]] :
// CHECK-LABEL: func.func @forward(
//  CHECK-SAME:   -> tensor<4xf32> {
//  CHECK-NEXT:   ingot.neg
//  CHECK-NEXT:   return
module attributes {ingot.grad_accumulation = 2 : i64} {
  ingot.state accumulator @micro_step : tensor<i64> = dense<0> : tensor<i64>
  ingot.state accumulator @"w/sum" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %sum: tensor<4xf32> {ingot.state = @"w/sum"})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.state = @"w/sum"}) {
    %sum2 = ingot.add %sum, %x : tensor<4xf32>
    %loss = ingot.reduce sum %sum2 dims = [0] : (tensor<4xf32>) -> tensor<f32>
    return %loss, %sum2 : tensor<f32>, tensor<4xf32>
  }
  func.func @warm_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %sum: tensor<4xf32> {ingot.state = @"w/sum"})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.state = @"w/sum"}) {
    %sum2 = ingot.sub %sum, %x : tensor<4xf32>
    %loss = ingot.reduce sum %sum2 dims = [0] : (tensor<4xf32>) -> tensor<f32>
    return %loss, %sum2 : tensor<f32>, tensor<4xf32>
  }
  func.func @forward(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}) -> tensor<4xf32> {
    %0 = ingot.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Tests that a step of one micro-batch stays as it is.
//   CHECK-NOT: func.func @accumulate_step
// CHECK-LABEL: func.func @train_step(
//  CHECK-SAME:   -> (tensor<4xf32> {ingot.state = @"w/sum"}) {
//  CHECK-NEXT:   ingot.add
//  CHECK-NEXT:   return
module {
  ingot.state accumulator @"w/sum" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  func.func @train_step(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}, %sum: tensor<4xf32> {ingot.state = @"w/sum"})
      -> (tensor<4xf32> {ingot.state = @"w/sum"}) {
    %0 = ingot.add %sum, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Tests that a module that does not train stays as it is.
//   CHECK-NOT: func.func @accumulate_step
// CHECK-LABEL: func.func @forward(
//   CHECK-NOT: func.func @accumulate_step
module attributes {ingot.grad_accumulation = 2 : i64} {
  func.func @forward(%x: tensor<4xf32> {ingot.kind = "data", ingot.name = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

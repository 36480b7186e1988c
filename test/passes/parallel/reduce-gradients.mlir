// RUN: ingot-opt %s --ingot-reduce-gradients | FileCheck %s
// RUN: ingot-opt %s --ingot-reduce-gradients=grad-comm=bf16 | FileCheck %s --check-prefix=ROUNDED

// Tests that gradients, the loss, its weight and sums of metrics become sums over ranks, running statistics means,
// magnitudes the largest, and nothing else; gradients can be rounded before they are added up.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "loss_weight"},
// CHECK: %[[ONE:.+]] = ingot.constant dense<1.0
// CHECK: %[[L:.+]] = ingot.reduce
// CHECK: %[[G:.+]] = ingot.exp
// CHECK: %[[LOSS:.+]] = ingot.all_reduce sum %[[L]] over [data] : tensor<f32>
// CHECK: %[[WEIGHT:.+]] = ingot.all_reduce sum %[[ONE]] over [data] : tensor<f32>
// CHECK: %[[SUM:.+]] = ingot.all_reduce sum %[[G]] over [data] gradient_of @a : tensor<4xf32>
// CHECK: %[[ROWS:.+]] = ingot.all_reduce sum %{{.+}} over [data] : tensor<f32>
// CHECK: %[[MEAN:.+]] = ingot.all_reduce sum %{{.+}} over [data] : tensor<4xf32>
// CHECK: %[[LARGEST:.+]] = ingot.all_reduce max %{{.+}} over [data] : tensor<2xf32>
// CHECK: %[[RANKS:.+]] = ingot.all_reduce sum %[[ONE]] over [data] : tensor<f32>
// CHECK: %[[COUNT:.+]] = ingot.broadcast %[[RANKS]]
// CHECK: %[[NEXT:.+]] = ingot.div %[[MEAN]], %[[COUNT]]
// CHECK: return %[[LOSS]], %[[WEIGHT]], %[[SUM]], %[[ROWS]], %[[L]], %[[NEXT]], %[[LARGEST]]
// CHECK-LABEL: func.func @eval_step
// CHECK-NOT: all_reduce
// ROUNDED: %[[G:.+]] = ingot.cast %{{.+}} : tensor<4xf32> -> tensor<4xbf16>
// ROUNDED: ingot.all_reduce sum %{{.+}} over [data] : tensor<f32>
// ROUNDED: %[[SUM:.+]] = ingot.all_reduce sum %[[G]] over [data] gradient_of @a : tensor<4xbf16>
// ROUNDED: ingot.cast %[[SUM]] : tensor<4xbf16> -> tensor<4xf32>
module {
  ingot.state parameter @a : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state running @mean : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  ingot.state magnitudes @largest : tensor<2xf32> = dense<0.0> : tensor<2xf32>
  func.func @train_step(%a: tensor<4xf32> {ingot.state = @a}, %largest: tensor<2xf32> {ingot.state = @largest})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<4xf32> {ingot.gradient = @a}, tensor<f32> {ingot.name = "metric.rows"},
          tensor<f32> {ingot.name = "other"}, tensor<4xf32> {ingot.state = @mean}, tensor<2xf32> {ingot.state = @largest}) {
    %loss = ingot.reduce sum %a dims = [0] : (tensor<4xf32>) -> tensor<f32>
    %0 = ingot.exp %a : tensor<4xf32>
    %rows = ingot.neg %loss : tensor<f32>
    %mean = ingot.abs %a : tensor<4xf32>
    %largest.next = ingot.exp %largest : tensor<2xf32>
    return %loss, %0, %rows, %loss, %mean, %largest.next : tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<2xf32>
  }
  func.func @eval_step(%a: tensor<4xf32> {ingot.state = @a}) -> (tensor<4xf32> {ingot.name = "x"}) {
    %0 = ingot.exp %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// Tests that a loss of classes and its gradient are one kernel over rows, which writes the gradient over the logits
// where a barrier is between the lookup of a label and the first gradient: rows that a warp or a block holds in
// registers, and rows that are read twice. The count of labels, by which the
// gradient is divided, does not wait for the sum of the losses. Some labels are ignored.
// RUN: %arrays make %t.in.npz arr_0=24x8 arr_1=8x20000 arr_2=8x600 arr_3=8x4000
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %s --inputs %t.in.npz --outputs %t.got.npz --emulate
// RUN: %arrays compare --rtol 2e-5 --atol 1e-6 --count 6 %t.expected.npz %t.got.npz
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-decompose=keep-anchors --ingot-form-fusions --ingot-place-steps | FileCheck %s

// CHECK:     exec.kernel "row" @{{.*}} aliases = [1, -1]
// CHECK:     exec.kernel "row" @{{.*}} aliases = [-1, -1]
// CHECK:     exec.kernel "row" @{{.*}} aliases = [1, -1]
// CHECK-NOT: exec.kernel "row"
func.func @losses(%x: tensor<24x8xf32> {ingot.name = "arr_0", ingot.kind = "data"},
                  %long: tensor<8x20000xf32> {ingot.name = "arr_1", ingot.kind = "data"},
                  %warp: tensor<8x600xf32> {ingot.name = "arr_2", ingot.kind = "data"},
                  %block: tensor<8x4000xf32> {ingot.name = "arr_3", ingot.kind = "data"})
    -> (tensor<f32> {ingot.name = "loss_long"}, tensor<24x20000xf32> {ingot.name = "gradient_long"},
        tensor<f32> {ingot.name = "loss_warp"}, tensor<24x600xf32> {ingot.name = "gradient_warp"},
        tensor<f32> {ingot.name = "loss_block"}, tensor<24x4000xf32> {ingot.name = "gradient_block"}) {
  %rows = ingot.iota {dim = 0 : i64} : tensor<24xi64>
  %spread = ingot.constant dense<23> : tensor<24xi64>
  %some = ingot.mul %rows, %spread : tensor<24xi64>
  %four = ingot.constant dense<4> : tensor<24xi64>
  %ignore = ingot.constant dense<-100> : tensor<24xi64>
  %isFirst = ingot.compare lt %rows, %four : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  %labels = ingot.select %isFirst, %ignore, %some : tensor<24xi1>, tensor<24xi64>
  %counts = ingot.compare ne %labels, %ignore : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  %isIgnored = ingot.compare eq %labels, %ignore : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi1>
  %ones = ingot.cast %counts : tensor<24xi1> -> tensor<24xf32>
  %none = ingot.constant dense<0.0> : tensor<24xf32>
  %one = ingot.constant dense<1.0> : tensor<f32>

  %logits_long = ingot.matmul %x, %long : (tensor<24x8xf32>, tensor<8x20000xf32>) -> tensor<24x20000xf32>
  %losses_long, %lse_long = ingot.cross_entropy %logits_long, %labels dim = 1
    : (tensor<24x20000xf32>, tensor<24xi64>) -> (tensor<24xf32>, tensor<24xf32>)
  %sum_long = ingot.reduce sum %losses_long dims = [0] : (tensor<24xf32>) -> tensor<f32>
  %count_long = ingot.reduce sum %ones dims = [0] : (tensor<24xf32>) -> tensor<f32>
  %mean_long = ingot.div %sum_long, %count_long : tensor<f32>
  %weight_long = ingot.div %one, %count_long : tensor<f32>
  %weights_long = ingot.broadcast %weight_long dims = [] : tensor<f32> -> tensor<24xf32>
  %own_long = ingot.select %isIgnored, %none, %weights_long : tensor<24xi1>, tensor<24xf32>
  %lses_long = ingot.broadcast %lse_long dims = [0] : tensor<24xf32> -> tensor<24x20000xf32>
  %shifted_long = ingot.sub %logits_long, %lses_long : tensor<24x20000xf32>
  %power_long = ingot.exp %shifted_long : tensor<24x20000xf32>
  %column_long = ingot.iota {dim = 1 : i64} : tensor<24x20000xi64>
  %label_long = ingot.broadcast %labels dims = [0] : tensor<24xi64> -> tensor<24x20000xi64>
  %hit_long = ingot.compare eq %column_long, %label_long : (tensor<24x20000xi64>, tensor<24x20000xi64>) -> tensor<24x20000xi1>
  %hits_long = ingot.cast %hit_long : tensor<24x20000xi1> -> tensor<24x20000xf32>
  %difference_long = ingot.sub %power_long, %hits_long : tensor<24x20000xf32>
  %all_long = ingot.broadcast %own_long dims = [0] : tensor<24xf32> -> tensor<24x20000xf32>
  %gradient_long = ingot.mul %difference_long, %all_long : tensor<24x20000xf32>

  %logits_warp = ingot.matmul %x, %warp : (tensor<24x8xf32>, tensor<8x600xf32>) -> tensor<24x600xf32>
  %losses_warp, %lse_warp = ingot.cross_entropy %logits_warp, %labels dim = 1
    : (tensor<24x600xf32>, tensor<24xi64>) -> (tensor<24xf32>, tensor<24xf32>)
  %sum_warp = ingot.reduce sum %losses_warp dims = [0] : (tensor<24xf32>) -> tensor<f32>
  %count_warp = ingot.reduce sum %ones dims = [0] : (tensor<24xf32>) -> tensor<f32>
  %mean_warp = ingot.div %sum_warp, %count_warp : tensor<f32>
  %weight_warp = ingot.div %one, %count_warp : tensor<f32>
  %weights_warp = ingot.broadcast %weight_warp dims = [] : tensor<f32> -> tensor<24xf32>
  %own_warp = ingot.select %isIgnored, %none, %weights_warp : tensor<24xi1>, tensor<24xf32>
  %lses_warp = ingot.broadcast %lse_warp dims = [0] : tensor<24xf32> -> tensor<24x600xf32>
  %shifted_warp = ingot.sub %logits_warp, %lses_warp : tensor<24x600xf32>
  %power_warp = ingot.exp %shifted_warp : tensor<24x600xf32>
  %column_warp = ingot.iota {dim = 1 : i64} : tensor<24x600xi64>
  %label_warp = ingot.broadcast %labels dims = [0] : tensor<24xi64> -> tensor<24x600xi64>
  %hit_warp = ingot.compare eq %column_warp, %label_warp : (tensor<24x600xi64>, tensor<24x600xi64>) -> tensor<24x600xi1>
  %hits_warp = ingot.cast %hit_warp : tensor<24x600xi1> -> tensor<24x600xf32>
  %difference_warp = ingot.sub %power_warp, %hits_warp : tensor<24x600xf32>
  %all_warp = ingot.broadcast %own_warp dims = [0] : tensor<24xf32> -> tensor<24x600xf32>
  %gradient_warp = ingot.mul %difference_warp, %all_warp : tensor<24x600xf32>

  %logits_block = ingot.matmul %x, %block : (tensor<24x8xf32>, tensor<8x4000xf32>) -> tensor<24x4000xf32>
  %losses_block, %lse_block = ingot.cross_entropy %logits_block, %labels dim = 1
    : (tensor<24x4000xf32>, tensor<24xi64>) -> (tensor<24xf32>, tensor<24xf32>)
  %sum_block = ingot.reduce sum %losses_block dims = [0] : (tensor<24xf32>) -> tensor<f32>
  %count_block = ingot.reduce sum %ones dims = [0] : (tensor<24xf32>) -> tensor<f32>
  %mean_block = ingot.div %sum_block, %count_block : tensor<f32>
  %weight_block = ingot.div %one, %count_block : tensor<f32>
  %weights_block = ingot.broadcast %weight_block dims = [] : tensor<f32> -> tensor<24xf32>
  %own_block = ingot.select %isIgnored, %none, %weights_block : tensor<24xi1>, tensor<24xf32>
  %lses_block = ingot.broadcast %lse_block dims = [0] : tensor<24xf32> -> tensor<24x4000xf32>
  %shifted_block = ingot.sub %logits_block, %lses_block : tensor<24x4000xf32>
  %power_block = ingot.exp %shifted_block : tensor<24x4000xf32>
  %column_block = ingot.iota {dim = 1 : i64} : tensor<24x4000xi64>
  %label_block = ingot.broadcast %labels dims = [0] : tensor<24xi64> -> tensor<24x4000xi64>
  %hit_block = ingot.compare eq %column_block, %label_block : (tensor<24x4000xi64>, tensor<24x4000xi64>) -> tensor<24x4000xi1>
  %hits_block = ingot.cast %hit_block : tensor<24x4000xi1> -> tensor<24x4000xf32>
  %difference_block = ingot.sub %power_block, %hits_block : tensor<24x4000xf32>
  %all_block = ingot.broadcast %own_block dims = [0] : tensor<24xf32> -> tensor<24x4000xf32>
  %gradient_block = ingot.mul %difference_block, %all_block : tensor<24x4000xf32>
  return %mean_long, %gradient_long, %mean_warp, %gradient_warp, %mean_block, %gradient_block
    : tensor<f32>, tensor<24x20000xf32>, tensor<f32>, tensor<24x600xf32>, tensor<f32>, tensor<24x4000xf32>
}

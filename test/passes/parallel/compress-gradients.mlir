// RUN: ingot-opt %s "--ingot-compress-gradients=grad-comm=powersgd:2,min-rate:1.5" --split-input-file | FileCheck %s
// RUN: ingot-opt %s "--ingot-compress-gradients=grad-comm=int8" --split-input-file | FileCheck %s --check-prefix=INT8
// RUN: ingot-opt %s "--ingot-compress-gradients=grad-comm=bf16" --split-input-file | FileCheck %s --check-prefix=WITHOUT
// RUN: ingot-opt %s "--ingot-compress-gradients=grad-comm=powersgd:2,min-rate:1.5" --split-input-file --remarks-filter=compress-gradients --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS
// RUN: not ingot-opt %s "--ingot-compress-gradients=grad-comm=powersgd:0" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not ingot-opt %s "--ingot-compress-gradients=grad-comm=bf16,start:5" 2>&1 | FileCheck %s --check-prefix=START

// Tests that the steps of a run agree with the algorithm written down in NumPy, on simulated ranks.
// RUN: %python %S/Inputs/compression.py make %t.npz %t.states.npz
// RUN: ingot-opt %s "--ingot-compress-gradients=grad-comm=powersgd:2,min-rate:1.5,start:0" --split-input-file | %python %S/Inputs/compression.py first > %t.mlir
// RUN: ingot-eval %t.mlir --function train_step --ranks 4 --inputs %t.npz --states %t.states.npz --steps 3 --outputs %t.out.npz --state-out %t.end.npz
// RUN: %python %S/Inputs/compression.py check %t.npz %t.states.npz %t.end.npz | FileCheck %s --check-prefix=AGREES
// AGREES: 4 states agree
// RUN: ingot-opt %s "--ingot-compress-gradients=grad-comm=topk:0.1,start:0" --split-input-file | %python %S/Inputs/compression.py first > %t.topk.mlir
// RUN: ingot-eval %t.topk.mlir --function train_step --ranks 4 --inputs %t.npz --steps 3 --outputs %t.out.npz --state-out %t.end.npz
// RUN: %python %S/Inputs/compression.py topk %t.npz %t.end.npz | FileCheck %s --check-prefix=TOPK
// TOPK: 3 states agree

// RANK: error: loc("--grad-comm"): 'powersgd:0' is not a format for gradients
// START: error: loc("--grad-comm"): start requires a compression

// REMARKS-DAG: [Passed] CompressedGradient | Category:compress-gradients | rate=1.71
// REMARKS-DAG: [Missed] CompressedGradient | {{.*}}Reason="the compression rate is below min-rate

// Tests that a matrix leaves its bucket for two products, that a vector and a matrix that would not shrink stay, that
// there are states for both, and that the function as it was is there for the first steps.
// INT8: ingot.state residual @"bucket 0/residual" : tensor<58xf32>
// INT8-LABEL: func.func @uncompressed_step
// INT8-LABEL: func.func @train_step
// INT8-SAME: %[[RESIDUAL:arg[0-9]+]]: tensor<58xf32> {ingot.state = @"bucket 0/residual"}
// INT8: %[[FLAT:.+]] = ingot.concat %{{.+}}, %{{.+}}, %{{.+}} dim = 0 : (tensor<48xf32>, tensor<6xf32>, tensor<4xf32>)
// INT8: %[[WHOLE:.+]] = ingot.add %[[FLAT]], %[[RESIDUAL]]
// INT8: %[[SENT:.+]] = ingot.compress %[[WHOLE]] {compression = #ingot<compression int8>}
// INT8: ingot.all_reduce_start %[[SENT]] {compression = #ingot<compression int8>} : (tensor<58xf32>) -> tensor<58xf32>
// INT8: ingot.slice {{.*}} starts = [48] limits = [54]
// INT8: ingot.sub %[[WHOLE]], %[[SENT]]
// WITHOUT-NOT: uncompressed_step
// WITHOUT: ingot.all_reduce_start %{{.+}}, %{{.+}}, %{{.+}} : (tensor<8x6xf32>, tensor<6xf32>, tensor<2x2xf32>)
// CHECK: ingot.uncompressed_steps = 10 : i64
// CHECK-DAG: ingot.state residual @"w/residual" : tensor<8x6xf32> = dense<0.000000e+00>
// CHECK-DAG: ingot.state basis @"w/basis" : tensor<2x6xf32> = dense<
// CHECK-LABEL: func.func @uncompressed_step
// CHECK: ingot.all_reduce_start %{{.+}}, %{{.+}}, %{{.+}} : (tensor<8x6xf32>, tensor<6xf32>, tensor<2x2xf32>)
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[RESIDUAL:arg[0-9]+]]: tensor<8x6xf32> {ingot.state = @"w/residual"}, %[[BASIS:arg[0-9]+]]: tensor<2x6xf32> {ingot.state = @"w/basis"}
// CHECK: %[[WHOLE:.+]] = ingot.add %{{.+}}, %[[RESIDUAL]]
// CHECK: %[[P:.+]] = ingot.matmul %[[BASIS]], %[[WHOLE]] transposed
// CHECK: %[[FIRST:.+]] = ingot.all_reduce_start %{{.+}}, %{{.+}}, %[[P]] : (tensor<6xf32>, tensor<2x2xf32>, tensor<2x8xf32>)
// CHECK: %[[SUMS:.+]]:3 = ingot.all_reduce_wait %[[FIRST]]
// CHECK: %[[ROWS:.+]] = ingot.concat {{.*}} -> tensor<2x8xf32>
// CHECK: %[[Q:.+]] = ingot.matmul %[[ROWS]], %[[WHOLE]] :
// CHECK: %[[SECOND:.+]] = ingot.all_reduce_start %[[Q]] : (tensor<2x6xf32>)
// CHECK: %[[ALL:.+]] = ingot.all_reduce_wait %[[SECOND]]
// CHECK: %[[SUM:.+]] = ingot.matmul %[[ROWS]] transposed, %[[ALL]]
// CHECK: %[[OWN:.+]] = ingot.matmul %[[ROWS]] transposed, %[[Q]]
// CHECK: ingot.sub %[[WHOLE]], %[[OWN]]
// CHECK: ingot.sub %{{.+}}, %[[SUM]]
// CHECK: ingot.sub %{{.+}}, %[[SUMS]]#0
module {
  ingot.state parameter @w : tensor<8x6xf32> = dense<0.0> : tensor<8x6xf32>
  ingot.state parameter @b : tensor<6xf32> = dense<0.0> : tensor<6xf32>
  ingot.state parameter @small : tensor<2x2xf32> = dense<0.0> : tensor<2x2xf32>
  func.func @train_step(%x: tensor<2x8x6xf32> {ingot.kind = "data", ingot.name = "x"}, %w: tensor<8x6xf32> {ingot.state = @w},
      %b: tensor<6xf32> {ingot.state = @b}, %small: tensor<2x2xf32> {ingot.state = @small})
      -> (tensor<8x6xf32> {ingot.state = @w}, tensor<6xf32> {ingot.state = @b}, tensor<2x2xf32> {ingot.state = @small}) {
    %g = ingot.reduce sum %x dims = [0] : (tensor<2x8x6xf32>) -> tensor<8x6xf32>
    %gb = ingot.reduce sum %g dims = [0] : (tensor<8x6xf32>) -> tensor<6xf32>
    %bucket = ingot.all_reduce_start %g, %gb, %small : (tensor<8x6xf32>, tensor<6xf32>, tensor<2x2xf32>) -> tensor<68xf32> loc("bucket 0")
    %sums:3 = ingot.all_reduce_wait %bucket : (tensor<68xf32>) -> (tensor<8x6xf32>, tensor<6xf32>, tensor<2x2xf32>)
    %nw = ingot.sub %w, %sums#0 : tensor<8x6xf32>
    %nb = ingot.sub %b, %sums#1 : tensor<6xf32>
    %ns = ingot.sub %small, %sums#2 : tensor<2x2xf32>
    return %nw, %nb, %ns : tensor<8x6xf32>, tensor<6xf32>, tensor<2x2xf32>
  }
}

// -----

// Tests that what is rounded for its way is compressed as it was before, that residuals are not scaled, and that a
// step that is skipped leaves the states alone.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[G:.+]] = ingot.exp
// CHECK: %[[BACK:.+]] = ingot.mul %[[RESIDUAL:arg[0-9]+]], %{{.+}} : tensor<64x32xf32>
// CHECK: %[[WHOLE:.+]] = ingot.add %[[G]], %[[BACK]]
// CHECK: ingot.all_reduce_start %{{.+}} : (tensor<2x64xbf16>)
// CHECK: ingot.all_reduce_start %{{.+}} : (tensor<2x32xbf16>)
// CHECK: %[[SUM:.+]] = ingot.matmul {{.*}} -> tensor<64x32xf32>
// CHECK: %[[LEFT:.+]] = ingot.sub %[[WHOLE]],
// CHECK: %[[UNSCALED:.+]] = ingot.div %[[LEFT]],
// CHECK: ingot.sub %{{.+}}, %[[SUM]]
// CHECK: %[[NEXT:.+]] = ingot.select %{{.+}}, %[[RESIDUAL]], %[[UNSCALED]]
// CHECK: return {{.*}}%[[NEXT]], %{{.+}} :
module {
  ingot.state parameter @w : tensor<64x32xf32> = dense<0.0> : tensor<64x32xf32>
  ingot.state loss_scale @loss_scale : tensor<f32> = dense<1.0> : tensor<f32>
  func.func @train_step(%skipped: tensor<f32>, %w: tensor<64x32xf32> {ingot.state = @w}, %scale: tensor<f32> {ingot.state = @loss_scale})
      -> (tensor<f32> {ingot.name = "skipped"}, tensor<64x32xf32> {ingot.state = @w}) {
    %g = ingot.exp %w : tensor<64x32xf32>
    %low = ingot.cast %g : tensor<64x32xf32> -> tensor<64x32xbf16>
    %bucket = ingot.all_reduce_start %low : (tensor<64x32xbf16>) -> tensor<2048xbf16> loc("bucket 0")
    %sum = ingot.all_reduce_wait %bucket : (tensor<2048xbf16>) -> tensor<64x32xbf16>
    %wide = ingot.cast %sum : tensor<64x32xbf16> -> tensor<64x32xf32>
    %nw = ingot.sub %w, %wide : tensor<64x32xf32>
    return %skipped, %nw : tensor<f32>, tensor<64x32xf32>
  }
}

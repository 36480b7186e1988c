// RUN: ingot-opt %s --ingot-assign-streams="max-growth=100" --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-assign-streams="max-growth=100" --split-input-file --remarks-filter=assign-streams --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-assign-streams="max-growth=0 free-bytes=0" --split-input-file | FileCheck %s --check-prefix=TIGHT

// Tests that the gradient of a weight and the update, which is moved behind it,
// run beside the gradient of the input, which the next gradient needs; what
// nothing follows does not.
// CHECK-LABEL: func.func @train_step
//   CHECK-NOT: ingot.side
//       CHECK: ingot.matmul {{.*}}{tag = "d1"}
//       CHECK: ingot.matmul {{.*}}{ingot.side = 0 : i64, tag = "g1"}
//       CHECK: ingot.fusion loop{{.*}}attributes {ingot.side = 0 : i64}
//       CHECK: ingot.matmul {{.*}}{tag = "d0"}
//   CHECK-NOT: ingot.side
//      REMARK: remark: {{.*}}Passed{{.*}}regions=1
// Without more memory: what the region reads would be live for longer.
// TIGHT-LABEL: func.func @train_step
//   TIGHT-NOT: ingot.side
module attributes {ingot.target = #ingot.target<"cuda">} {
  ingot.state parameter @w0 : tensor<4096x4096xf32> = dense<1.0> : tensor<4096x4096xf32>
  ingot.state parameter @w1 : tensor<4096x4096xf32> = dense<1.0> : tensor<4096x4096xf32>
  func.func @train_step(%x: tensor<4096x4096xf32> {ingot.name = "x", ingot.kind = "data"},
      %w0: tensor<4096x4096xf32> {ingot.state = @w0}, %w1: tensor<4096x4096xf32> {ingot.state = @w1})
      -> (tensor<4096x4096xf32> {ingot.state = @w0}, tensor<4096x4096xf32> {ingot.state = @w1}) {
    %y = ingot.matmul %x, %w0 {tag = "y"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d2 = ingot.matmul %y, %w1 {tag = "d2"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d1 = ingot.matmul %d2, %w1 transposed {tag = "d1"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %g1 = ingot.matmul %d2, %y {tag = "g1"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %d0 = ingot.matmul %d1, %w0 transposed {tag = "d0"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %g0 = ingot.matmul %x, %d0 {tag = "g0"} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %n0 = ingot.fusion loop(%w0, %g0) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    ^bb0(%w: tensor<4096x4096xf32>, %g: tensor<4096x4096xf32>):
      %0 = ingot.sub %w, %g : tensor<4096x4096xf32>
      ingot.yield %0 : tensor<4096x4096xf32>
    }
    %n1 = ingot.fusion loop(%w1, %g1) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    ^bb0(%w: tensor<4096x4096xf32>, %g: tensor<4096x4096xf32>):
      %0 = ingot.sub %w, %g : tensor<4096x4096xf32>
      ingot.yield %0 : tensor<4096x4096xf32>
    }
    return %n0, %n1 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
}

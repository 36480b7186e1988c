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

// -----

// Tests that what is needed first is not waited for together with all that can
// run at the same time: the negatives of weights, in the order of their matmuls.
// TIGHT-LABEL: func.func @predict
// CHECK-LABEL: func.func @predict
//       CHECK: ingot.fusion loop{{.*}}ingot.side = 0 : i64, tag = "h0"
//       CHECK: ingot.fusion loop{{.*}}ingot.side = 1 : i64, tag = "h1"
//       CHECK: ingot.matmul {{.*}}{tag = "y"}
//       CHECK: ingot.matmul {{.*}}{tag = "y0"}
//      REMARK: remark: {{.*}}Passed{{.*}}function=predict{{.*}}regions=2
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @predict(%x: tensor<256x4096xf32> {ingot.name = "x", ingot.kind = "data"},
      %w: tensor<4096x4096xf32> {ingot.name = "w", ingot.kind = "data"},
      %u: tensor<4096x8192xf32> {ingot.name = "u", ingot.kind = "data"},
      %w0: tensor<4096x4096xf32> {ingot.name = "w0", ingot.kind = "data"},
      %w1: tensor<8192x8192xf32> {ingot.name = "w1", ingot.kind = "data"})
      -> (tensor<256x8192xf32> {ingot.name = "out"}) {
    %h1 = ingot.fusion loop(%w1) attributes {tag = "h1"} : (tensor<8192x8192xf32>) -> tensor<8192x8192xf32> {
    ^bb0(%v: tensor<8192x8192xf32>):
      %0 = ingot.neg %v : tensor<8192x8192xf32>
      ingot.yield %0 : tensor<8192x8192xf32>
    }
    %h0 = ingot.fusion loop(%w0) attributes {tag = "h0"} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    ^bb0(%v: tensor<4096x4096xf32>):
      %0 = ingot.neg %v : tensor<4096x4096xf32>
      ingot.yield %0 : tensor<4096x4096xf32>
    }
    %y = ingot.matmul %x, %w {tag = "y"} : (tensor<256x4096xf32>, tensor<4096x4096xf32>) -> tensor<256x4096xf32>
    %y0 = ingot.matmul %y, %h0 {tag = "y0"} : (tensor<256x4096xf32>, tensor<4096x4096xf32>) -> tensor<256x4096xf32>
    %z = ingot.matmul %y0, %u {tag = "z"} : (tensor<256x4096xf32>, tensor<4096x8192xf32>) -> tensor<256x8192xf32>
    %y1 = ingot.matmul %z, %h1 {tag = "y1"} : (tensor<256x8192xf32>, tensor<8192x8192xf32>) -> tensor<256x8192xf32>
    return %y1 : tensor<256x8192xf32>
  }
}

// RUN: ingot-opt %s --ingot-overlap-exchanges --split-input-file --remarks-filter=overlap-exchanges --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file %t.remarks
// RUN: ingot-opt %s --ingot-overlap-exchanges="max-growth=0 free-bytes=0" --split-input-file | FileCheck %s --check-prefix=TIGHT

// Tests that the gradient of a weight comes before what reads the sum of the gradient of the layer's input, which is in
// flight meanwhile.
// CHECK-LABEL: func.func @train_step
//       CHECK: ingot.matmul {{.*}}{tag = "d1"}
//       CHECK: %[[SUM:.+]] = ingot.all_reduce sum {{.*}}{ingot.side = 0 : i64}
//       CHECK: ingot.matmul {{.*}}{tag = "g1"}
//       CHECK: ingot.matmul %[[SUM]]{{.*}}{tag = "d0"}
//       CHECK: ingot.all_reduce sum {{.*}}{ingot.side = 1 : i64}
//       CHECK: ingot.matmul {{.*}}{tag = "g0"}
//      REMARK: [Passed] Overlap | {{.*}}in_flight=2
// TIGHT-LABEL: func.func @train_step
//   TIGHT-NOT: ingot.side
// TIGHT-LABEL: func.func @forward
module attributes {ingot.mesh = {tensor = 2}, ingot.target = #ingot.target<"cpu">} {
  func.func @train_step(%x: tensor<1024x1024xf32> {ingot.name = "x", ingot.kind = "data"},
      %w: tensor<1024x1024xf32> {ingot.name = "w", ingot.kind = "data"})
      -> (tensor<1024x1024xf32> {ingot.name = "g1"}, tensor<1024x1024xf32> {ingot.name = "g0"}, tensor<1024x1024xf32> {ingot.name = "d0"}) {
    %d2 = ingot.matmul %x, %w {tag = "d2"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %d1 = ingot.matmul %d2, %w transposed {tag = "d1"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s1 = ingot.all_reduce sum %d1 over [tensor] : tensor<1024x1024xf32>
    %d0 = ingot.matmul %s1, %w transposed {tag = "d0"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s0 = ingot.all_reduce sum %d0 over [tensor] : tensor<1024x1024xf32>
    %g1 = ingot.matmul %x transposed, %d2 {tag = "g1"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %g0 = ingot.matmul %x transposed, %s1 {tag = "g0"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %g1, %g0, %s0 : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
}

// -----

// Tests that exchanges keep their order, of which the second could begin first, and that both are in flight.
// CHECK-LABEL: func.func @forward
//       CHECK: ingot.all_reduce sum {{.*}}{ingot.side = 0 : i64}
//       CHECK: ingot.all_reduce max {{.*}}{ingot.side = 1 : i64}
//      REMARK: [Passed] Overlap | {{.*}}in_flight=2
module attributes {ingot.mesh = {tensor = 2}, ingot.target = #ingot.target<"cpu">} {
  func.func @forward(%x: tensor<1024x1024xf32> {ingot.name = "x", ingot.kind = "data"})
      -> (tensor<1024x1024xf32> {ingot.name = "a"}, tensor<1024x1024xf32> {ingot.name = "b"}, tensor<1024x1024xf32> {ingot.name = "c"}) {
    %p = ingot.matmul %x, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %a = ingot.all_reduce sum %p over [tensor] : tensor<1024x1024xf32>
    %b = ingot.all_reduce max %x over [tensor] : tensor<1024x1024xf32>
    %c = ingot.matmul %p, %p : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %a, %b, %c : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
}

// -----

// Tests that what only waits stays as it is.
// CHECK-LABEL: func.func @forward
//   CHECK-NOT: ingot.side
//      REMARK: [Missed] Overlap | {{.*}}Reason="what follows an exchange needs its result"{{.*}}in_flight=0
module attributes {ingot.mesh = {tensor = 2}, ingot.target = #ingot.target<"cpu">} {
  func.func @forward(%x: tensor<1024x1024xf32> {ingot.name = "x", ingot.kind = "data"})
      -> (tensor<1024x1024xf32> {ingot.name = "a"}) {
    %p = ingot.matmul %x, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %a = ingot.all_reduce sum %p over [tensor] : tensor<1024x1024xf32>
    %c = ingot.matmul %a, %a : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %c : tensor<1024x1024xf32>
  }
}

// -----

// Tests that an exchange overtakes the start of a bucket, whose sums another product has to give first.
// CHECK-LABEL: func.func @train_step
//       CHECK: ingot.all_reduce sum {{.*}}{ingot.side = 0 : i64}
//       CHECK: ingot.matmul {{.*}}{tag = "g1"}
//       CHECK: ingot.all_reduce_start
//       CHECK: ingot.matmul {{.*}}{tag = "d0"}
//      REMARK: [Passed] Overlap | {{.*}}in_flight=1
module attributes {ingot.mesh = {tensor = 2}, ingot.target = #ingot.target<"cpu">} {
  func.func @train_step(%x: tensor<1024x1024xf32> {ingot.name = "x", ingot.kind = "data"},
      %w: tensor<1024x1024xf32> {ingot.name = "w", ingot.kind = "data"})
      -> (tensor<1024x1024xf32> {ingot.name = "g1"}, tensor<1024x1024xf32> {ingot.name = "d0"}) {
    %d1 = ingot.matmul %x, %w transposed {tag = "d1"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %g1 = ingot.matmul %x transposed, %x {tag = "g1"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %bucket = ingot.all_reduce_start %g1 : (tensor<1024x1024xf32>) -> tensor<1048576xf32>
    %s1 = ingot.all_reduce sum %d1 over [tensor] : tensor<1024x1024xf32>
    %d0 = ingot.matmul %s1, %w transposed {tag = "d0"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %sum = ingot.all_reduce_wait %bucket : (tensor<1048576xf32>) -> tensor<1024x1024xf32>
    return %sum, %d0 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
}

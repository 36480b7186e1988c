// RUN: ingot-opt %s --ingot-defer-gathers --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-defer-gathers --split-input-file --remarks-filter=defer-gathers --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARKS

// Tests that a step takes parameters from the buckets that the one before has left under way, that buckets have the order in which
// the step needs them, and that other functions wait, too.
// CHECK-DAG: ingot.state parameter @first : tensor<40xf32> = dense<0.000000e+00> : tensor<40xf32> {gathered = #ingot.gathered<bucket = 0, first = 0, of = 67>}
// CHECK-DAG: ingot.state parameter @second : tensor<3xf32> = dense<0.000000e+00> : tensor<3xf32> {gathered = #ingot.gathered<bucket = 0, first = 64, of = 67>}
// CHECK-DAG: ingot.state parameter @last : tensor<40xf32> = dense<0.000000e+00> : tensor<40xf32> {gathered = #ingot.gathered<bucket = 1, first = 0, of = 40>}
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[X:.+]]: tensor<40xf32>, %[[LAST:.+]]: tensor<40xf32> {ingot.state = @last}, %[[FIRST:.+]]: tensor<40xf32> {ingot.state = @first}, %[[SECOND:.+]]: tensor<3xf32>
// CHECK-DAG: %[[OLD0:.+]]:2 = ingot.state_gather_wait 0 %[[FIRST]], %[[SECOND]] at [0, 64] of 67
// CHECK-DAG: %[[OLD1:.+]] = ingot.state_gather_wait 1 %[[LAST]] at [0] of 40
// CHECK: %[[A:.+]] = ingot.add %[[X]], %[[OLD0]]#0
// CHECK: ingot.mul %[[A]], %[[OLD1]]
// CHECK: %[[NEW1:.+]] = ingot.sub %[[OLD1]], %{{.+}}
// CHECK-NOT: all_gather
// CHECK: %[[NEXT0:.+]]:2 = ingot.state_gather_start 0 %{{.+}}, %{{.+}} at [0, 64] of 67
// CHECK-NEXT: %[[NEXT1:.+]] = ingot.state_gather_start 1 %[[NEW1]] at [0] of 40
// CHECK-NEXT: return %[[NEXT1]], %[[NEXT0]]#0, %[[NEXT0]]#1
// CHECK-LABEL: func.func @eval_step
// CHECK: %[[OLD:.+]] = ingot.state_gather_wait 0 %{{.+}} at [64] of 67
// CHECK: ingot.neg %[[OLD]]
// REMARKS: remark: {{.*}}Passed{{.*}}bytes=160{{.*}}tensors=1
// REMARKS: remark: {{.*}}Passed{{.*}}bytes=268{{.*}}tensors=2
module {
  ingot.state parameter @first : tensor<40xf32> = dense<0.0> : tensor<40xf32>
  ingot.state parameter @second : tensor<3xf32> = dense<0.0> : tensor<3xf32>
  ingot.state parameter @last : tensor<40xf32> = dense<0.0> : tensor<40xf32>
  func.func @train_step(%x: tensor<40xf32>, %last: tensor<40xf32> {ingot.state = @last}, %first: tensor<40xf32> {ingot.state = @first},
      %second: tensor<3xf32> {ingot.state = @second})
      -> (tensor<40xf32> {ingot.state = @last}, tensor<40xf32> {ingot.state = @first}, tensor<3xf32> {ingot.state = @second}) {
    %a = ingot.add %x, %first : tensor<40xf32>
    %b = ingot.mul %a, %last : tensor<40xf32>
    %g0 = ingot.reduce_scatter_start %b : (tensor<40xf32>) -> tensor<40xf32>
    %g1 = ingot.reduce_scatter_start %a, %second : (tensor<40xf32>, tensor<3xf32>) -> tensor<67xf32>
    %s0 = ingot.reduce_scatter_wait %g0 : (tensor<40xf32>) -> tensor<40xf32>
    %n0 = ingot.sub %last, %s0 : tensor<40xf32>
    %c0 = ingot.all_gather_start %n0 : (tensor<40xf32>) -> tensor<40xf32>
    %s1:2 = ingot.reduce_scatter_wait %g1 : (tensor<67xf32>) -> (tensor<40xf32>, tensor<3xf32>)
    %n1 = ingot.sub %first, %s1#0 : tensor<40xf32>
    %n2 = ingot.sub %second, %s1#1 : tensor<3xf32>
    %c1 = ingot.all_gather_start %n1, %n2 : (tensor<40xf32>, tensor<3xf32>) -> tensor<67xf32>
    %w0 = ingot.all_gather_wait %c0 : (tensor<40xf32>) -> tensor<40xf32>
    %w1:2 = ingot.all_gather_wait %c1 : (tensor<67xf32>) -> (tensor<40xf32>, tensor<3xf32>)
    return %w0, %w1#0, %w1#1 : tensor<40xf32>, tensor<40xf32>, tensor<3xf32>
  }
  func.func @eval_step(%second: tensor<3xf32> {ingot.state = @second}) -> (tensor<3xf32> {ingot.name = "y"}) {
    %0 = ingot.neg %second : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

// -----

// Tests that a step that goes on with a new value waits for it.
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: state_gather
// CHECK: ingot.all_gather_wait
// REMARKS: remark: {{.*}}Missed{{.*}}the step itself reads the new values: the step waits for the bucket
module {
  ingot.state parameter @w : tensor<40xf32> = dense<0.0> : tensor<40xf32>
  ingot.state low_copy @low of @w : tensor<40xbf16> = dense<0.0> : tensor<40xbf16>
  func.func @train_step(%g: tensor<40xf32>, %w: tensor<40xf32> {ingot.state = @w})
      -> (tensor<40xf32> {ingot.state = @w}, tensor<40xbf16> {ingot.state = @low}) {
    %g0 = ingot.reduce_scatter_start %g : (tensor<40xf32>) -> tensor<40xf32>
    %s0 = ingot.reduce_scatter_wait %g0 : (tensor<40xf32>) -> tensor<40xf32>
    %n0 = ingot.sub %w, %s0 : tensor<40xf32>
    %c0 = ingot.all_gather_start %n0 : (tensor<40xf32>) -> tensor<40xf32>
    %w0 = ingot.all_gather_wait %c0 : (tensor<40xf32>) -> tensor<40xf32>
    %low = ingot.cast %w0 : tensor<40xf32> -> tensor<40xbf16>
    return %w0, %low : tensor<40xf32>, tensor<40xbf16>
  }
}

// -----

// Tests that states that another function writes whole are waited for.
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: state_gather
// CHECK: ingot.all_gather_wait
// REMARKS: remark: {{.*}}Missed{{.*}}functions write its states in different ways
module {
  ingot.state parameter @w : tensor<40xf32> = dense<0.0> : tensor<40xf32>
  func.func @train_step(%g: tensor<40xf32>, %w: tensor<40xf32> {ingot.state = @w}) -> (tensor<40xf32> {ingot.state = @w}) {
    %g0 = ingot.reduce_scatter_start %g : (tensor<40xf32>) -> tensor<40xf32>
    %s0 = ingot.reduce_scatter_wait %g0 : (tensor<40xf32>) -> tensor<40xf32>
    %n0 = ingot.sub %w, %s0 : tensor<40xf32>
    %c0 = ingot.all_gather_start %n0 : (tensor<40xf32>) -> tensor<40xf32>
    %w0 = ingot.all_gather_wait %c0 : (tensor<40xf32>) -> tensor<40xf32>
    return %w0 : tensor<40xf32>
  }
  func.func @other_step(%w: tensor<40xf32> {ingot.state = @w}) -> (tensor<40xf32> {ingot.state = @w}) {
    %0 = ingot.neg %w : tensor<40xf32>
    return %0 : tensor<40xf32>
  }
}

// -----

// Tests that a parameter is needed where a function reads what it computes from it: copies in another type come first in the
// step, in any order.
// CHECK-DAG: ingot.state parameter @first {{.*}}gathered = #ingot.gathered<bucket = 0, first = 0, of = 40>
// CHECK-DAG: ingot.state parameter @second {{.*}}gathered = #ingot.gathered<bucket = 1, first = 0, of = 40>
module {
  ingot.state parameter @first : tensor<40xf32> = dense<0.0> : tensor<40xf32>
  ingot.state parameter @second : tensor<40xf32> = dense<0.0> : tensor<40xf32>
  func.func @train_step(%x: tensor<40xbf16>, %g: tensor<40xf32>, %first: tensor<40xf32> {ingot.state = @first},
      %second: tensor<40xf32> {ingot.state = @second})
      -> (tensor<40xf32> {ingot.state = @first}, tensor<40xf32> {ingot.state = @second}, tensor<40xbf16> {ingot.name = "y"}) {
    %c1 = ingot.cast %second : tensor<40xf32> -> tensor<40xbf16>
    %c0 = ingot.cast %first : tensor<40xf32> -> tensor<40xbf16>
    %a = ingot.add %x, %c0 : tensor<40xbf16>
    %b = ingot.mul %a, %c1 : tensor<40xbf16>
    %g0 = ingot.reduce_scatter_start %g : (tensor<40xf32>) -> tensor<40xf32>
    %s0 = ingot.reduce_scatter_wait %g0 : (tensor<40xf32>) -> tensor<40xf32>
    %n1 = ingot.sub %second, %s0 : tensor<40xf32>
    %t1 = ingot.all_gather_start %n1 : (tensor<40xf32>) -> tensor<40xf32>
    %w1 = ingot.all_gather_wait %t1 : (tensor<40xf32>) -> tensor<40xf32>
    %n0 = ingot.sub %first, %s0 : tensor<40xf32>
    %t0 = ingot.all_gather_start %n0 : (tensor<40xf32>) -> tensor<40xf32>
    %w0 = ingot.all_gather_wait %t0 : (tensor<40xf32>) -> tensor<40xf32>
    return %w0, %w1, %b : tensor<40xf32>, tensor<40xf32>, tensor<40xbf16>
  }
}

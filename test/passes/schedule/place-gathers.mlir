// RUN: ingot-opt %s --ingot-place-gathers --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-place-gathers --split-input-file --remarks-filter=place-gathers --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-place-gathers --ingot-place-gathers=buckets=3 --split-input-file | FileCheck %s --check-prefix=KEEP

// Tests that there is room for two buckets: the first is gathered again behind the third, which is still there. Each is in
// flight while readers of another run. With room for all, each is gathered once.
// REMARK-DAG: parameters 0{{.*}}bytes=384{{.*}}times=2
// REMARK-DAG: parameters 1{{.*}}bytes=384{{.*}}times=1
// REMARK-DAG: parameters 2{{.*}}bytes=384{{.*}}times=1
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[A:.+]]: tensor<96xf32> {ingot.state = @a}, %[[B:.+]]: tensor<96xf32> {ingot.state = @b}, %[[C:.+]]: tensor<96xf32> {ingot.state = @c}
// CHECK: %[[SA:.+]] = ingot.all_gather_start %[[A]]
// CHECK: %[[SB:.+]] = ingot.all_gather_start %[[B]]
// CHECK: %[[GA:.+]] = ingot.all_gather_wait %[[SA]]
// CHECK: ingot.exp %[[GA]]
// CHECK: %[[SC:.+]] = ingot.all_gather_start %[[C]]
// CHECK: %[[GB:.+]] = ingot.all_gather_wait %[[SB]]
// CHECK: ingot.exp %[[GB]]
// CHECK: %[[GC:.+]] = ingot.all_gather_wait %[[SC]]
// CHECK: ingot.exp %[[GC]]
// CHECK: ingot.log %[[GC]]
// CHECK: %[[AGAIN:.+]] = ingot.all_gather_start %[[A]]
// CHECK: ingot.log %[[GB]]
// CHECK: %[[GA2:.+]] = ingot.all_gather_wait %[[AGAIN]]
// CHECK: %[[VIEW:.+]] = ingot.reshape %[[GA2]]
// CHECK: ingot.log %[[VIEW]]
// CHECK: return
// KEEP-LABEL: func.func @train_step
// KEEP-COUNT-3: ingot.all_gather_start
// KEEP-NOT: ingot.all_gather_start
// KEEP: return
module {
  ingot.state parameter @a : tensor<96xf32> = dense<1.0> : tensor<96xf32> {shard = #ingot.shard<first = 0, of = 96>}
  ingot.state parameter @b : tensor<96xf32> = dense<1.0> : tensor<96xf32> {shard = #ingot.shard<first = 0, of = 96>}
  ingot.state parameter @c : tensor<96xf32> = dense<1.0> : tensor<96xf32> {shard = #ingot.shard<first = 0, of = 96>}
  func.func @train_step(%a: tensor<96xf32> {ingot.state = @a}, %b: tensor<96xf32> {ingot.state = @b}, %c: tensor<96xf32> {ingot.state = @c})
      -> (tensor<96xf32> {ingot.name = "x"}, tensor<96xf32> {ingot.name = "y"}, tensor<96xf32> {ingot.name = "z"}, tensor<96xf32> {ingot.name = "u"}, tensor<96xf32> {ingot.name = "v"}, tensor<8x12xf32> {ingot.name = "w"}) {
    %sa = ingot.all_gather_start %a : (tensor<96xf32>) -> tensor<96xf32> loc("parameters 0")
    %ga = ingot.all_gather_wait %sa : (tensor<96xf32>) -> tensor<96xf32> loc("parameters 0")
    %view = ingot.reshape %ga : tensor<96xf32> -> tensor<8x12xf32>
    %sb = ingot.all_gather_start %b : (tensor<96xf32>) -> tensor<96xf32> loc("parameters 1")
    %gb = ingot.all_gather_wait %sb : (tensor<96xf32>) -> tensor<96xf32> loc("parameters 1")
    %sc = ingot.all_gather_start %c : (tensor<96xf32>) -> tensor<96xf32> loc("parameters 2")
    %gc = ingot.all_gather_wait %sc : (tensor<96xf32>) -> tensor<96xf32> loc("parameters 2")
    %x = ingot.exp %ga : tensor<96xf32>
    %y = ingot.exp %gb : tensor<96xf32>
    %z = ingot.exp %gc : tensor<96xf32>
    %u = ingot.log %gc : tensor<96xf32>
    %v = ingot.log %gb : tensor<96xf32>
    %w = ingot.log %view : tensor<8x12xf32>
    return %x, %y, %z, %u, %v, %w : tensor<96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<8x12xf32>
  }
}

// -----

// Tests that an op that reads more buckets than there is room for has all of them, and that a small bucket stays: it takes
// no room from others.
// CHECK-LABEL: func.func @train_step
// CHECK-COUNT-4: ingot.all_gather_start
// CHECK-NOT: ingot.all_gather_start
// CHECK: return
module {
  ingot.state parameter @a : tensor<960xf32> = dense<1.0> : tensor<960xf32> {shard = #ingot.shard<first = 0, of = 960>}
  ingot.state parameter @b : tensor<960xf32> = dense<1.0> : tensor<960xf32> {shard = #ingot.shard<first = 0, of = 960>}
  ingot.state parameter @c : tensor<960xf32> = dense<1.0> : tensor<960xf32> {shard = #ingot.shard<first = 0, of = 960>}
  ingot.state parameter @d : tensor<32xf32> = dense<1.0> : tensor<32xf32> {shard = #ingot.shard<first = 0, of = 32>}
  func.func @train_step(%a: tensor<960xf32> {ingot.state = @a}, %b: tensor<960xf32> {ingot.state = @b}, %c: tensor<960xf32> {ingot.state = @c}, %d: tensor<32xf32> {ingot.state = @d})
      -> (tensor<32xf32> {ingot.name = "x"}, tensor<2880xf32> {ingot.name = "y"}, tensor<32xf32> {ingot.name = "z"}, tensor<960xf32> {ingot.name = "u"}) {
    %sa = ingot.all_gather_start %a : (tensor<960xf32>) -> tensor<960xf32>
    %ga = ingot.all_gather_wait %sa : (tensor<960xf32>) -> tensor<960xf32>
    %sb = ingot.all_gather_start %b : (tensor<960xf32>) -> tensor<960xf32>
    %gb = ingot.all_gather_wait %sb : (tensor<960xf32>) -> tensor<960xf32>
    %sc = ingot.all_gather_start %c : (tensor<960xf32>) -> tensor<960xf32>
    %gc = ingot.all_gather_wait %sc : (tensor<960xf32>) -> tensor<960xf32>
    %sd = ingot.all_gather_start %d : (tensor<32xf32>) -> tensor<32xf32>
    %gd = ingot.all_gather_wait %sd : (tensor<32xf32>) -> tensor<32xf32>
    %sd2 = ingot.all_gather_start %d : (tensor<32xf32>) -> tensor<32xf32>
    %gd2 = ingot.all_gather_wait %sd2 : (tensor<32xf32>) -> tensor<32xf32>
    %x = ingot.exp %gd : tensor<32xf32>
    %y = ingot.concat %ga, %gb, %gc dim = 0 : (tensor<960xf32>, tensor<960xf32>, tensor<960xf32>) -> tensor<2880xf32>
    %z = ingot.log %gd2 : tensor<32xf32>
    %u = ingot.log %ga : tensor<960xf32>
    return %x, %y, %z, %u : tensor<32xf32>, tensor<2880xf32>, tensor<32xf32>, tensor<960xf32>
  }
}

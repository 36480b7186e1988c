// RUN: ingot-opt %s --ingot-form-buckets=zero=1 --ingot-simplify --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-form-buckets=zero=1 --split-input-file --remarks-filter=form-buckets --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-form-buckets=zero=3 --split-input-file | FileCheck %s --check-prefix=THREE

// Tests that the norm of all gradients is a sum over ranks of those of the shards, computed from the sums themselves,
// and that it is exchanged once.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[SUMS:.+]]:2 = ingot.reduce_scatter_wait
// CHECK-DAG: %[[A:.+]] = ingot.shard_square_sum %[[SUMS]]#0 at 0 of 39 : tensor<7xf32> -> tensor<f64>
// CHECK-DAG: %[[B:.+]] = ingot.shard_square_sum %[[SUMS]]#1 at 32 of 39 : tensor<7xf32> -> tensor<f64>
// CHECK: %[[START:.+]] = ingot.all_reduce_start %{{.+}} : (tensor<f64>) -> tensor<1xf64>
// CHECK: %[[SQUARES:.+]] = ingot.all_reduce_wait %[[START]]
// CHECK: ingot.sqrt %[[SQUARES]]
// CHECK-NOT: all_reduce
// CHECK: return
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  func.func @train_step(%rate: tensor<f32> {ingot.kind = "hyper", ingot.name = "rate"}, %a: tensor<7xf32> {ingot.state = @a}, %b: tensor<7xf32> {ingot.state = @b})
      -> (tensor<7xf32> {ingot.state = @a}, tensor<7xf32> {ingot.state = @b}, tensor<f64> {ingot.name = "grad_norm"}) {
    %0 = ingot.exp %a : tensor<7xf32>
    %1 = ingot.exp %b : tensor<7xf32>
    %ga = ingot.all_reduce sum %0 over [data] gradient_of @a : tensor<7xf32>
    %gb = ingot.all_reduce sum %1 over [data] gradient_of @b : tensor<7xf32>
    %wide = ingot.broadcast %rate dims = [] : tensor<f32> -> tensor<7xf32>
    %ma = ingot.mul %ga, %wide : tensor<7xf32>
    %mb = ingot.mul %gb, %wide : tensor<7xf32>
    %2 = ingot.mul %ma, %ma : tensor<7xf32>
    %3 = ingot.reduce sum %2 dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %4 = ingot.cast %3 : tensor<f32> -> tensor<f64>
    %5 = ingot.mul %mb, %mb : tensor<7xf32>
    %6 = ingot.reduce sum %5 dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %7 = ingot.cast %6 : tensor<f32> -> tensor<f64>
    %8 = ingot.add %4, %7 : tensor<f64>
    %norm = ingot.sqrt %8 : tensor<f64>
    %na = ingot.sub %a, %ma : tensor<7xf32>
    %nb = ingot.sub %b, %mb : tensor<7xf32>
    return %na, %nb, %norm : tensor<7xf32>, tensor<7xf32>, tensor<f64>
  }
}

// -----

// Tests that norms that each update needs by itself are in one bucket, whatever comes between them.
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.reduce_scatter_wait
// CHECK: %[[START:.+]] = ingot.all_reduce_start %{{.+}}, %{{.+}} : (tensor<f64>, tensor<f64>) -> tensor<9xf64>
// CHECK: %[[SUMS:.+]]:2 = ingot.all_reduce_wait %[[START]]
// CHECK-DAG: ingot.cast %[[SUMS]]#0
// CHECK-DAG: ingot.cast %[[SUMS]]#1
// CHECK-NOT: all_reduce
// CHECK: return
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %b: tensor<7xf32> {ingot.state = @b}) -> (tensor<7xf32> {ingot.state = @a}, tensor<7xf32> {ingot.state = @b}) {
    %0 = ingot.exp %a : tensor<7xf32>
    %1 = ingot.exp %b : tensor<7xf32>
    %ga = ingot.all_reduce sum %0 over [data] gradient_of @a : tensor<7xf32>
    %gb = ingot.all_reduce sum %1 over [data] gradient_of @b : tensor<7xf32>
    %2 = ingot.mul %ga, %ga : tensor<7xf32>
    %3 = ingot.reduce sum %2 dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %4 = ingot.rsqrt %3 : tensor<f32>
    %5 = ingot.broadcast %4 dims = [] : tensor<f32> -> tensor<7xf32>
    %6 = ingot.mul %ga, %5 : tensor<7xf32>
    %na = ingot.sub %a, %6 : tensor<7xf32>
    %7 = ingot.mul %gb, %gb : tensor<7xf32>
    %8 = ingot.reduce sum %7 dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %9 = ingot.rsqrt %8 : tensor<f32>
    %10 = ingot.broadcast %9 dims = [] : tensor<f32> -> tensor<7xf32>
    %11 = ingot.mul %gb, %10 : tensor<7xf32>
    %nb = ingot.sub %b, %11 : tensor<7xf32>
    return %na, %nb : tensor<7xf32>, tensor<7xf32>
  }
}

// -----

// Tests that the squares of a gradient of which ranks along another axis have parts are summed over both axes, and that a
// gradient that is summed along another axis afterwards stays whole.
// REMARK-DAG: ranks along another axis add it up
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.reduce_scatter_wait
// CHECK: %[[SQUARE:.+]] = ingot.shard_square_sum
// CHECK: %[[PARTS:.+]] = ingot.all_reduce sum %[[SQUARE]] over [tensor] : tensor<f64>
// CHECK: %[[START:.+]] = ingot.all_reduce_start %[[PARTS]] : (tensor<f64>)
// CHECK: %[[SQUARES:.+]] = ingot.all_reduce_wait %[[START]]
// CHECK: ingot.sqrt %[[SQUARES]]
module attributes {ingot.mesh = {tensor = 2 : i64}} {
  ingot.state parameter @a : tensor<7xf64> = dense<0.0> : tensor<7xf64>
  ingot.state parameter @b : tensor<7xf64> = dense<0.0> : tensor<7xf64>
  func.func @train_step(%a: tensor<7xf64> {ingot.state = @a}, %b: tensor<7xf64> {ingot.state = @b})
      -> (tensor<7xf64> {ingot.state = @a}, tensor<7xf64> {ingot.state = @b}, tensor<f64> {ingot.name = "grad_norm"}) {
    %0 = ingot.exp %a : tensor<7xf64>
    %1 = ingot.exp %b : tensor<7xf64>
    %ga = ingot.all_reduce sum %0 over [data] gradient_of @a : tensor<7xf64>
    %gb = ingot.all_reduce sum %1 over [data] gradient_of @b : tensor<7xf64>
    %all = ingot.all_reduce sum %gb over [tensor] : tensor<7xf64>
    %2 = ingot.mul %ga, %ga : tensor<7xf64>
    %3 = ingot.reduce sum %2 dims = [0] : (tensor<7xf64>) -> tensor<f64>
    %4 = ingot.all_reduce sum %3 over [tensor] : tensor<f64>
    %norm = ingot.sqrt %4 : tensor<f64>
    %na = ingot.sub %a, %ga : tensor<7xf64>
    %nb = ingot.sub %b, %all : tensor<7xf64>
    return %na, %nb, %norm : tensor<7xf64>, tensor<7xf64>, tensor<f64>
  }
}

// -----

// Tests that a gradient that an update reads in another way stays whole, and so does one that is combined with others.
// REMARK-DAG: an op combines it with another gradient
// REMARK-DAG: its update needs elements of other ranks
// CHECK-LABEL: func.func @train_step
// CHECK: ingot.all_reduce_start %{{.+}}, %{{.+}}, %{{.+}} : (tensor<7xf32>, tensor<7xf32>, tensor<7xf32>)
// CHECK: ingot.reduce_scatter_start %{{.+}} : (tensor<7xf32>)
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @c : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @d : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %b: tensor<7xf32> {ingot.state = @b}, %c: tensor<7xf32> {ingot.state = @c}, %d: tensor<7xf32> {ingot.state = @d})
      -> (tensor<7xf32> {ingot.state = @a}, tensor<7xf32> {ingot.state = @b}, tensor<7xf32> {ingot.state = @c}, tensor<7xf32> {ingot.state = @d}) {
    %0 = ingot.exp %a : tensor<7xf32>
    %1 = ingot.exp %b : tensor<7xf32>
    %2 = ingot.exp %c : tensor<7xf32>
    %3 = ingot.exp %d : tensor<7xf32>
    %ga = ingot.all_reduce sum %0 over [data] gradient_of @a : tensor<7xf32>
    %gb = ingot.all_reduce sum %1 over [data] gradient_of @b : tensor<7xf32>
    %gc = ingot.all_reduce sum %2 over [data] gradient_of @c : tensor<7xf32>
    %gd = ingot.all_reduce sum %3 over [data] gradient_of @d : tensor<7xf32>
    %largest = ingot.reduce max %ga dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %4 = ingot.broadcast %largest dims = [] : tensor<f32> -> tensor<7xf32>
    %na = ingot.sub %ga, %4 : tensor<7xf32>
    %nb = ingot.add %gb, %gc : tensor<7xf32>
    %nc = ingot.sub %c, %gc : tensor<7xf32>
    %nd = ingot.sub %d, %gd : tensor<7xf32>
    return %na, %nb, %nc, %nd : tensor<7xf32>, tensor<7xf32>, tensor<7xf32>, tensor<7xf32>
  }
}

// -----

// Tests that gradients share a bucket only if their parameters are gathered in the same types: those with a compute copy do
// not with one that is read in f32. What an update reads is not gathered.
// THREE: low_copy @"c/bf16"
// THREE-DAG: ingot.reduce_scatter_start %{{.+}}, %{{.+}} : (tensor<7xf32>, tensor<7xf32>)
// THREE-DAG: ingot.reduce_scatter_start %{{.+}} : (tensor<7xf32>)
module {
  ingot.state parameter @a : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @b : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state parameter @c : tensor<7xf32> = dense<0.0> : tensor<7xf32>
  ingot.state low_copy @"a/bf16" of @a : tensor<7xbf16> = dense<0.0> : tensor<7xbf16>
  ingot.state low_copy @"c/bf16" of @c : tensor<7xbf16> = dense<0.0> : tensor<7xbf16>
  func.func @train_step(%a: tensor<7xf32> {ingot.state = @a}, %b: tensor<7xf32> {ingot.state = @b}, %c: tensor<7xf32> {ingot.state = @c},
      %al: tensor<7xbf16> {ingot.state = @"a/bf16"}, %cl: tensor<7xbf16> {ingot.state = @"c/bf16"})
      -> (tensor<7xf32> {ingot.state = @a}, tensor<7xf32> {ingot.state = @b}, tensor<7xf32> {ingot.state = @c}) {
    %wa = ingot.cast %al : tensor<7xbf16> -> tensor<7xf32>
    %sa = ingot.reduce sum %wa dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %sb = ingot.reduce sum %b dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %wc = ingot.cast %cl : tensor<7xbf16> -> tensor<7xf32>
    %sc = ingot.reduce sum %wc dims = [0] : (tensor<7xf32>) -> tensor<f32>
    %0 = ingot.broadcast %sa dims = [] : tensor<f32> -> tensor<7xf32>
    %1 = ingot.broadcast %sb dims = [] : tensor<f32> -> tensor<7xf32>
    %2 = ingot.broadcast %sc dims = [] : tensor<f32> -> tensor<7xf32>
    %ga = ingot.all_reduce sum %0 over [data] gradient_of @a : tensor<7xf32>
    %gb = ingot.all_reduce sum %1 over [data] gradient_of @b : tensor<7xf32>
    %gc = ingot.all_reduce sum %2 over [data] gradient_of @c : tensor<7xf32>
    %na = ingot.sub %a, %ga : tensor<7xf32>
    %nb = ingot.sub %b, %gb : tensor<7xf32>
    %nc = ingot.sub %c, %gc : tensor<7xf32>
    return %na, %nb, %nc : tensor<7xf32>, tensor<7xf32>, tensor<7xf32>
  }
}

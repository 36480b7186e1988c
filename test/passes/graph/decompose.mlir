// RUN: ingot-opt %s --pass-pipeline="builtin.module(func.func(ingot-decompose))" | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-decompose=keep-anchors | FileCheck %s --check-prefix=DEVICE
// RUN: ingot-opt %s --ingot-decompose=keep-anchors | FileCheck %s --check-prefix=HOST

// CHECK-LABEL: func @softmax
// CHECK-SAME:    %[[X:[a-z0-9]+]]:
func.func @softmax(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK:      %[[MAX:.*]] = ingot.reduce max %[[X]] dims = [1]
  // CHECK-NEXT: %[[MAXES:.*]] = ingot.broadcast %[[MAX]] dims = [0]
  // CHECK-NEXT: %[[SHIFTED:.*]] = ingot.sub %[[X]], %[[MAXES]]
  // CHECK-NEXT: %[[EXP:.*]] = ingot.exp %[[SHIFTED]]
  // CHECK-NEXT: %[[SUM:.*]] = ingot.reduce sum %[[EXP]] dims = [1]
  // CHECK-NEXT: %[[SUMS:.*]] = ingot.broadcast %[[SUM]] dims = [0]
  // CHECK-NEXT: %[[RESULT:.*]] = ingot.div %[[EXP]], %[[SUMS]]
  // CHECK-NEXT: return %[[RESULT]]
  %0 = ingot.softmax %x dim = 1 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Half precision is computed in f32 and rounded once.
// CHECK-LABEL: func @half
func.func @half(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
  // CHECK:     ingot.cast %{{.*}} : tensor<8x4xbf16> -> tensor<8x4xf32>
  // CHECK:     ingot.exp %{{.*}} : tensor<8x4xf32>
  // CHECK:     ingot.cast %{{.*}} : tensor<8x4xf32> -> tensor<8x4xbf16>
  // CHECK-NOT: ingot.cast
  %0 = ingot.log_softmax %x dim = 1 : tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// Running statistics that nothing reads are not built.
// CHECK-LABEL: func @unused_results
func.func @unused_results(%x: tensor<8x3x2xf32>, %c: tensor<3xf32>) -> tensor<8x3x2xf32> {
  // CHECK-NOT:     dense<1.000000e-01>
  // CHECK-COUNT-2: ingot.reduce sum {{.*}} dims = [0, 2]
  // CHECK-NOT:     ingot.reduce
  // CHECK:         return
  %0, %mean, %variance, %batch_mean, %rstd =
    ingot.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-5, momentum = 0.9}
    : (tensor<8x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    -> (tensor<8x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0 : tensor<8x3x2xf32>
}

// The chosen logit is read by its index; no one-hot matrix.
// CHECK-LABEL: func @cross_entropy
func.func @cross_entropy(%x: tensor<8x4xf32>, %labels: tensor<8xi64>) -> tensor<8xf32> {
  // CHECK:     ingot.take_along
  // CHECK:     ingot.compare eq %{{.*}}, %[[IGNORED:.*]] :
  // CHECK-NOT: ingot.iota
  %0, %lse = ingot.cross_entropy %x, %labels dim = 1
    : (tensor<8x4xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @dropout
func.func @dropout(%x: tensor<8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<8xf32> {
  // CHECK:      %[[DRAWN:.*]] = ingot.random_uniform
  // CHECK:      %[[MASK:.*]] = ingot.compare ge %[[DRAWN]],
  // CHECK:      ingot.select %[[MASK]],
  %0, %mask = ingot.dropout %x, %seed, %step ratio = 0.5 stream = 1
    : (tensor<8xf32>, tensor<i64>, tensor<i64>) -> (tensor<8xf32>, tensor<8xi1>)
  return %0 : tensor<8xf32>
}

// A processor's kernel runs attention but for f64 and soft caps, a device's in
// half precision and with bounds alone.
// HOST-LABEL:   func.func @attention
// HOST-COUNT-4: ingot.attention
// HOST-NOT:     ingot.attention
// DEVICE-LABEL: func.func @attention
// DEVICE-NOT:   ingot.attention
// DEVICE:       ingot.attention {{.*}}right = 0{{.*}}tensor<1x8x2x8xbf16>
// DEVICE-NOT:   ingot.attention
func.func @attention(%x: tensor<1x8x2x8xf32>, %h: tensor<1x8x2x8xbf16>, %m: tensor<1x1x8x8xi1>, %o: tensor<1x8x2x4xbf16>, %d: tensor<1x8x2x8xf64>) -> (tensor<1x8x2x8xf32>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x8xf64>, tensor<1x8x2x8xf32>) {
  %0, %l0 = ingot.attention %x, %x, %x {scale = 1.0 : f64} : (tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x2x8xf32>, tensor<1x2x8xf32>)
  %1, %l1 = ingot.attention %h, %h, %h {scale = 1.0 : f64, right = 0 : i64} : (tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>) -> (tensor<1x8x2x8xbf16>, tensor<1x2x8xf32>)
  %2, %l2 = ingot.attention %h, %h, %h mask %m {scale = 1.0 : f64} : (tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x1x8x8xi1>) -> (tensor<1x8x2x8xbf16>, tensor<1x2x8xf32>)
  %3, %l3 = ingot.attention %o, %o, %o {scale = 1.0 : f64} : (tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>) -> (tensor<1x8x2x4xbf16>, tensor<1x2x8xf32>)
  %4, %l4 = ingot.attention %d, %d, %d {scale = 1.0 : f64} : (tensor<1x8x2x8xf64>, tensor<1x8x2x8xf64>, tensor<1x8x2x8xf64>) -> (tensor<1x8x2x8xf64>, tensor<1x2x8xf64>)
  %5, %l5 = ingot.attention %x, %x, %x {scale = 1.0 : f64, softcap = 2.0 : f64} : (tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x2x8xf32>, tensor<1x2x8xf32>)
  return %0, %1, %2, %3, %4, %5 : tensor<1x8x2x8xf32>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x8xf64>, tensor<1x8x2x8xf32>
}

// Where the parts of a packed tensor are aligned, a device takes them in half
// precision where they are (%h); else they become tensors of their own, which
// may fit (%u), or products (%x).
// HOST-LABEL:   func.func @packed_attention
// HOST:         ingot.packed_attention_grad {{.*}}bf16
// HOST:         ingot.attention_grad
// HOST:         ingot.packed_attention_grad {{.*}}f32
// DEVICE-LABEL: func.func @packed_attention
// DEVICE-SAME:  (%[[H:[a-z0-9]+]]: tensor<1x8x24x8xbf16>, %[[U:[a-z0-9]+]]: tensor<1x8x6x8xbf16>
// DEVICE-NOT:   ingot.slice
// DEVICE:       %[[R:.+]], %[[L:.+]] = ingot.packed_attention %[[H]] {key_heads = 8
// DEVICE:       ingot.packed_attention_grad %[[H]], %[[R]], %[[L]], %[[R]] {key_heads = 8
// DEVICE:       %[[Q:.+]] = ingot.slice %[[U]] starts = [0, 0, 0, 0] limits = [1, 8, 2, 8]
// DEVICE:       %[[K:.+]] = ingot.slice %[[U]] starts = [0, 0, 2, 0] limits = [1, 8, 4, 8]
// DEVICE:       %[[V:.+]] = ingot.slice %[[U]] starts = [0, 0, 4, 0] limits = [1, 8, 6, 8]
// DEVICE:       %[[R1:.+]], %[[L1:.+]] = ingot.attention %[[Q]], %[[K]], %[[V]]
// DEVICE:       %[[DQ:.+]], %[[DK:.+]], %[[DV:.+]] = ingot.attention_grad {{.*}}, %[[R1]], %[[L1]], %[[R1]]
// DEVICE:       ingot.concat %[[DQ]], %[[DK]], %[[DV]] dim = 2
// DEVICE-NOT:   attention
func.func @packed_attention(%h: tensor<1x8x24x8xbf16>, %u: tensor<1x8x6x8xbf16>, %x: tensor<1x8x6x8xf32>) -> (tensor<1x8x24x8xbf16>, tensor<1x8x6x8xbf16>, tensor<1x8x6x8xf32>) {
  %0, %l0 = ingot.packed_attention %h {key_heads = 8 : i64, scale = 1.0 : f64, right = 0 : i64} : (tensor<1x8x24x8xbf16>) -> (tensor<1x8x8x8xbf16>, tensor<1x8x8xf32>)
  %1 = ingot.packed_attention_grad %h, %0, %l0, %0 {key_heads = 8 : i64, scale = 1.0 : f64, right = 0 : i64} : (tensor<1x8x24x8xbf16>, tensor<1x8x8x8xbf16>, tensor<1x8x8xf32>, tensor<1x8x8x8xbf16>) -> tensor<1x8x24x8xbf16>
  %2, %l2 = ingot.packed_attention %u {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<1x8x6x8xbf16>) -> (tensor<1x8x2x8xbf16>, tensor<1x2x8xf32>)
  %3 = ingot.packed_attention_grad %u, %2, %l2, %2 {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<1x8x6x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x2x8xf32>, tensor<1x8x2x8xbf16>) -> tensor<1x8x6x8xbf16>
  %4, %l4 = ingot.packed_attention %x {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<1x8x6x8xf32>) -> (tensor<1x8x2x8xf32>, tensor<1x2x8xf32>)
  %5 = ingot.packed_attention_grad %x, %4, %l4, %4 {key_heads = 2 : i64, scale = 1.0 : f64} : (tensor<1x8x6x8xf32>, tensor<1x8x2x8xf32>, tensor<1x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x6x8xf32>
  return %1, %3, %5 : tensor<1x8x24x8xbf16>, tensor<1x8x6x8xbf16>, tensor<1x8x6x8xf32>
}

// A device's kernel adds a bias in f32.
// DEVICE-LABEL: func.func @bias
// DEVICE:       ingot.attention {{.*}} bias %{{.*}} {
func.func @bias(%h: tensor<1x8x2x8xbf16>, %b: tensor<1x1x1x8xf32>) -> tensor<1x8x2x8xbf16> {
  %0, %l0 = ingot.attention %h, %h, %h bias %b {scale = 1.0 : f64} : (tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x1x1x8xf32>) -> (tensor<1x8x2x8xbf16>, tensor<1x2x8xf32>)
  return %0 : tensor<1x8x2x8xbf16>
}

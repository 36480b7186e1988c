// RUN: ingot-opt %s --ingot-form-attention | FileCheck %s
// RUN: ingot-opt %s --ingot-form-attention --remarks-filter=form-attention --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-attention=precision=bf16 --ingot-legalize-attention | FileCheck %s --check-prefix=DEVICE
// RUN: ingot-opt %s --ingot-attach-target=target=cuda --ingot-form-attention=precision=bf16 --ingot-legalize-attention --remarks-filter="(form|legalize)-attention" --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=DEVICE-REMARK
// RUN: ingot-opt %s --ingot-form-attention=plain | FileCheck %s --check-prefix=PLAIN

// Scales of queries, keys and scores are one; what is transposed comes from
// where it was.
// CHECK-LABEL: func @scales
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<2x32x3x8xf32>, %[[K:[a-z0-9]+]]: tensor<2x3x8x64xf32>, %[[V:[a-z0-9]+]]:
// PLAIN-LABEL: func @scales
// PLAIN-NOT:   ingot.attention
func.func @scales(%q: tensor<2x32x3x8xf32>, %k: tensor<2x3x8x64xf32>, %v: tensor<2x3x64x8xf32>) -> tensor<2x3x32x8xf32> {
  // CHECK-DAG:  %[[KEYS:.*]] = ingot.transpose %[[K]] [0, 3, 1, 2]
  // CHECK-DAG:  %[[VALUES:.*]] = ingot.transpose %[[V]] [0, 2, 1, 3]
  // CHECK:      %[[R:.*]], %{{.*}} = ingot.attention %[[Q]], %[[KEYS]], %[[VALUES]] {scale = 2.500000e-01 : f64}
  // CHECK-NEXT: %[[T:.*]] = ingot.transpose %[[R]] [0, 2, 1, 3]
  // CHECK-NEXT: return %[[T]]
  // REMARK: remark: [Passed] Attention | Category:form-attention | bytes_saved=49152, {{.*}}left=-1, right=-1
  %half = ingot.constant dense<0.5> : tensor<2x3x32x8xf32>
  %two = ingot.constant dense<2.0> : tensor<2x3x8x64xf32>
  %four = ingot.constant dense<4.0> : tensor<2x3x32x64xf32>
  %heads = ingot.transpose %q [0, 2, 1, 3] : (tensor<2x32x3x8xf32>) -> tensor<2x3x32x8xf32>
  %0 = ingot.mul %heads, %half : tensor<2x3x32x8xf32>
  %1 = ingot.mul %k, %two : tensor<2x3x8x64xf32>
  %2 = ingot.matmul %0, %1 : (tensor<2x3x32x8xf32>, tensor<2x3x8x64xf32>) -> tensor<2x3x32x64xf32>
  %3 = ingot.div %2, %four : tensor<2x3x32x64xf32>
  %4 = ingot.softmax %3 dim = 3 : tensor<2x3x32x64xf32>
  %5 = ingot.matmul %4, %v : (tensor<2x3x32x64xf32>, tensor<2x3x64x8xf32>) -> tensor<2x3x32x8xf32>
  return %5 : tensor<2x3x32x8xf32>
}

// CHECK-LABEL: func @causal
func.func @causal(%q: tensor<6x32x8xf32>, %k: tensor<6x32x8xf32>, %v: tensor<6x32x8xf32>) -> tensor<6x32x8xf32> {
  // CHECK:     ingot.attention %{{[^{]*}} {right = 0 : i64, scale = 1.000000e+00 : f64}
  // CHECK-NOT: ingot.softmax
  %lowest = ingot.constant dense<-3.40282347E+38> : tensor<6x32x32xf32>
  %rows = ingot.iota {dim = 0 : i64} : tensor<32x32xi64>
  %columns = ingot.iota {dim = 1 : i64} : tensor<32x32xi64>
  %0 = ingot.compare le %columns, %rows : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %allowed = ingot.broadcast %0 dims = [1, 2] : tensor<32x32xi1> -> tensor<6x32x32xi1>
  %1 = ingot.matmul %q, %k transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %2 = ingot.select %allowed, %1, %lowest : tensor<6x32x32xi1>, tensor<6x32x32xf32>
  %3 = ingot.softmax %2 dim = 2 : tensor<6x32x32xf32>
  %4 = ingot.matmul %3, %v : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %4 : tensor<6x32x8xf32>
}

// Heads are separate only where a mask is added.
// CHECK-LABEL: func @separate_in_between
func.func @separate_in_between(%q: tensor<6x32x8xf32>, %k: tensor<6x32x8xf32>, %v: tensor<6x32x8xf32>, %bias: tensor<2x1x32x32xf32>) -> tensor<6x32x8xf32> {
  // CHECK:     ingot.attention {{.*}} bias %{{.*}} {scale = 1.000000e+00 : f64} : {{.*}}tensor<2x32x3x8xf32>{{.*}}tensor<2x1x32x32xf32>
  // CHECK-NOT: ingot.softmax
  %0 = ingot.matmul %q, %k transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.reshape %0 : tensor<6x32x32xf32> -> tensor<2x3x32x32xf32>
  %each = ingot.reshape %bias : tensor<2x1x32x32xf32> -> tensor<2x32x32xf32>
  %all = ingot.broadcast %each dims = [0, 2, 3] : tensor<2x32x32xf32> -> tensor<2x3x32x32xf32>
  %2 = ingot.add %1, %all : tensor<2x3x32x32xf32>
  %3 = ingot.reshape %2 : tensor<2x3x32x32xf32> -> tensor<6x32x32xf32>
  %4 = ingot.softmax %3 dim = 2 : tensor<6x32x32xf32>
  %5 = ingot.matmul %4, %v : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %5 : tensor<6x32x8xf32>
}

// In two ways: no attention has both masks.
// CHECK-LABEL: func @separate_in_two_ways
func.func @separate_in_two_ways(%q: tensor<6x32x8xf32>, %k: tensor<6x32x8xf32>, %v: tensor<6x32x8xf32>, %x: tensor<2x1x32x32xf32>, %y: tensor<3x1x32x32xf32>) -> tensor<6x32x8xf32> {
  // CHECK-NOT: ingot.attention
  // CHECK:     ingot.softmax
  // REMARK:    a mask has another shape than the scores
  %0 = ingot.matmul %q, %k transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.reshape %0 : tensor<6x32x32xf32> -> tensor<2x3x32x32xf32>
  %x1 = ingot.reshape %x : tensor<2x1x32x32xf32> -> tensor<2x32x32xf32>
  %x2 = ingot.broadcast %x1 dims = [0, 2, 3] : tensor<2x32x32xf32> -> tensor<2x3x32x32xf32>
  %2 = ingot.add %1, %x2 : tensor<2x3x32x32xf32>
  %3 = ingot.reshape %2 : tensor<2x3x32x32xf32> -> tensor<3x2x32x32xf32>
  %y1 = ingot.reshape %y : tensor<3x1x32x32xf32> -> tensor<3x32x32xf32>
  %y2 = ingot.broadcast %y1 dims = [0, 2, 3] : tensor<3x32x32xf32> -> tensor<3x2x32x32xf32>
  %4 = ingot.add %3, %y2 : tensor<3x2x32x32xf32>
  %5 = ingot.reshape %4 : tensor<3x2x32x32xf32> -> tensor<6x32x32xf32>
  %6 = ingot.softmax %5 dim = 2 : tensor<6x32x32xf32>
  %7 = ingot.matmul %6, %v : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %7 : tensor<6x32x8xf32>
}

// Added, as 0 and -infinity; no key more than four before its query.
// CHECK-LABEL: func @sliding_window
func.func @sliding_window(%q: tensor<6x32x8xf32>, %k: tensor<6x32x8xf32>, %v: tensor<6x32x8xf32>) -> tensor<6x32x8xf32> {
  // CHECK: ingot.attention %{{[^{]*}} {left = 4 : i64, right = 0 : i64, scale = 1.000000e+00 : f64}
  %zero = ingot.constant dense<0.0> : tensor<32x32xf32>
  %hidden = ingot.constant dense<0xFF800000> : tensor<32x32xf32>
  %four = ingot.constant dense<4> : tensor<32x32xi64>
  %none = ingot.constant dense<0> : tensor<32x32xi64>
  %rows = ingot.iota {dim = 0 : i64} : tensor<32x32xi64>
  %columns = ingot.iota {dim = 1 : i64} : tensor<32x32xi64>
  %back = ingot.sub %rows, %columns : tensor<32x32xi64>
  %near = ingot.compare le %back, %four : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %past = ingot.compare ge %back, %none : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %both = ingot.and %near, %past : tensor<32x32xi1>
  %fill = ingot.select %both, %zero, %hidden : tensor<32x32xi1>, tensor<32x32xf32>
  %bias = ingot.broadcast %fill dims = [1, 2] : tensor<32x32xf32> -> tensor<6x32x32xf32>
  %0 = ingot.matmul %q, %k transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.add %0, %bias : tensor<6x32x32xf32>
  %2 = ingot.softmax %1 dim = 2 : tensor<6x32x32xf32>
  %3 = ingot.matmul %2, %v : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %3 : tensor<6x32x8xf32>
}

// Packed sequences: no window, so a mask; it repeats over batch and heads.
// CHECK-LABEL: func @block_diagonal
// CHECK-SAME:    %[[DOCUMENT:[a-z0-9]+]]: tensor<2x32xi64>
func.func @block_diagonal(%q: tensor<2x3x32x8xf32>, %document: tensor<2x32xi64>) -> tensor<2x3x32x8xf32> {
  // CHECK: %[[SAME:.*]] = ingot.compare eq
  // CHECK: %[[MASK:.*]] = ingot.reshape %[[SAME]] : tensor<2x32x32xi1> -> tensor<2x1x32x32xi1>
  // CHECK: ingot.attention {{.*}} mask %[[MASK]] {right = 0 : i64
  %hidden = ingot.constant dense<0xFF800000> : tensor<2x3x32x32xf32>
  %rows = ingot.iota {dim = 0 : i64} : tensor<32x32xi64>
  %columns = ingot.iota {dim = 1 : i64} : tensor<32x32xi64>
  %past = ingot.compare le %columns, %rows : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %here = ingot.broadcast %document dims = [0, 1] : tensor<2x32xi64> -> tensor<2x32x32xi64>
  %there = ingot.broadcast %document dims = [0, 2] : tensor<2x32xi64> -> tensor<2x32x32xi64>
  %same = ingot.compare eq %here, %there : (tensor<2x32x32xi64>, tensor<2x32x32xi64>) -> tensor<2x32x32xi1>
  %causal = ingot.broadcast %past dims = [2, 3] : tensor<32x32xi1> -> tensor<2x3x32x32xi1>
  %packed = ingot.broadcast %same dims = [0, 2, 3] : tensor<2x32x32xi1> -> tensor<2x3x32x32xi1>
  %allowed = ingot.and %causal, %packed : tensor<2x3x32x32xi1>
  %0 = ingot.matmul %q, %q transposed : (tensor<2x3x32x8xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x32xf32>
  %1 = ingot.select %allowed, %0, %hidden : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %2 = ingot.softmax %1 dim = 3 : tensor<2x3x32x32xf32>
  %3 = ingot.matmul %2, %q : (tensor<2x3x32x32xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x8xf32>
  return %3 : tensor<2x3x32x8xf32>
}

// Key heads are read where they are.
// CHECK-LABEL: func @grouped
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<2x4x32x8xf32>, %[[K:[a-z0-9]+]]: tensor<2x2x32x8xf32>
func.func @grouped(%q: tensor<2x4x32x8xf32>, %k: tensor<2x2x32x8xf32>) -> tensor<2x4x32x8xf32> {
  // CHECK: ingot.attention {{.*}} : (tensor<2x32x4x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>)
  %0 = ingot.broadcast %k dims = [0, 1, 3, 4] : tensor<2x2x32x8xf32> -> tensor<2x2x2x32x8xf32>
  %all = ingot.reshape %0 : tensor<2x2x2x32x8xf32> -> tensor<2x4x32x8xf32>
  %1 = ingot.matmul %q, %all transposed : (tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x32xf32>
  %2 = ingot.softmax %1 dim = 3 : tensor<2x4x32x32xf32>
  %3 = ingot.matmul %2, %all : (tensor<2x4x32x32xf32>, tensor<2x4x32x8xf32>) -> tensor<2x4x32x8xf32>
  return %3 : tensor<2x4x32x8xf32>
}

// Zeros where weights are not numbers, as exporters write them.
// CHECK-LABEL: func @guarded
// CHECK-NOT:   ingot.softmax
func.func @guarded(%q: tensor<6x32x8xf32>, %allowed: tensor<6x32x32xi1>) -> tensor<6x32x8xf32> {
  // CHECK: ingot.attention {{.*}} mask
  %hidden = ingot.constant dense<0xFF800000> : tensor<6x32x32xf32>
  %zero = ingot.constant dense<0.0> : tensor<6x32x32xf32>
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.select %allowed, %0, %hidden : tensor<6x32x32xi1>, tensor<6x32x32xf32>
  %2 = ingot.softmax %1 dim = 2 : tensor<6x32x32xf32>
  %nan = ingot.compare ne %2, %2 : (tensor<6x32x32xf32>, tensor<6x32x32xf32>) -> tensor<6x32x32xi1>
  %3 = ingot.select %nan, %zero, %2 : tensor<6x32x32xi1>, tensor<6x32x32xf32>
  %4 = ingot.matmul %3, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %4 : tensor<6x32x8xf32>
}

// Another fill than 0 is no guard.
// CHECK-LABEL: func @filled
// CHECK-NOT:   ingot.attention
func.func @filled(%q: tensor<6x32x8xf32>) -> tensor<6x32x8xf32> {
  %one = ingot.constant dense<1.0> : tensor<6x32x32xf32>
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.softmax %0 dim = 2 : tensor<6x32x32xf32>
  %nan = ingot.compare ne %1, %1 : (tensor<6x32x32xf32>, tensor<6x32x32xf32>) -> tensor<6x32x32xi1>
  %2 = ingot.select %nan, %one, %1 : tensor<6x32x32xi1>, tensor<6x32x32xf32>
  %3 = ingot.matmul %2, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %3 : tensor<6x32x8xf32>
}

// Half precision around a softmax in f32, which the kernel computes in anyway.
// CHECK-LABEL: func @half
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<6x32x8xbf16>
func.func @half(%q: tensor<6x32x8xbf16>) -> tensor<6x32x8xbf16> {
  // CHECK-NOT: ingot.cast
  // CHECK: ingot.attention {{.*}} -> (tensor<6x32x1x8xbf16>, tensor<6x1x32xf32>)
  // CHECK-NOT: ingot.cast
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xbf16>, tensor<6x32x8xbf16>) -> tensor<6x32x32xbf16>
  %1 = ingot.cast %0 : tensor<6x32x32xbf16> -> tensor<6x32x32xf32>
  %2 = ingot.softmax %1 dim = 2 : tensor<6x32x32xf32>
  %3 = ingot.cast %2 : tensor<6x32x32xf32> -> tensor<6x32x32xbf16>
  %4 = ingot.matmul %3, %q : (tensor<6x32x32xbf16>, tensor<6x32x8xbf16>) -> tensor<6x32x8xbf16>
  return %4 : tensor<6x32x8xbf16>
}

// Its numbers go by position, whatever the rank of the weights.
// CHECK-LABEL: func @dropout
// CHECK-SAME:  %[[SEED:[a-z0-9]+]]: tensor<i64>, %[[STEP:[a-z0-9]+]]: tensor<i64>
// CHECK-NOT:   ingot.softmax
func.func @dropout(%q: tensor<6x32x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<6x32x8xf32> {
  // CHECK: ingot.attention %{{.*}} dropout %[[SEED]], %[[STEP]] {ratio = 5.000000e-01 : f64, scale = 1.000000e+00 : f64, stream = 1 : i32}
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.softmax %0 dim = 2 : tensor<6x32x32xf32>
  %2, %mask = ingot.dropout %1, %seed, %step ratio = 0.5 stream = 1 : (tensor<6x32x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<6x32x32xf32>, tensor<6x32x32xi1>)
  %3 = ingot.matmul %2, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %3 : tensor<6x32x8xf32>
}

// CHECK-LABEL: func @dropout_mask_is_read
// CHECK-NOT:   ingot.attention
func.func @dropout_mask_is_read(%q: tensor<6x32x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> (tensor<6x32x8xf32>, tensor<6x32x32xi1>) {
  // REMARK: remark: [Missed] Attention | Category:form-attention | Reason="the dropout mask has other readers"
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.softmax %0 dim = 2 : tensor<6x32x32xf32>
  %2, %mask = ingot.dropout %1, %seed, %step ratio = 0.5 stream = 1 : (tensor<6x32x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<6x32x32xf32>, tensor<6x32x32xi1>)
  %3 = ingot.matmul %2, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %3, %mask : tensor<6x32x8xf32>, tensor<6x32x32xi1>
}

// CHECK-LABEL: func @dropout_twice
// CHECK-NOT:   ingot.attention
func.func @dropout_twice(%q: tensor<6x32x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<6x32x8xf32> {
  // REMARK: Reason="dropout is applied twice between the weights and the values"
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.softmax %0 dim = 2 : tensor<6x32x32xf32>
  %2, %mask = ingot.dropout %1, %seed, %step ratio = 0.5 stream = 1 : (tensor<6x32x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<6x32x32xf32>, tensor<6x32x32xi1>)
  %3, %again = ingot.dropout %2, %seed, %step ratio = 0.5 stream = 2 : (tensor<6x32x32xf32>, tensor<i64>, tensor<i64>) -> (tensor<6x32x32xf32>, tensor<6x32x32xi1>)
  %4 = ingot.matmul %3, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %4 : tensor<6x32x8xf32>
}

// A number of keys for each sample, with heads in the batch; the last key that is seen, of samples before the causal
// bound; the first one that is not, and one number for all.
// CHECK-LABEL: func @lengths
// CHECK-SAME:  %[[LENGTHS:[a-z0-9]+]]: tensor<2xi64>
func.func @lengths(%q: tensor<6x32x8xf32>, %lengths: tensor<2xi64>) -> tensor<6x32x8xf32> {
  // CHECK:     %[[MOST:.+]] = ingot.constant dense<32> : tensor<2xi64>
  // CHECK:     %[[BELOW:.+]] = ingot.min %[[LENGTHS]], %[[MOST]]
  // CHECK:     %[[LEAST:.+]] = ingot.constant dense<0> : tensor<2xi64>
  // CHECK:     %[[WITHIN:.+]] = ingot.max %[[BELOW]], %[[LEAST]]
  // CHECK:     %[[COUNTS:.+]] = ingot.cast %[[WITHIN]] : tensor<2xi64> -> tensor<2xi32>
  // CHECK:     ingot.attention %{{.*}} lengths %[[COUNTS]] {scale = 1.000000e+00 : f64}
  %hidden = ingot.constant dense<0xFF800000> : tensor<6x32x32xf32>
  %keys = ingot.iota {dim = 0 : i64} : tensor<32xi64>
  %at = ingot.broadcast %keys dims = [1] : tensor<32xi64> -> tensor<2x32xi64>
  %end = ingot.broadcast %lengths dims = [0] : tensor<2xi64> -> tensor<2x32xi64>
  %real = ingot.compare lt %at, %end : (tensor<2x32xi64>, tensor<2x32xi64>) -> tensor<2x32xi1>
  %pairs = ingot.broadcast %real dims = [0, 3] : tensor<2x32xi1> -> tensor<2x3x32x32xi1>
  %allowed = ingot.reshape %pairs : tensor<2x3x32x32xi1> -> tensor<6x32x32xi1>
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.select %allowed, %0, %hidden : tensor<6x32x32xi1>, tensor<6x32x32xf32>
  %2 = ingot.softmax %1 dim = 2 : tensor<6x32x32xf32>
  %heads = ingot.reshape %2 : tensor<6x32x32xf32> -> tensor<2x3x32x32xf32>
  %values = ingot.reshape %q : tensor<6x32x8xf32> -> tensor<2x3x32x8xf32>
  %3 = ingot.matmul %heads, %values : (tensor<2x3x32x32xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x8xf32>
  %4 = ingot.reshape %3 : tensor<2x3x32x8xf32> -> tensor<6x32x8xf32>
  return %4 : tensor<6x32x8xf32>
}

// CHECK-LABEL: func @last_keys
// CHECK-SAME:  %[[LAST:[a-z0-9]+]]: tensor<2x1x1x1xi32>, %[[FIRST:[a-z0-9]+]]: tensor<i64>
func.func @last_keys(%q: tensor<2x3x32x8xf32>, %last: tensor<2x1x1x1xi32>, %first: tensor<i64>) -> tensor<2x3x32x8xf32> {
  // CHECK-DAG: %[[ONE:.+]] = ingot.constant dense<1> : tensor<2xi32>
  // CHECK-DAG: ingot.add %{{.+}}, %[[ONE]] : tensor<2xi32>
  // CHECK-DAG: ingot.broadcast %{{.+}} dims = [0] : tensor<1xi64> -> tensor<2xi64>
  // CHECK:     %[[BOTH:.+]] = ingot.min {{.*}} : tensor<2xi32>
  // CHECK:     ingot.attention %{{.*}} lengths %[[BOTH]] {right = 0 : i64, scale = 1.000000e+00 : f64}
  %zero = ingot.constant dense<0.0> : tensor<2x3x32x32xf32>
  %hidden = ingot.constant dense<0xFF800000> : tensor<2x3x32x32xf32>
  %rows = ingot.iota {dim = 0 : i64} : tensor<32x32xi64>
  %columns = ingot.iota {dim = 1 : i64} : tensor<32x32xi64>
  %past = ingot.compare le %columns, %rows : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %causal = ingot.broadcast %past dims = [2, 3] : tensor<32x32xi1> -> tensor<2x3x32x32xi1>
  %keys = ingot.iota {dim = 3 : i64} : tensor<2x1x1x32xi32>
  %end = ingot.broadcast %last dims = [0, 1, 2, 3] : tensor<2x1x1x1xi32> -> tensor<2x1x1x32xi32>
  %real = ingot.compare ge %end, %keys : (tensor<2x1x1x32xi32>, tensor<2x1x1x32xi32>) -> tensor<2x1x1x32xi1>
  %known = ingot.broadcast %real dims = [0, 1, 2, 3] : tensor<2x1x1x32xi1> -> tensor<2x3x32x32xi1>
  %allowed = ingot.and %causal, %known : tensor<2x3x32x32xi1>
  %all = ingot.broadcast %first dims = [] : tensor<i64> -> tensor<32x32xi64>
  %behind = ingot.compare ge %columns, %all : (tensor<32x32xi64>, tensor<32x32xi64>) -> tensor<32x32xi1>
  %out = ingot.broadcast %behind dims = [2, 3] : tensor<32x32xi1> -> tensor<2x3x32x32xi1>
  %bias = ingot.select %out, %hidden, %zero : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %0 = ingot.matmul %q, %q transposed : (tensor<2x3x32x8xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x32xf32>
  %1 = ingot.add %0, %bias : tensor<2x3x32x32xf32>
  %2 = ingot.select %allowed, %1, %hidden : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %3 = ingot.softmax %2 dim = 3 : tensor<2x3x32x32xf32>
  %4 = ingot.matmul %3, %q : (tensor<2x3x32x32xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x8xf32>
  return %4 : tensor<2x3x32x8xf32>
}

// Several masks that are repeated for all heads together, and zeros where they hide.
// CHECK-LABEL: func @repeated_together
// CHECK-NOT:   ingot.softmax
func.func @repeated_together(%q: tensor<2x3x32x8xf32>, %lengths: tensor<2xi64>, %other: tensor<2x1x32x32xi1>) -> tensor<2x3x32x8xf32> {
  // CHECK: ingot.attention %{{.*}} mask %{{.*}} lengths %{{.*}} {right = 0 : i64
  %lowest = ingot.constant dense<-3.40282347E+38> : tensor<2x3x32x32xf32>
  %zero = ingot.constant dense<0.0> : tensor<2x3x32x32xf32>
  %rows = ingot.iota {dim = 2 : i64} : tensor<2x1x32x32xi64>
  %columns = ingot.iota {dim = 3 : i64} : tensor<2x1x32x32xi64>
  %past = ingot.compare le %columns, %rows : (tensor<2x1x32x32xi64>, tensor<2x1x32x32xi64>) -> tensor<2x1x32x32xi1>
  %ends = ingot.broadcast %lengths dims = [0] : tensor<2xi64> -> tensor<2x1x32x32xi64>
  %real = ingot.compare lt %columns, %ends : (tensor<2x1x32x32xi64>, tensor<2x1x32x32xi64>) -> tensor<2x1x32x32xi1>
  %both = ingot.and %past, %real : tensor<2x1x32x32xi1>
  %all = ingot.and %both, %other : tensor<2x1x32x32xi1>
  %allowed = ingot.broadcast %all dims = [0, 1, 2, 3] : tensor<2x1x32x32xi1> -> tensor<2x3x32x32xi1>
  %0 = ingot.matmul %q, %q transposed : (tensor<2x3x32x8xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x32xf32>
  %1 = ingot.select %allowed, %0, %lowest : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %2 = ingot.softmax %1 dim = 3 : tensor<2x3x32x32xf32>
  %3 = ingot.select %allowed, %2, %zero : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %4 = ingot.matmul %3, %q : (tensor<2x3x32x32xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x8xf32>
  return %4 : tensor<2x3x32x8xf32>
}

// The same parts of the mask of an op from the frontend.
// CHECK-LABEL: func @imported
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<2x512x4x16xf32>, %[[LENGTHS:[a-z0-9]+]]: tensor<2xi64>, %[[OTHER:[a-z0-9]+]]: tensor<2x1x1x512xi1>
func.func @imported(%x: tensor<2x512x4x16xf32>, %lengths: tensor<2xi64>, %other: tensor<2x1x1x512xi1>) -> (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>) {
  // CHECK: %[[COUNTS:.+]] = ingot.cast %{{.+}} : tensor<2xi64> -> tensor<2xi32>
  // CHECK: ingot.attention %[[X]], %[[X]], %[[X]] mask %[[OTHER]] lengths %[[COUNTS]] {right = 0 : i64, scale = 2.500000e-01 : f64}
  // CHECK: ingot.attention %[[X]], %[[X]], %[[X]] mask %[[OTHER]] {scale = 2.500000e-01 : f64}
  %rows = ingot.iota {dim = 0 : i64} : tensor<512x512xi64>
  %columns = ingot.iota {dim = 1 : i64} : tensor<512x512xi64>
  %ahead = ingot.compare gt %columns, %rows : (tensor<512x512xi64>, tensor<512x512xi64>) -> tensor<512x512xi1>
  %keys = ingot.iota {dim = 0 : i64} : tensor<512xi64>
  %at = ingot.broadcast %keys dims = [3] : tensor<512xi64> -> tensor<2x1x1x512xi64>
  %ends = ingot.broadcast %lengths dims = [0] : tensor<2xi64> -> tensor<2x1x1x512xi64>
  %behind = ingot.compare ge %at, %ends : (tensor<2x1x1x512xi64>, tensor<2x1x1x512xi64>) -> tensor<2x1x1x512xi1>
  %future = ingot.broadcast %ahead dims = [2, 3] : tensor<512x512xi1> -> tensor<2x1x512x512xi1>
  %padding = ingot.broadcast %behind dims = [0, 1, 2, 3] : tensor<2x1x1x512xi1> -> tensor<2x1x512x512xi1>
  %either = ingot.or %future, %padding : tensor<2x1x512x512xi1>
  %neither = ingot.not %either : tensor<2x1x512x512xi1>
  %third = ingot.broadcast %other dims = [0, 1, 2, 3] : tensor<2x1x1x512xi1> -> tensor<2x1x512x512xi1>
  %mask = ingot.and %neither, %third : tensor<2x1x512x512xi1>
  %r, %l = ingot.attention %x, %x, %x mask %mask {scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x1x512x512xi1>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  %r1, %l1 = ingot.attention %x, %x, %x mask %other {scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x1x1x512xi1>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  return %r, %r1 : tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>
}

// No lengths: the first keys are hidden, numbers belong to heads, positions count by twos.
// CHECK-LABEL: func @no_lengths
// CHECK-NOT:   lengths
func.func @no_lengths(%q: tensor<2x3x32x8xf32>, %lengths: tensor<2xi64>, %heads: tensor<3xi64>) -> tensor<2x3x32x8xf32> {
  // CHECK: ingot.attention {{.*}} mask
  %hidden = ingot.constant dense<0xFF800000> : tensor<2x3x32x32xf32>
  %keys = ingot.iota {dim = 3 : i64} : tensor<2x3x32x32xi64>
  %twice = ingot.add %keys, %keys : tensor<2x3x32x32xi64>
  %each = ingot.broadcast %lengths dims = [0] : tensor<2xi64> -> tensor<2x3x32x32xi64>
  %other = ingot.broadcast %heads dims = [1] : tensor<3xi64> -> tensor<2x3x32x32xi64>
  %m0 = ingot.compare ge %keys, %each : (tensor<2x3x32x32xi64>, tensor<2x3x32x32xi64>) -> tensor<2x3x32x32xi1>
  %m1 = ingot.compare lt %keys, %other : (tensor<2x3x32x32xi64>, tensor<2x3x32x32xi64>) -> tensor<2x3x32x32xi1>
  %m2 = ingot.compare lt %twice, %each : (tensor<2x3x32x32xi64>, tensor<2x3x32x32xi64>) -> tensor<2x3x32x32xi1>
  %m3 = ingot.compare ne %keys, %each : (tensor<2x3x32x32xi64>, tensor<2x3x32x32xi64>) -> tensor<2x3x32x32xi1>
  %a0 = ingot.and %m0, %m1 : tensor<2x3x32x32xi1>
  %a1 = ingot.and %m2, %m3 : tensor<2x3x32x32xi1>
  %allowed = ingot.and %a0, %a1 : tensor<2x3x32x32xi1>
  %0 = ingot.matmul %q, %q transposed : (tensor<2x3x32x8xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x32xf32>
  %1 = ingot.select %allowed, %0, %hidden : tensor<2x3x32x32xi1>, tensor<2x3x32x32xf32>
  %2 = ingot.softmax %1 dim = 3 : tensor<2x3x32x32xf32>
  %3 = ingot.matmul %2, %q : (tensor<2x3x32x32xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x32x8xf32>
  return %3 : tensor<2x3x32x8xf32>
}

// CHECK-LABEL: func @weights_are_read
// CHECK-NOT:   ingot.attention
func.func @weights_are_read(%q: tensor<6x32x8xf32>) -> (tensor<6x32x8xf32>, tensor<6x32x32xf32>) {
  // REMARK: Reason="the weights are read by func.return"
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.softmax %0 dim = 2 : tensor<6x32x32xf32>
  %2 = ingot.matmul %1, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %2, %1 : tensor<6x32x8xf32>, tensor<6x32x32xf32>
}

// Relative positions that are learned.
ingot.state parameter @positions : tensor<32x32xf32> = dense<0.0> : tensor<32x32xf32>

// CHECK-LABEL: func @trained_bias
// CHECK-NOT:   ingot.attention
func.func @trained_bias(%q: tensor<6x32x8xf32>, %positions: tensor<32x32xf32> {ingot.state = @positions}) -> tensor<6x32x8xf32> {
  // REMARK: Reason="the bias is trained, and its gradient is computed from the weights"
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.broadcast %positions dims = [1, 2] : tensor<32x32xf32> -> tensor<6x32x32xf32>
  %2 = ingot.add %0, %1 : tensor<6x32x32xf32>
  %3 = ingot.softmax %2 dim = 2 : tensor<6x32x32xf32>
  %4 = ingot.matmul %3, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %4 : tensor<6x32x8xf32>
}

// A finite fill: where nothing is allowed, all keys count the same.
// CHECK-LABEL: func @empty_rows_see_all
// CHECK-NOT:   ingot.attention
func.func @empty_rows_see_all(%q: tensor<6x32x8xf32>, %allowed: tensor<6x32x32xi1>) -> tensor<6x32x8xf32> {
  // REMARK: Reason="a fully masked row results in the mean of all values"
  %lowest = ingot.constant dense<-3.40282347E+38> : tensor<6x32x32xf32>
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.select %allowed, %0, %lowest : tensor<6x32x32xi1>, tensor<6x32x32xf32>
  %2 = ingot.softmax %1 dim = 2 : tensor<6x32x32xf32>
  %3 = ingot.matmul %2, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %3 : tensor<6x32x8xf32>
}

// A block of the kernel is mostly empty.
// CHECK-LABEL: func @short
// CHECK-NOT:   ingot.attention
// CHECK:       return
func.func @short(%q: tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32> {
  // REMARK: Reason="matmuls and a softmax are cheaper"
  %0:2 = ingot.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>)
  return %0#0 : tensor<2x4x3x8xf32>
}

// A device's kernel adds a bias and knows no mask: what the mask hides gets a
// score that no other is near, and a query that sees nothing has 0.
// DEVICE-LABEL: func @device_mask
// DEVICE-SAME:  (%[[X:[a-z0-9]+]]: tensor<2x512x4x16xf32>, %[[MASK:[a-z0-9]+]]: tensor<2x1x1x512xi1>)
// DEVICE:       %[[ZERO:.+]] = ingot.constant dense<0.000000e+00>
// DEVICE:       %[[HIDDEN:.+]] = ingot.constant dense<0xCB800000>
// DEVICE:       %[[SHARED:.+]] = ingot.select %[[MASK]], %[[ZERO]], %[[HIDDEN]] : tensor<2x1x1x512xi1>
// DEVICE:       %[[BIAS:.+]] = ingot.broadcast %[[SHARED]] {{.*}} -> tensor<2x1x512x512xf32>
// DEVICE:       %[[SEES:.+]] = ingot.reshape {{.*}} -> tensor<2x512x1x1xi1>
// DEVICE:       %[[R:.+]], %{{.+}} = ingot.attention %[[X]], %[[X]], %[[X]] bias %[[BIAS]] {right = 0
// DEVICE:       %[[ALL:.+]] = ingot.broadcast %[[SEES]]
// DEVICE:       %[[OUT:.+]] = ingot.select %[[ALL]], %[[R]],
// DEVICE:       return %[[OUT]]
// DEVICE-REMARK: remark: [Passed] Attention
func.func @device_mask(%x: tensor<2x512x4x16xf32>, %mask: tensor<2x1x1x512xi1>) -> tensor<2x512x4x16xf32> {
  %r, %l = ingot.attention %x, %x, %x mask %mask {right = 0 : i64, scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x1x1x512xi1>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  return %r : tensor<2x512x4x16xf32>
}

// Bounds that the kernel would refuse stay a mask, which becomes a bias.
// DEVICE-LABEL: func @device_window
// DEVICE:       ingot.attention %{{.+}}, %{{.+}}, %{{.+}} bias %{{.+}} {scale = 2.500000e-01 : f64}
func.func @device_window(%x: tensor<2x512x4x16xf32>) -> tensor<2x512x4x16xf32> {
  %rows = ingot.iota {dim = 2 : i64} : tensor<1x1x512x512xi64>
  %columns = ingot.iota {dim = 3 : i64} : tensor<1x1x512x512xi64>
  %five = ingot.constant dense<5> : tensor<1x1x512x512xi64>
  %ahead = ingot.sub %columns, %rows : tensor<1x1x512x512xi64>
  %apart = ingot.abs %ahead : tensor<1x1x512x512xi64>
  %near = ingot.compare le %apart, %five : (tensor<1x1x512x512xi64>, tensor<1x1x512x512xi64>) -> tensor<1x1x512x512xi1>
  %r, %l = ingot.attention %x, %x, %x mask %near {scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<1x1x512x512xi1>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  return %r : tensor<2x512x4x16xf32>
}

// Lengths of 0 are 1, with the same result; behind a window, where a query may see none of the keys, they are a bias.
// DEVICE-LABEL: func @device_lengths
// DEVICE-SAME:  (%[[X:[a-z0-9]+]]: tensor<2x512x4x16xf32>, %[[N:[a-z0-9]+]]: tensor<2xi32>)
// DEVICE:       %[[LEAST:.+]] = ingot.max %[[N]], %{{.+}} : tensor<2xi32>
// DEVICE:       %[[SEES:.+]] = ingot.reshape %{{.+}} : tensor<2x1x1xi1> -> tensor<2x1x1x1xi1>
// DEVICE:       %[[R:.+]], %{{.+}} = ingot.attention %[[X]], %[[X]], %[[X]] lengths %[[LEAST]] {right = 0
// DEVICE:       %[[ALL:.+]] = ingot.broadcast %[[SEES]]
// DEVICE:       ingot.select %[[ALL]], %[[R]],
// DEVICE:       ingot.attention %[[X]], %[[X]], %[[X]] bias %{{.+}} {left = 9
func.func @device_lengths(%x: tensor<2x512x4x16xf32>, %n: tensor<2xi32>) -> (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>) {
  %r, %l = ingot.attention %x, %x, %x lengths %n {right = 0 : i64, scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2xi32>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  %r1, %l1 = ingot.attention %x, %x, %x lengths %n {left = 9 : i64, right = 0 : i64, scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2xi32>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  return %r, %r1 : tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>
}

// A seed of its own for the library's generator, from what the processor's numbers begin with.
// DEVICE-LABEL: func @device_dropout
// DEVICE-SAME:  (%[[X:[a-z0-9]+]]: tensor<2x512x4x16xf32>, %[[SEED:[a-z0-9]+]]: tensor<i64>, %[[STEP:[a-z0-9]+]]: tensor<i64>)
// DEVICE:       %[[DRAWN:.+]] = ingot.random_uniform %[[SEED]], %[[STEP]] stream = 5 : (tensor<i64>, tensor<i64>) -> tensor<2xf64>
// DEVICE:       %[[OWN:.+]] = ingot.reshape %{{.+}} : tensor<1xi64> -> tensor<i64>
// DEVICE:       ingot.attention %[[X]], %[[X]], %[[X]] dropout %[[OWN]], %[[STEP]] {ratio = 1.000000e-01
// DEVICE-REMARK: remark: [Analysis] AttentionDropout | {{.*}} generator=library, ratio=1.000000e-01
func.func @device_dropout(%x: tensor<2x512x4x16xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<2x512x4x16xf32> {
  %r, %l = ingot.attention %x, %x, %x dropout %seed, %step {scale = 0.25 : f64, ratio = 0.1 : f64, stream = 5 : i32} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  return %r : tensor<2x512x4x16xf32>
}

// DEVICE-LABEL: func @device_refuses
// DEVICE-NOT:   ingot.attention
// DEVICE-REMARK: remark: [Missed] Attention | {{.*}} Reason="the log-sum-exp is used; the library's differs for fully masked rows and ignores dropout"
// DEVICE-REMARK: remark: [Missed] Attention | {{.*}} Reason="the library requires head sizes that are multiples of 8 up to 128, and bounds in which each query attends to a key"
func.func @device_refuses(%x: tensor<2x512x4x16xf32>, %mask: tensor<2x1x1x512xi1>, %y: tensor<2x512x4x12xf32>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>, tensor<2x512x4x12xf32>) {
  %r, %l = ingot.attention %x, %x, %x mask %mask {right = 0 : i64, scale = 0.25 : f64} : (tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x512x4x16xf32>, tensor<2x1x1x512xi1>) -> (tensor<2x512x4x16xf32>, tensor<2x4x512xf32>)
  %r1, %l1 = ingot.attention %y, %y, %y {right = 0 : i64, scale = 0.25 : f64} : (tensor<2x512x4x12xf32>, tensor<2x512x4x12xf32>, tensor<2x512x4x12xf32>) -> (tensor<2x512x4x12xf32>, tensor<2x4x512xf32>)
  return %r, %l, %r1 : tensor<2x512x4x16xf32>, tensor<2x4x512xf32>, tensor<2x512x4x12xf32>
}

// An imported backward pass has the gradient of the softmax, which reads the
// weights.
ingot.state parameter @weight : tensor<6x32x8xf32> = dense<1.0> : tensor<6x32x8xf32>
// CHECK-LABEL: func @train_step
// CHECK-NOT:   ingot.attention
func.func @train_step(%q: tensor<6x32x8xf32> {ingot.state = @weight}, %g: tensor<6x32x8xf32>)
    -> (tensor<6x32x8xf32>, tensor<6x32x8xf32> {ingot.gradient = @weight}) {
  // REMARK: Reason="the model comes with its backward pass: the weights are read by ingot.matmul"
  %0 = ingot.matmul %q, %q transposed : (tensor<6x32x8xf32>, tensor<6x32x8xf32>) -> tensor<6x32x32xf32>
  %1 = ingot.softmax %0 dim = 2 : tensor<6x32x32xf32>
  %2 = ingot.matmul %1, %q : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  %3 = ingot.matmul %1 transposed, %g : (tensor<6x32x32xf32>, tensor<6x32x8xf32>) -> tensor<6x32x8xf32>
  return %2, %3 : tensor<6x32x8xf32>, tensor<6x32x8xf32>
}

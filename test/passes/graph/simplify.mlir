// RUN: ingot-opt %s --pass-pipeline="builtin.module(func.func(ingot-simplify))" | FileCheck %s

// CHECK-LABEL: func @transposes_into_matmul
// CHECK-SAME:    (%[[A:.*]]: tensor<2x5x8xf32>, %[[B:.*]]: tensor<2x3x5xf32>)
func.func @transposes_into_matmul(%a: tensor<2x5x8xf32>, %b: tensor<2x3x5xf32>) -> tensor<2x8x3xf32> {
  // CHECK-NEXT: %[[C:.*]] = ingot.matmul %[[A]] transposed, %[[B]] transposed :
  // CHECK-NEXT: return %[[C]]
  %0 = ingot.transpose %a [0, 2, 1] : (tensor<2x5x8xf32>) -> tensor<2x8x5xf32>
  %1 = ingot.transpose %b [0, 2, 1] : (tensor<2x3x5xf32>) -> tensor<2x5x3xf32>
  %2 = ingot.matmul %0, %1 : (tensor<2x8x5xf32>, tensor<2x5x3xf32>) -> tensor<2x8x3xf32>
  return %2 : tensor<2x8x3xf32>
}

// A transpose that moves the batch is none of the product's.
// CHECK-LABEL: func @transpose_of_batch
func.func @transpose_of_batch(%a: tensor<8x2x5xf32>, %b: tensor<2x5x3xf32>) -> tensor<2x8x3xf32> {
  // CHECK: ingot.transpose
  // CHECK: ingot.matmul
  %0 = ingot.transpose %a [1, 0, 2] : (tensor<8x2x5xf32>) -> tensor<2x8x5xf32>
  %1 = ingot.matmul %0, %b : (tensor<2x8x5xf32>, tensor<2x5x3xf32>) -> tensor<2x8x3xf32>
  return %1 : tensor<2x8x3xf32>
}

// CHECK-LABEL: func @transpose_of_matmul
// CHECK-SAME:    (%[[A:.*]]: tensor<8x5xf32>, %[[B:.*]]: tensor<3x5xf32>)
func.func @transpose_of_matmul(%a: tensor<8x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x8xf32> {
  // CHECK-NEXT: ingot.matmul %[[B]], %[[A]] transposed :
  // CHECK-NEXT: return
  %0 = ingot.matmul %a, %b transposed : (tensor<8x5xf32>, tensor<3x5xf32>) -> tensor<8x3xf32>
  %1 = ingot.transpose %0 [1, 0] : (tensor<8x3xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// CHECK-LABEL: func @one_matrix_for_all
// CHECK-SAME:    (%[[A:.*]]: tensor<2x8x5xf32>, %[[B:.*]]: tensor<5x3xf32>)
func.func @one_matrix_for_all(%a: tensor<2x8x5xf32>, %b: tensor<5x3xf32>) -> tensor<2x8x3xf32> {
  // CHECK-NEXT: %[[ROWS:.*]] = ingot.reshape %[[A]] : tensor<2x8x5xf32> -> tensor<16x5xf32>
  // CHECK-NEXT: %[[C:.*]] = ingot.matmul %[[ROWS]], %[[B]] :
  // CHECK-NEXT: ingot.reshape %[[C]] : tensor<16x3xf32> -> tensor<2x8x3xf32>
  %0 = ingot.broadcast %b dims = [1, 2] : tensor<5x3xf32> -> tensor<2x5x3xf32>
  %1 = ingot.matmul %a, %0 : (tensor<2x8x5xf32>, tensor<2x5x3xf32>) -> tensor<2x8x3xf32>
  return %1 : tensor<2x8x3xf32>
}

// Its gradient is one product too.
// CHECK-LABEL: func @sum_of_matmuls
// CHECK-SAME:    (%[[A:.*]]: tensor<2x8x5xf32>, %[[G:.*]]: tensor<2x8x3xf32>)
func.func @sum_of_matmuls(%a: tensor<2x8x5xf32>, %g: tensor<2x8x3xf32>) -> tensor<5x3xf32> {
  // CHECK-DAG:  %[[LHS:.*]] = ingot.reshape %[[A]] : tensor<2x8x5xf32> -> tensor<16x5xf32>
  // CHECK-DAG:  %[[RHS:.*]] = ingot.reshape %[[G]] : tensor<2x8x3xf32> -> tensor<16x3xf32>
  // CHECK:      ingot.matmul %[[LHS]] transposed, %[[RHS]] :
  // CHECK-NEXT: return
  %0 = ingot.matmul %a transposed, %g : (tensor<2x8x5xf32>, tensor<2x8x3xf32>) -> tensor<2x5x3xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<2x5x3xf32>) -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// CHECK-LABEL: func @padding
// CHECK-SAME:    (%[[X:.*]]: tensor<1x2x8xf32>,
func.func @padding(%x: tensor<1x2x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x10xf32> {
  // CHECK-NEXT: ingot.conv %[[X]], {{.*}}pad_high = array<i64: 3>, pad_low = array<i64: 1>
  // CHECK-NEXT: return
  %0 = ingot.pad %x low = [0, 0, 1] high = [0, 0, 2] interior = [0, 0, 0] value = 0.0
    : (tensor<1x2x8xf32>) -> tensor<1x2x11xf32>
  %1 = ingot.conv %0, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pad_low = array<i64: 0>, pad_high = array<i64: 1>, groups = 1 : i64}
    : (tensor<1x2x11xf32>, tensor<4x2x3xf32>) -> tensor<1x4x10xf32>
  return %1 : tensor<1x4x10xf32>
}

// CHECK-LABEL: func @padding_that_is_not_zero
func.func @padding_that_is_not_zero(%x: tensor<1x2x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x8xf32> {
  // CHECK: ingot.pad
  %0 = ingot.pad %x low = [0, 0, 1] high = [0, 0, 1] interior = [0, 0, 0] value = 1.0
    : (tensor<1x2x8xf32>) -> tensor<1x2x10xf32>
  %1 = ingot.conv %0, %w {strides = array<i64: 1>, dilations = array<i64: 1>,
      pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64}
    : (tensor<1x2x10xf32>, tensor<4x2x3xf32>) -> tensor<1x4x8xf32>
  return %1 : tensor<1x4x8xf32>
}

// CHECK-LABEL: func @transpose_of_units
func.func @transpose_of_units(%x: tensor<8x1x4x1xf32>) -> tensor<1x8x1x4xf32> {
  // CHECK-NEXT: ingot.reshape
  // CHECK-NEXT: return
  %0 = ingot.transpose %x [3, 0, 1, 2] : (tensor<8x1x4x1xf32>) -> tensor<1x8x1x4xf32>
  return %0 : tensor<1x8x1x4xf32>
}

// CHECK-LABEL: func @reduce_over_units
func.func @reduce_over_units(%x: tensor<8x1x4x1xf32>) -> tensor<8x4xf32> {
  // CHECK-NEXT: ingot.reshape
  // CHECK-NEXT: return
  %0 = ingot.reduce sum %x dims = [1, 3] : (tensor<8x1x4x1xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func @reduce_of_reduce
func.func @reduce_of_reduce(%x: tensor<8x2x4x3xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: ingot.reduce max %{{.*}} dims = [0, 1, 3]
  // CHECK-NEXT: return
  %0 = ingot.reduce max %x dims = [1] : (tensor<8x2x4x3xf32>) -> tensor<8x4x3xf32>
  %1 = ingot.reduce max %0 dims = [0, 2] : (tensor<8x4x3xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @reduce_of_another_kind
func.func @reduce_of_another_kind(%x: tensor<8x2xf32>) -> tensor<f32> {
  // CHECK: ingot.reduce max
  // CHECK: ingot.reduce sum
  %0 = ingot.reduce max %x dims = [1] : (tensor<8x2xf32>) -> tensor<8xf32>
  %1 = ingot.reduce sum %0 dims = [0] : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func @broadcasts
func.func @broadcasts(%c: tensor<3xf32>) -> tensor<8x3x4x4xf32> {
  // CHECK-NEXT: ingot.broadcast %{{.*}} dims = [1] : tensor<3xf32> -> tensor<8x3x4x4xf32>
  // CHECK-NEXT: return
  %0 = ingot.reshape %c : tensor<3xf32> -> tensor<3x1x1xf32>
  %1 = ingot.broadcast %0 dims = [0, 1, 2] : tensor<3x1x1xf32> -> tensor<3x4x1xf32>
  %2 = ingot.broadcast %1 dims = [1, 2, 3] : tensor<3x4x1xf32> -> tensor<8x3x4x4xf32>
  return %2 : tensor<8x3x4x4xf32>
}

// The gradient of a split in three.
// CHECK-LABEL: func @sum_of_pads
// CHECK-SAME:    (%[[A:.*]]: tensor<2x1xf32>, %[[B:.*]]: tensor<2x3xf32>, %[[C:.*]]: tensor<2x2xf32>)
func.func @sum_of_pads(%a: tensor<2x1xf32>, %b: tensor<2x3xf32>, %c: tensor<2x2xf32>) -> tensor<2x6xf32> {
  // CHECK-NEXT: ingot.concat %[[A]], %[[B]], %[[C]] dim = 1
  // CHECK-NEXT: return
  %0 = ingot.pad %a low = [0, 0] high = [0, 5] interior = [0, 0] value = 0.0 : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %1 = ingot.pad %b low = [0, 1] high = [0, 2] interior = [0, 0] value = 0.0 : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = ingot.pad %c low = [0, 4] high = [0, 0] interior = [0, 0] value = 0.0 : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %3 = ingot.add %2, %1 : tensor<2x6xf32>
  %4 = ingot.add %3, %0 : tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// Parts with a gap, and parts that overlap, are not neighbours.
// CHECK-LABEL: func @sum_of_other_pads
func.func @sum_of_other_pads(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  // CHECK-NOT: ingot.concat
  %0 = ingot.pad %a low = [0] high = [4] interior = [0] value = 0.0 : (tensor<2xf32>) -> tensor<6xf32>
  %1 = ingot.pad %b low = [3] high = [0] interior = [0] value = 0.0 : (tensor<3xf32>) -> tensor<6xf32>
  %2 = ingot.add %0, %1 : tensor<6xf32>
  %3 = ingot.pad %a low = [1] high = [3] interior = [0] value = 0.0 : (tensor<2xf32>) -> tensor<6xf32>
  %4 = ingot.pad %b low = [2] high = [1] interior = [0] value = 0.0 : (tensor<3xf32>) -> tensor<6xf32>
  %5 = ingot.add %3, %4 : tensor<6xf32>
  return %2, %5 : tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: func @division
func.func @division(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-DAG: %[[QUARTER:.*]] = ingot.constant dense<2.500000e-01>
  // CHECK-DAG: %[[THREE:.*]] = ingot.constant dense<3.000000e+00>
  // CHECK-DAG: ingot.mul %{{.*}}, %[[QUARTER]]
  // CHECK-DAG: ingot.div %{{.*}}, %[[THREE]]
  %four = ingot.constant dense<4.0> : tensor<2xf32>
  %three = ingot.constant dense<3.0> : tensor<2xf32>
  %0 = ingot.div %x, %four : tensor<2xf32>
  %1 = ingot.div %x, %three : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// Equal subexpressions are merged, and what that brings out is simplified.
// CHECK-LABEL: func @merge
func.func @merge(%x: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[EXP:.*]] = ingot.exp
  // CHECK-NEXT: return %[[EXP]]
  %0 = ingot.exp %x : tensor<4xf32>
  %1 = ingot.exp %x : tensor<4xf32>
  %2 = ingot.select %c, %0, %1 : tensor<4xi1>, tensor<4xf32>
  return %2 : tensor<4xf32>
}

// A sum with scattered rows adds them into the other term. Not where something
// else reads the rows alone, or in half precision, which rounds between.
// CHECK-LABEL: func @scatter_into
// CHECK-SAME:    (%[[G:.*]]: tensor<9x2xf32>, %[[H:.*]]: tensor<9x2xbf16>,
func.func @scatter_into(%g: tensor<9x2xf32>, %h: tensor<9x2xbf16>, %u: tensor<3x2xf32>, %v: tensor<3x2xbf16>,
                        %i: tensor<3xi64>)
    -> (tensor<9x2xf32>, tensor<9x2xf32>, tensor<9x2xf32>, tensor<9x2xf32>, tensor<9x2xbf16>) {
  // CHECK: %[[ONE:.*]] = ingot.scatter_add %{{.*}} into %[[G]] dim = 0
  // CHECK: %[[TWO:.*]] = ingot.scatter_add %{{.*}} into %[[ONE]] dim = 0
  %0 = ingot.scatter_add %u[%i] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<9x2xf32>
  %1 = ingot.add %0, %g : tensor<9x2xf32>
  %exp = ingot.exp %u : tensor<3x2xf32>
  %2 = ingot.scatter_add %exp[%i] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<9x2xf32>
  %3 = ingot.add %1, %2 : tensor<9x2xf32>
  // CHECK: %[[ROWS:.*]] = ingot.scatter_add %{{.*}}[%{{.*}}] dim = 0
  // CHECK: ingot.add %{{.*}}, %[[ROWS]]
  %neg = ingot.neg %u : tensor<3x2xf32>
  %4 = ingot.scatter_add %neg[%i] dim = 0 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<9x2xf32>
  %5 = ingot.add %g, %4 : tensor<9x2xf32>
  // CHECK: ingot.scatter_add %{{.*}}[%{{.*}}] dim = 0 : (tensor<3xi64>, tensor<3x2xbf16>)
  // CHECK: ingot.add
  %6 = ingot.scatter_add %v[%i] dim = 0 : (tensor<3xi64>, tensor<3x2xbf16>) -> tensor<9x2xbf16>
  %7 = ingot.add %h, %6 : tensor<9x2xbf16>
  return %1, %3, %4, %5, %7 : tensor<9x2xf32>, tensor<9x2xf32>, tensor<9x2xf32>, tensor<9x2xf32>, tensor<9x2xbf16>
}

// Rows of a number in halves are joined rows of the halves.
// CHECK-LABEL: func @gather_of_halves
// CHECK-SAME:    (%[[U:.*]]: tensor<9x2xbf16>, %[[L:.*]]: tensor<9x2xi16>, %[[I:.*]]: tensor<3xi64>)
func.func @gather_of_halves(%u: tensor<9x2xbf16>, %l: tensor<9x2xi16>, %i: tensor<3xi64>) -> tensor<3x2xf32> {
  // CHECK-DAG: %[[UPPER:.*]] = ingot.gather %[[U]][%[[I]]] dim = 0
  // CHECK-DAG: %[[LOWER:.*]] = ingot.gather %[[L]][%[[I]]] dim = 0
  // CHECK: ingot.join_halves %[[UPPER]], %[[LOWER]] : (tensor<3x2xbf16>, tensor<3x2xi16>) -> tensor<3x2xf32>
  %0 = ingot.join_halves %u, %l : (tensor<9x2xbf16>, tensor<9x2xi16>) -> tensor<9x2xf32>
  %1 = ingot.gather %0[%i] dim = 0 : (tensor<9x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// Fewer bytes are padded and put together; not where padding would round, or
// something else reads all digits.
// CHECK-LABEL: func @narrow_before
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<2xf32>)
func.func @narrow_before(%x: tensor<3xf32>, %y: tensor<2xf32>) -> (tensor<4xbf16>, tensor<5xbf16>, tensor<4xbf16>, tensor<4xf16>, tensor<4xf32>) {
  // CHECK-DAG: %[[X16:.*]] = ingot.cast %[[X]] : tensor<3xf32> -> tensor<3xbf16>
  // CHECK-DAG: %[[Y16:.*]] = ingot.cast %[[Y]] : tensor<2xf32> -> tensor<2xbf16>
  // CHECK-DAG: ingot.pad %[[X16]] low = [0] high = [1] interior = [0] value = 0xFFF0000000000000 : (tensor<3xbf16>) -> tensor<4xbf16>
  // CHECK-DAG: ingot.concat %[[X16]], %[[Y16]] dim = 0 : (tensor<3xbf16>, tensor<2xbf16>) -> tensor<5xbf16>
  %0 = ingot.pad %x low = [0] high = [1] interior = [0] value = 0xFFF0000000000000 : (tensor<3xf32>) -> tensor<4xf32>
  %1 = ingot.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = ingot.concat %x, %y dim = 0 : (tensor<3xf32>, tensor<2xf32>) -> tensor<5xf32>
  %3 = ingot.cast %2 : tensor<5xf32> -> tensor<5xbf16>
  // CHECK-DAG: ingot.pad %[[X]] low = [0] high = [1] interior = [0] value = 1.000000e-01 : (tensor<3xf32>) -> tensor<4xf32>
  %4 = ingot.pad %x low = [0] high = [1] interior = [0] value = 0.1 : (tensor<3xf32>) -> tensor<4xf32>
  %5 = ingot.cast %4 : tensor<4xf32> -> tensor<4xbf16>
  // CHECK-DAG: ingot.pad %[[X]] low = [1] high = [0] interior = [0] value = 0.000000e+00 : (tensor<3xf32>) -> tensor<4xf32>
  %6 = ingot.pad %x low = [1] high = [0] interior = [0] value = 0.0 : (tensor<3xf32>) -> tensor<4xf32>
  %7 = ingot.cast %6 : tensor<4xf32> -> tensor<4xf16>
  return %1, %3, %5, %7, %6 : tensor<4xbf16>, tensor<5xbf16>, tensor<4xbf16>, tensor<4xf16>, tensor<4xf32>
}

// Sums into the first rows of a table are sums into the table; an index beyond
// them still adds to the last.
// CHECK-LABEL: func @scatter_into_first_rows
// CHECK-SAME:    (%[[T:.*]]: tensor<16x2xf32>, %[[U:.*]]: tensor<3x2xf32>, %[[I:.*]]: tensor<3xi64>)
func.func @scatter_into_first_rows(%t: tensor<16x2xf32>, %u: tensor<3x2xf32>, %i: tensor<3xi64>) -> (tensor<9x2xf32>, tensor<9x2xf32>) {
  // CHECK-DAG: %[[LAST:.*]] = ingot.constant dense<8> : tensor<3xi64>
  // CHECK-DAG: %[[CLAMPED:.*]] = ingot.min %[[I]], %[[LAST]]
  // CHECK: %[[SUMS:.*]] = ingot.scatter_add %[[U]][%[[CLAMPED]]] into %[[T]] dim = 0
  // CHECK: ingot.slice %[[SUMS]] starts = [0, 0] limits = [9, 2] strides = [1, 1]
  %0 = ingot.slice %t starts = [0, 0] limits = [9, 2] strides = [1, 1] : (tensor<16x2xf32>) -> tensor<9x2xf32>
  %1 = ingot.scatter_add %u[%i] into %0 dim = 0 : (tensor<3xi64>, tensor<3x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
  // CHECK: %[[MIDDLE:.*]] = ingot.slice %[[T]] starts = [1, 0]
  // CHECK: ingot.scatter_add %[[U]][%[[I]]] into %[[MIDDLE]]
  %2 = ingot.slice %t starts = [1, 0] limits = [10, 2] strides = [1, 1] : (tensor<16x2xf32>) -> tensor<9x2xf32>
  %3 = ingot.scatter_add %u[%i] into %2 dim = 0 : (tensor<3xi64>, tensor<3x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
  return %1, %3 : tensor<9x2xf32>, tensor<9x2xf32>
}

// Positions select rows in order: a slice, which is repeated for each sample.
// CHECK-LABEL: func @gather_of_run
// CHECK-SAME:    (%[[T:.*]]: tensor<9x2xf32>)
func.func @gather_of_run(%t: tensor<9x2xf32>) -> (tensor<3x2xf32>, tensor<2x3x2xf32>, tensor<9x2xf32>, tensor<2x2xf32>, tensor<3x2xf32>) {
  // CHECK-DAG: %[[ROWS:.*]] = ingot.slice %[[T]] starts = [4, 0] limits = [7, 2]
  // CHECK-DAG: %[[REPEATED:.*]] = ingot.broadcast %[[ROWS]] dims = [1, 2]
  // CHECK-DAG: %[[LAST:.*]] = ingot.slice %[[T]] starts = [8, 0] limits = [9, 2]
  // CHECK-DAG: %[[SAME:.*]] = ingot.broadcast
  // CHECK-DAG: %[[JUMPS:.*]] = ingot.gather %[[T]]
  // CHECK: return %[[ROWS]], %[[REPEATED]], %[[T]], %[[SAME]], %[[JUMPS]]
  %run = ingot.constant dense<[4, 5, 6]> : tensor<3xi64>
  %0 = ingot.gather %t[%run] dim = 0 : (tensor<9x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %runs = ingot.constant dense<[[4, 5, 6], [4, 5, 6]]> : tensor<2x3xi64>
  %1 = ingot.gather %t[%runs] dim = 0 : (tensor<9x2xf32>, tensor<2x3xi64>) -> tensor<2x3x2xf32>
  %all = ingot.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<9xi64>
  %2 = ingot.gather %t[%all] dim = 0 : (tensor<9x2xf32>, tensor<9xi64>) -> tensor<9x2xf32>
  // Indices are clamped.
  %beyond = ingot.constant dense<[8, 9]> : tensor<2xi64>
  %3 = ingot.gather %t[%beyond] dim = 0 : (tensor<9x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %jumps = ingot.constant dense<[4, 6, 8]> : tensor<3xi64>
  %4 = ingot.gather %t[%jumps] dim = 0 : (tensor<9x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return %0, %1, %2, %3, %4 : tensor<3x2xf32>, tensor<2x3x2xf32>, tensor<9x2xf32>, tensor<2x2xf32>, tensor<3x2xf32>
}

// The probabilities in cross-entropy's gradient take the exponentials of the
// loss, but not those of other elements, and not without the loss.
// CHECK-LABEL: func @exp_of_log_sum
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>)
func.func @exp_of_log_sum(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK:     %[[E:.*]] = ingot.exp
  // CHECK:     %[[SUM:.*]] = ingot.reduce sum %[[E]]
  // CHECK:     %[[LOG:.*]] = ingot.log %[[SUM]]
  // CHECK:     %[[LSE:.*]] = ingot.add %{{.*}}, %[[LOG]]
  // CHECK:     %[[INVERSE:.*]] = ingot.div %{{.*}}, %[[SUM]]
  // CHECK:     %[[FACTOR:.*]] = ingot.broadcast %[[INVERSE]] dims = [0]
  // CHECK:     %[[P:.*]] = ingot.mul %[[E]], %[[FACTOR]]
  // CHECK:     %[[OTHER:.*]] = ingot.sub %[[Y]]
  // CHECK:     %[[Q:.*]] = ingot.exp %[[OTHER]]
  // CHECK:     return %[[LSE]], %[[P]], %[[Q]]
  %max = ingot.reduce max %x dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %maxes = ingot.broadcast %max dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %shifted = ingot.sub %x, %maxes : tensor<4x8xf32>
  %e = ingot.exp %shifted : tensor<4x8xf32>
  %sum = ingot.reduce sum %e dims = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %log = ingot.log %sum : tensor<4xf32>
  %lse = ingot.add %max, %log : tensor<4xf32>
  %lses = ingot.broadcast %lse dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %0 = ingot.sub %x, %lses : tensor<4x8xf32>
  %p = ingot.exp %0 : tensor<4x8xf32>
  %1 = ingot.sub %y, %lses : tensor<4x8xf32>
  %q = ingot.exp %1 : tensor<4x8xf32>
  return %lse, %p, %q : tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

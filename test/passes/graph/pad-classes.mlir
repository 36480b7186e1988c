// Further classes change no loss and no gradient, interpreted, compiled and
// emulated: with and without a bias, labels that do not count, logits that something else reads.
// RUN: %arrays make %t.in.npz labels=4x16:labels=67 x=4x16x32 first=67x32 second=32x67 bias=67
// RUN: ingot-opt %s --ingot-attach-loss=loss=output:loss | sed 's/^module attributes {/module attributes {ingot.machine = {}, /' > %t.loss.mlir
// RUN: ingot-opt %t.loss.mlir --ingot-differentiate --ingot-simplify -o %t.whole.mlir
// RUN: ingot-opt %t.loss.mlir --ingot-attach-target=target=cuda --ingot-pad-classes=precision=bf16 -o %t.padded.mlir
// RUN: FileCheck %s < %t.padded.mlir
// RUN: ingot-opt %t.padded.mlir --ingot-differentiate --ingot-simplify -o %t.parts.mlir
// RUN: ingot-eval %t.whole.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.expected.npz
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.got.npz
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.compiled.npz --compiled
// RUN: ingot-eval %t.parts.mlir --function train_step --inputs %t.in.npz --states %t.in.npz --outputs %t.emulated.npz --emulate
// RUN: %arrays compare --rtol 1e-5 --atol 1e-5 --count 4 %t.expected.npz %t.got.npz %t.compiled.npz %t.emulated.npz

// What was weighed. In fp32 nothing is; rows of 16 bytes are left alone.
// RUN: ingot-opt %t.loss.mlir --ingot-attach-target=target=cuda --ingot-pad-classes=precision=bf16 --remarks-filter=pad-classes --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=DONE
// RUN: ingot-opt %t.loss.mlir --ingot-attach-target=target=cuda --ingot-pad-classes --remarks-filter=pad-classes --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=F32
// RUN: sed 's/67x/72x/g; s/x67/x72/g' %t.loss.mlir | ingot-opt --ingot-attach-target=target=cuda --ingot-pad-classes=precision=bf16 | FileCheck %s --check-prefix=ALIGNED
// RUN: sed 's/32xf32/2xf32/g; s/<32x67/<2x67/g' %t.loss.mlir | ingot-opt --ingot-attach-target=target=cuda --ingot-pad-classes=precision=bf16 --remarks-filter=pad-classes --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=SMALL
// DONE-COUNT-2: remark: [Passed] PaddedClasses | {{.*}} classes=67, cost_seconds={{.*}}, padding=61
// F32: remark: [Missed] PaddedClasses | {{.*}}the target has no preferred alignment for rows of f32
// SMALL: remark: [Missed] PaddedClasses | {{.*}}the matmuls are too small
// ALIGNED-NOT: ingot.pad

// CHECK-LABEL: func @train_step
// CHECK-SAME:    %[[X:arg[0-9]+]]: {{[^)]*}} %[[FIRST:arg[0-9]+]]: tensor<67x32xf32>{{.*}} %[[SECOND:arg[0-9]+]]: tensor<32x67xf32>{{.*}} %[[BIAS:arg[0-9]+]]: tensor<67xf32>
// CHECK:       %[[W:.*]] = ingot.pad %[[FIRST]] low = [0, 0] high = [61, 0] interior = [0, 0] value = 0.000000e+00
// CHECK-NEXT:  %[[P:.*]] = ingot.matmul %{{.*}}, %[[W]] transposed : (tensor<64x32xf32>, tensor<128x32xf32>) -> tensor<64x128xf32>
// CHECK-NEXT:  %[[Q:.*]] = ingot.reshape %[[P]] : tensor<64x128xf32> -> tensor<4x16x128xf32>
// CHECK-NEXT:  %[[B:.*]] = ingot.pad %[[BIAS]] low = [0] high = [61] interior = [0] value = 0.000000e+00
// CHECK-NEXT:  %[[BB:.*]] = ingot.broadcast %[[B]] dims = [2]
// CHECK-NEXT:  %[[S:.*]] = ingot.add %[[Q]], %[[BB]]
// CHECK-NEXT:  %[[I:.*]] = ingot.iota {dim = 2 : i64}
// CHECK-NEXT:  %[[N:.*]] = ingot.constant dense<67>
// CHECK-NEXT:  %[[IS:.*]] = ingot.compare lt %[[I]], %[[N]]
// CHECK-NEXT:  %[[INF:.*]] = ingot.constant dense<0xFF800000>
// CHECK-NEXT:  %[[L:.*]] = ingot.select %[[IS]], %[[S]], %[[INF]]
// CHECK-NEXT:  %[[READ:.*]] = ingot.slice %[[S]] starts = [0, 0, 0] limits = [4, 16, 67]
// CHECK:       ingot.cross_entropy %[[L]], %{{.*}} dim = 2
// CHECK:       ingot.reduce max %[[READ]]
// CHECK:       ingot.pad %[[SECOND]] low = [0, 0] high = [0, 61]
// CHECK-NOT:   ingot.pad

// Evaluation has one product of the three.
// CHECK-LABEL: func @eval_step
// CHECK-NOT:   ingot.pad

ingot.state parameter @first : tensor<67x32xf32> = dense<0.0> : tensor<67x32xf32>
ingot.state parameter @second : tensor<32x67xf32> = dense<0.0> : tensor<32x67xf32>
ingot.state parameter @bias : tensor<67xf32> = dense<0.0> : tensor<67xf32>
func.func @forward(%x: tensor<4x16x32xf32> {ingot.kind = "data", ingot.name = "x"}, %labels: tensor<4x16xi64> {ingot.kind = "data", ingot.name = "labels"},
                   %first: tensor<67x32xf32> {ingot.state = @first}, %second: tensor<32x67xf32> {ingot.state = @second}, %bias: tensor<67xf32> {ingot.state = @bias})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %rows = ingot.reshape %x : tensor<4x16x32xf32> -> tensor<64x32xf32>
  %0 = ingot.matmul %rows, %first transposed : (tensor<64x32xf32>, tensor<67x32xf32>) -> tensor<64x67xf32>
  %1 = ingot.reshape %0 : tensor<64x67xf32> -> tensor<4x16x67xf32>
  %2 = ingot.broadcast %bias dims = [2] : tensor<67xf32> -> tensor<4x16x67xf32>
  %3 = ingot.add %1, %2 : tensor<4x16x67xf32>
  %losses, %lse = ingot.cross_entropy %3, %labels dim = 2 : (tensor<4x16x67xf32>, tensor<4x16xi64>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %largest = ingot.reduce max %3 dims = [2] : (tensor<4x16x67xf32>) -> tensor<4x16xf32>
  %4 = ingot.matmul %rows, %second : (tensor<64x32xf32>, tensor<32x67xf32>) -> tensor<64x67xf32>
  %5 = ingot.reshape %4 : tensor<64x67xf32> -> tensor<4x16x67xf32>
  %losses2, %lse2 = ingot.cross_entropy %5, %labels dim = 2 : (tensor<4x16x67xf32>, tensor<4x16xi64>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %6 = ingot.add %losses, %losses2 : tensor<4x16xf32>
  %7 = ingot.add %6, %largest : tensor<4x16xf32>
  %8 = ingot.reduce sum %7 dims = [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  return %8 : tensor<f32>
}

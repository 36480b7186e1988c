// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3" --ingot-place-steps --split-input-file | FileCheck %s
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3" --ingot-place-steps --remarks-filter=place-steps --remark-format=emitRemark 2>&1 >/dev/null --split-input-file | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3 exact-math=true" --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s --ingot-attach-target="arch=sapphirerapids" --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v4" --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v4" --ingot-place-steps --remarks-filter=place-steps --remark-format=emitRemark 2>&1 >/dev/null --split-input-file | FileCheck %s --check-prefix=UNKNOWN
// RUN: echo '{"strassen_share": 0.99}' > %t.slower.json
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3 machine=%t.slower.json" --ingot-place-steps --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v3 machine=%t.slower.json" --ingot-place-steps --remarks-filter=place-steps --remark-format=emitRemark 2>&1 >/dev/null --split-input-file | FileCheck %s --check-prefix=SLOWER
// RUN: echo '{"strassen_share": 0.95}' > %t.faster.json
// RUN: ingot-opt %s --ingot-attach-target="arch=x86-64-v4 machine=%t.faster.json" --ingot-place-steps --split-input-file | FileCheck %s

// Tests which matmuls Strassen's algorithm computes: those in which packing
// costs less than an eighth of the multiply-adds, unless --exact-math is given,
// tile units multiply, or the machine is not faster with it.
// EXACT-NOT: math = strassen
// CHECK-LABEL: exec.step @large
//       CHECK: exec.call @ingot_matmul({{.*}}math = strassen
//      REMARK: Strassen's algorithm saves an eighth of the products
//     UNKNOWN: nobody has measured whether Strassen's algorithm is faster
//      SLOWER: Strassen's algorithm is not faster on this CPU
func.func @large(%x: tensor<512x768xf32> {ingot.name = "x", ingot.kind = "data"},
                 %w: tensor<768x768xf32> {ingot.name = "w", ingot.kind = "data"})
    -> (tensor<512x768xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w : (tensor<512x768xf32>, tensor<768x768xf32>) -> tensor<512x768xf32>
  return %0 : tensor<512x768xf32>
}

// -----

// A part of the last tile is padding, and few rows share packed columns.
// CHECK-LABEL: exec.step @few_rows
//   CHECK-NOT: math = strassen
//      REMARK: Strassen's algorithm would add more time than it saves
//     UNKNOWN: Strassen's algorithm would add more time than it saves
//      SLOWER: Strassen's algorithm would add more time than it saves
func.func @few_rows(%x: tensor<128x512xf32> {ingot.name = "x", ingot.kind = "data"},
                    %w: tensor<512x512xf32> {ingot.name = "w", ingot.kind = "data"})
    -> (tensor<128x512xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w : (tensor<128x512xf32>, tensor<512x512xf32>) -> tensor<128x512xf32>
  return %0 : tensor<128x512xf32>
}

// -----

// A sum of few products is soon added to the result.
// CHECK-LABEL: exec.step @short_sums
//   CHECK-NOT: math = strassen
func.func @short_sums(%x: tensor<2048x128xf32> {ingot.name = "x", ingot.kind = "data"},
                      %w: tensor<128x2048xf32> {ingot.name = "w", ingot.kind = "data"})
    -> (tensor<2048x2048xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w : (tensor<2048x128xf32>, tensor<128x2048xf32>) -> tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}

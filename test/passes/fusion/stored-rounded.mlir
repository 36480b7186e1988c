// RUN: ingot-opt %s --ingot-form-fusions --split-input-file | FileCheck %s

// Tests that on a GPU a value is stored that two kernels read, one of which
// rounds it for a matmul: that kernel writes both, and the other one reads one
// tensor instead of three. In a step of a transformer this is the gradient of a
// residual.
// CHECK-LABEL: func.func @residual
//  CHECK-SAME:   %[[R:[a-z0-9]*]]: tensor<4096x512xf32> {{.*}}, %[[X:[a-z0-9]*]]: tensor<4096x512xf32> {{.*}}, %[[D:[a-z0-9]*]]: tensor<4096x512xbf16>
//       CHECK:   %[[SUM:.*]]:2 = ingot.fusion loop({{.*}}%[[R]]{{.*}}) : {{.*}} -> (tensor<4096x512xf32>, tensor<4096x512xbf16>)
//       CHECK:   %[[T:.*]] = ingot.matmul %[[SUM]]#1
//       CHECK:   ingot.fusion loop(%[[SUM]]#0, %[[T]]) :
module attributes {ingot.target = #ingot.target<"cuda">} {
  func.func @residual(%r: tensor<4096x512xf32> {ingot.name = "r", ingot.kind = "data"},
      %x: tensor<4096x512xf32> {ingot.name = "x", ingot.kind = "data"},
      %d: tensor<4096x512xbf16> {ingot.name = "d", ingot.kind = "data"},
      %w: tensor<512x512xbf16> {ingot.name = "w", ingot.kind = "data"})
      -> (tensor<4096x512xf32> {ingot.name = "y"}) {
    %0 = ingot.cast %d : tensor<4096x512xbf16> -> tensor<4096x512xf32>
    %1 = ingot.mul %0, %x : tensor<4096x512xf32>
    %2 = ingot.add %r, %1 : tensor<4096x512xf32>
    %3 = ingot.cast %2 : tensor<4096x512xf32> -> tensor<4096x512xbf16>
    %4 = ingot.matmul %3, %w : (tensor<4096x512xbf16>, tensor<512x512xbf16>) -> tensor<4096x512xbf16>
    %5 = ingot.cast %4 : tensor<4096x512xbf16> -> tensor<4096x512xf32>
    %6 = ingot.add %2, %5 : tensor<4096x512xf32>
    return %6 : tensor<4096x512xf32>
  }
}

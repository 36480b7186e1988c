// RUN: ingot-opt %s --ingot-add-adapters='adapter={{dora:r=2,alpha=4@up,down}}' | FileCheck %s

// Magnitudes begin with the norms of the rows of W, in either layout, whose squares are a constant. The norms of W + s B A come from products with
// as many columns as A has rows, and scale the sum before the bias is added.
// CHECK:      magnitude = @up.lora_magnitude_vector, module = "up"
// CHECK-SAME: magnitude = @down.lora_magnitude_vector, module = "down", scale = 2.000000e+00 : f64, transposed
// CHECK:      ingot.state parameter @up.lora_magnitude_vector : tensor<3xf32> = dense<[5.000000e+00, 0.000000e+00, 1.300000e+01]>
// CHECK-NEXT: ingot.state frozen @"up.lora_magnitude_vector/squares" : tensor<3xf32> = dense<[2.500000e+01, 0.000000e+00, 1.690000e+02]>
// CHECK:      ingot.state parameter @down.lora_magnitude_vector : tensor<2xf32> = dense<[7.000000e+00, 2.000000e+00]>
// CHECK:      func @forward(%[[X:arg0]]: {{.*}} %[[UP:arg1]]: tensor<3x2xf32>
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x2xf32> {ingot.state = @up.lora_A.weight}, %[[B:[a-z0-9]+]]: tensor<3x2xf32> {ingot.state = @up.lora_B.weight}, %[[M:[a-z0-9]+]]: tensor<3xf32> {ingot.state = @up.lora_magnitude_vector}
// CHECK-SAME: %[[BASE:[a-z0-9]+]]: tensor<3xf32> {ingot.state = @"up.lora_magnitude_vector/squares"}
// CHECK:      %[[MIXED:.*]] = ingot.matmul %[[UP]], %[[A]] transposed : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[GRAM:.*]] = ingot.matmul %[[A]], %[[A]] transposed
// CHECK-NEXT: ingot.matmul %[[B]], %[[GRAM]]
// CHECK:      ingot.add %[[BASE]], %
// CHECK:      %[[NORM:.*]] = ingot.sqrt
// CHECK:      %[[CONSTANT:.*]] = ingot.straight_through %{{.*}}, %[[NORM]]
// CHECK-NEXT: %[[FACTOR:.*]] = ingot.div %[[M]], %[[CONSTANT]]
// CHECK:      %[[Y:.*]] = ingot.matmul %[[X]], %[[UP]] transposed
// CHECK:      %[[SUM:.*]] = ingot.add %[[Y]]
// CHECK-NEXT: %[[ROWS:.*]] = ingot.broadcast %[[FACTOR]] dims = [1]
// CHECK-NEXT: %[[SCALED:.*]] = ingot.mul %[[SUM]], %[[ROWS]]
// CHECK:      ingot.add %[[SCALED]]
ingot.state parameter @up.weight : tensor<3x2xf32> = dense<[[3.0, 4.0], [0.0, 0.0], [5.0, 12.0]]> : tensor<3x2xf32>
ingot.state parameter @up.bias : tensor<3xf32> = dense<0.0> : tensor<3xf32>
ingot.state parameter @down.weight : tensor<3x2xf32> = dense<[[2.0, 0.0], [3.0, 0.0], [6.0, 2.0]]> : tensor<3x2xf32>
func.func @forward(%x: tensor<16x2xf32> {ingot.kind = "data", ingot.name = "x"},
                   %w: tensor<3x2xf32> {ingot.state = @up.weight}, %bias: tensor<3xf32> {ingot.state = @up.bias},
                   %d: tensor<3x2xf32> {ingot.state = @down.weight})
    -> (tensor<16x2xf32> {ingot.name = "y"}) {
  %0 = ingot.matmul %x, %w transposed : (tensor<16x2xf32>, tensor<3x2xf32>) -> tensor<16x3xf32>
  %1 = ingot.broadcast %bias dims = [1] : tensor<3xf32> -> tensor<16x3xf32>
  %2 = ingot.add %0, %1 : tensor<16x3xf32>
  %3 = ingot.tanh %2 : tensor<16x3xf32>
  %4 = ingot.matmul %3, %d : (tensor<16x3xf32>, tensor<3x2xf32>) -> tensor<16x2xf32>
  return %4 : tensor<16x2xf32>
}

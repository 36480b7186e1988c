// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=momentum clip=true" | FileCheck %s

// A weight that is pruned gets a bit for each element, along the last dimension
// where that is full bytes; gradient, weight and moments are zero where it is
// set. The attribute is on the bits then. Others are updated as before.
// CHECK:      ingot.state parameter @w : tensor<2x16xf32> = dense<1.000000e+00> : tensor<2x16xf32>{{$}}
// CHECK:      ingot.state moment @"w/pruned" : tensor<2x2xui8> = dense<0> : tensor<2x2xui8> {ingot.pruning = {share = 5.000000e-01 : f64, weight = @w}}
// CHECK:      ingot.state moment @"v/pruned" : tensor<2xui8> = dense<0> : tensor<2xui8> {ingot.pruning = {share = 2.500000e-01 : f64, weight = @v}}
ingot.state parameter @w : tensor<2x16xf32> = dense<1.0> : tensor<2x16xf32> {ingot.pruning = {weight = @w, share = 0.5 : f64}}
ingot.state parameter @v : tensor<3x3xf32> = dense<1.0> : tensor<3x3xf32> {ingot.pruning = {weight = @v, share = 0.25 : f64}}
ingot.state parameter @b : tensor<3xf32> = dense<1.0> : tensor<3xf32>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<2x16xf32> {ingot.state = @w}, %[[V:[a-z0-9]+]]: tensor<3x3xf32> {ingot.state = @v}
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<2x2xui8> {ingot.state = @"w/pruned"}, %[[Q:[a-z0-9]+]]: tensor<2xui8> {ingot.state = @"v/pruned"}
// CHECK:         %[[BITS:.*]] = ingot.unpack_bits %[[P]] : tensor<2x2xui8> -> tensor<2x16xi1>
// CHECK:         %[[G:.*]] = ingot.select %[[BITS]], %{{.*}}, %[[W]]
// CHECK:         %[[FLAT:.*]] = ingot.unpack_bits %[[Q]] : tensor<2xui8> -> tensor<9xi1>
// CHECK:         %[[SQUARE:.*]] = ingot.reshape %[[FLAT]] : tensor<9xi1> -> tensor<3x3xi1>
// CHECK:         ingot.select %[[SQUARE]], %{{.*}}, %[[V]]
// The norm is that of what is not pruned.
// CHECK:         ingot.mul %[[G]], %[[G]]
// CHECK:         %[[NEXT:[0-9]+]] = ingot.select %[[BITS]], %{{.*}}, %{{.*}} : tensor<2x16xi1>
// CHECK:         %[[MOMENT:[0-9]+]] = ingot.select %[[BITS]], %{{.*}}, %{{.*}} : tensor<2x16xi1>
// CHECK:         ingot.select %[[SQUARE]]
// CHECK:         ingot.select %[[SQUARE]]
// CHECK-NOT:     ingot.select {{.*}} tensor<3xi1>
// CHECK:         return %{{.*}}, %{{.*}}, %[[NEXT]], %{{.*}} %[[MOMENT]],
func.func @train_step(%w: tensor<2x16xf32> {ingot.state = @w}, %v: tensor<3x3xf32> {ingot.state = @v},
                      %b: tensor<3xf32> {ingot.state = @b})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<2x16xf32> {ingot.gradient = @w},
        tensor<3x3xf32> {ingot.gradient = @v}, tensor<3xf32> {ingot.gradient = @b}) {
  %loss = ingot.constant dense<0.0> : tensor<f32>
  func.return %loss, %w, %v, %b : tensor<f32>, tensor<2x16xf32>, tensor<3x3xf32>, tensor<3xf32>
}

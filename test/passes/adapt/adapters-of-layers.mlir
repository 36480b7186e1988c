// RUN: ingot-opt %s --ingot-add-adapters='adapter={{lora:r=2,alpha=4,bias=adapters@conv,embed}}' | FileCheck %s
// RUN: ingot-opt %s --ingot-add-adapters='adapter={{dora:r=2@conv,embed}}' | FileCheck %s --check-prefix=DORA
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@all-linear}}' 2>&1 | FileCheck %s --check-prefix=LINEAR
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@grouped}}' 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not ingot-opt %s --ingot-add-adapters='adapter={{lora@tied}}' 2>&1 | FileCheck %s --check-prefix=TIED

// The A of a convolution has its kernel and reads as it does; B has one of size 1. Rows of an embedding are columns of
// A, which is zero at first, and B is drawn.
// CHECK:      ingot.state parameter @conv.bias
// CHECK:      ingot.state parameter @conv.lora_A.weight : tensor<2x2x3x3xf32> = {{.*}}ingot.uniform = 0.2357
// CHECK-NEXT: ingot.state parameter @conv.lora_B.weight : tensor<3x2x1x1xf32> = dense<0.000000e+00> : tensor<3x2x1x1xf32>{{$}}
// CHECK-NEXT: ingot.state parameter @embed.lora_embedding_A : tensor<2x5xf32> = dense<0.000000e+00> : tensor<2x5xf32>{{$}}
// CHECK-NEXT: ingot.state parameter @embed.lora_embedding_B : tensor<4x2xf32> = {{.*}}ingot.uniform = 1.732
// CHECK:      func @forward(%[[X:[a-z0-9]+]]: tensor<1x2x6x6xf32> {{.*}} %[[I:[a-z0-9]+]]: tensor<1x7xi64>
// CHECK:      %[[CONV:.*]] = ingot.conv %[[X]], %
// CHECK:      %[[BASE:.*]] = ingot.add %[[CONV]]
// CHECK:      %[[LOW:.*]] = ingot.conv %[[X]], %{{.*}} {{{.*}}pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x2x6x6xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x3x3xf32>
// CHECK:      %[[SCALED:.*]] = ingot.mul %[[LOW]]
// CHECK-NEXT: %[[HIGH:.*]] = ingot.conv %[[SCALED]], %{{.*}} {{{.*}}strides = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x3x3xf32>
// CHECK-NEXT: ingot.add %[[BASE]], %[[HIGH]]
// CHECK:      %[[ROWS:.*]] = ingot.gather %{{.*}}[%[[I]]] dim = 0
// CHECK:      ingot.gather %{{.*}}[%[[I]]] dim = 1 : (tensor<2x5xf32>, tensor<1x7xi64>) -> tensor<2x1x7xf32>
// CHECK:      ingot.matmul %{{.*}} transposed, %{{.*}} transposed : (tensor<2x7xf32>, tensor<4x2xf32>)
// CHECK:      ingot.add %[[ROWS]]
// PEFT has magnitudes of a convolution in the shape of its channels, and those of an embedding for each column.
// DORA:       @conv.lora_magnitude_vector : tensor<1x3x1x1xf32> = dense<3.000000e+00>
// DORA:       @embed.lora_magnitude_vector : tensor<4xf32> = dense<1.000000e+00>
// DORA:       ingot.broadcast %{{.*}} dims = [1] : tensor<3xf32> -> tensor<1x3x3x3xf32>
// DORA:       ingot.broadcast %{{.*}} dims = [2] : tensor<4xf32> -> tensor<1x7x4xf32>
// LINEAR:     all-linear finds no linear layer
// GROUPS:     'grouped' has groups, so that no weight could be exported with an adapter
// TIED:       the weight of 'tied' is read by '{{.*}}' as well
ingot.state parameter @conv.weight : tensor<3x2x3x3xf32> = dense<0.70710678> : tensor<3x2x3x3xf32>
ingot.state parameter @conv.bias : tensor<3xf32> = dense<0.0> : tensor<3xf32>
ingot.state parameter @grouped.weight : tensor<3x1x1x1xf32> = dense<0.5> : tensor<3x1x1x1xf32>
ingot.state parameter @embed.weight : tensor<5x4xf32> = dense<0.4472135955> : tensor<5x4xf32>
ingot.state parameter @tied.weight : tensor<5x4xf32> = dense<0.5> : tensor<5x4xf32>
func.func @forward(%x: tensor<1x2x6x6xf32> {ingot.kind = "data", ingot.name = "x"},
                   %i: tensor<1x7xi64> {ingot.kind = "data", ingot.name = "i"},
                   %w: tensor<3x2x3x3xf32> {ingot.state = @conv.weight}, %b: tensor<3xf32> {ingot.state = @conv.bias},
                   %g: tensor<3x1x1x1xf32> {ingot.state = @grouped.weight},
                   %e: tensor<5x4xf32> {ingot.state = @embed.weight}, %t: tensor<5x4xf32> {ingot.state = @tied.weight})
    -> (tensor<1x3x3x3xf32> {ingot.name = "y"}, tensor<1x7x5xf32> {ingot.name = "z"}) {
  %0 = ingot.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
                          pad_high = array<i64: 1, 0>, groups = 1 : i64}
      : (tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x3x3xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<3xf32> -> tensor<1x3x3x3xf32>
  %2 = ingot.add %0, %1 : tensor<1x3x3x3xf32>
  %3 = ingot.conv %2, %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>,
                          pad_high = array<i64: 0, 0>, groups = 3 : i64}
      : (tensor<1x3x3x3xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x3x3xf32>
  %4 = ingot.gather %e [%i] dim = 0 : (tensor<5x4xf32>, tensor<1x7xi64>) -> tensor<1x7x4xf32>
  %5 = ingot.gather %t [%i] dim = 0 : (tensor<5x4xf32>, tensor<1x7xi64>) -> tensor<1x7x4xf32>
  %6 = ingot.add %4, %5 : tensor<1x7x4xf32>
  %7 = ingot.reshape %6 : tensor<1x7x4xf32> -> tensor<7x4xf32>
  %8 = ingot.matmul %7, %t transposed : (tensor<7x4xf32>, tensor<5x4xf32>) -> tensor<7x5xf32>
  %9 = ingot.reshape %8 : tensor<7x5xf32> -> tensor<1x7x5xf32>
  return %3, %9 : tensor<1x3x3x3xf32>, tensor<1x7x5xf32>
}

// RUN: not ingot-opt %s --ingot-differentiate 2>&1 | FileCheck %s

// All ops on the way that have no gradient are named in one error, by their ONNX
// node; those off the way are not.
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>

// CHECK:     error: {{.*}}no gradient is defined for operations that the loss depends on: ingot.barrier ({{.*}}first{{.*}}), ingot.barrier ({{.*}}second{{.*}})
// CHECK-NOT: error:
// CHECK:     hint: freeze the parameters before them with --freeze, or choose another loss
func.func @train_step(%x: tensor<f32> {ingot.kind = "data", ingot.name = "x"},
                      %w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}) {
  %data = ingot.barrier %x : (tensor<f32>) -> tensor<f32> loc("data")
  %0 = ingot.mul %data, %w : tensor<f32>
  %1 = ingot.barrier %0 : (tensor<f32>) -> tensor<f32> loc("first")
  %2 = ingot.exp %1 : tensor<f32>
  %3 = ingot.barrier %2 : (tensor<f32>) -> tensor<f32> loc("second")
  %unused = ingot.barrier %w : (tensor<f32>) -> tensor<f32> loc("unused")
  return %3 : tensor<f32>
}

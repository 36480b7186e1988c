// RUN: ingot-opt %s --ingot-decompose --ingot-form-fusions | FileCheck %s

// The losses, of which each chooses an element of a row, and the gradient are computed by the kernel that has the rows.
// The gradient needs the count of labels: a kernel of both sums would wait for the losses.
// CHECK-LABEL: func @cross_entropy
//       CHECK: %[[COUNT:.*]] = ingot.fusion reduction(%arg1)
//       CHECK: %[[ROWS:.*]]:2 = ingot.fusion row(
//       CHECK: ingot.take_along
//       CHECK: ingot.iota
//       CHECK: ingot.yield
//       CHECK: ingot.fusion reduction(%[[ROWS]]#0)
//   CHECK-NOT: ingot.fusion row
func.func @cross_entropy(%x: tensor<64x512xf32>, %labels: tensor<64xi64>) -> (tensor<f32>, tensor<64x512xf32>) {
  %losses, %lse = ingot.cross_entropy %x, %labels dim = 1 : (tensor<64x512xf32>, tensor<64xi64>) -> (tensor<64xf32>, tensor<64xf32>)
  %ignored = ingot.constant dense<-100> : tensor<64xi64>
  %counts = ingot.compare ne %labels, %ignored : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  %ones = ingot.cast %counts : tensor<64xi1> -> tensor<64xf32>
  %sum = ingot.reduce sum %losses dims = [0] : (tensor<64xf32>) -> tensor<f32>
  %count = ingot.reduce sum %ones dims = [0] : (tensor<64xf32>) -> tensor<f32>
  %mean = ingot.div %sum, %count : tensor<f32>
  %one = ingot.constant dense<1.0> : tensor<f32>
  %weight = ingot.div %one, %count : tensor<f32>
  %weights = ingot.broadcast %weight dims = [] : tensor<f32> -> tensor<64x512xf32>
  %lses = ingot.broadcast %lse dims = [0] : tensor<64xf32> -> tensor<64x512xf32>
  %shifted = ingot.sub %x, %lses : tensor<64x512xf32>
  %p = ingot.exp %shifted : tensor<64x512xf32>
  %columns = ingot.iota {dim = 1 : i64} : tensor<64x512xi64>
  %label = ingot.broadcast %labels dims = [0] : tensor<64xi64> -> tensor<64x512xi64>
  %hit = ingot.compare eq %columns, %label : (tensor<64x512xi64>, tensor<64x512xi64>) -> tensor<64x512xi1>
  %hits = ingot.cast %hit : tensor<64x512xi1> -> tensor<64x512xf32>
  %difference = ingot.sub %p, %hits : tensor<64x512xf32>
  %gradient = ingot.mul %difference, %weights : tensor<64x512xf32>
  return %mean, %gradient : tensor<f32>, tensor<64x512xf32>
}

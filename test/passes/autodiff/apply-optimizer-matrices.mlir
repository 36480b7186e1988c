// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=muon | FileCheck %s
// RUN: ingot-opt %s --ingot-apply-optimizer=optimizer=muon --remarks-filter=apply-optimizer --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=adafactor optimizer-precision=bf16" | FileCheck %s --check-prefix=FACTORS
// RUN: not ingot-opt %s --ingot-apply-optimizer="optimizer=muon shards" 2>&1 | FileCheck %s --check-prefix=SHARDS
// RUN: not ingot-opt %s --ingot-apply-optimizer="optimizer=adafactor shards" 2>&1 | FileCheck %s --check-prefix=SHARDS
// RUN: ingot-opt %s --ingot-apply-optimizer="optimizer=ademamix shards" | FileCheck %s --check-prefix=SLOW

// Muon has the matrices between embedding and head, adamw has the rest.
// REMARK: optimizer=adamw, parameter=table,
// REMARK: optimizer=adamw, parameter=position,
// REMARK: optimizer=muon, parameter=hidden,
// REMARK: optimizer=adamw, parameter=bias,
// REMARK: optimizer=adamw, parameter=head,
// SHARDS: --zero{{.*}} the optimizer '{{muon|adafactor}}' needs {{.*}}, of which each rank would have a part
// SHARDS: hint: compile with --zero 0

// CHECK-DAG: ingot.state moment @"table/exp_avg_sq" : tensor<9x4xf32>
// CHECK-DAG: ingot.state moment @"hidden/momentum" : tensor<4x5xf32>
// CHECK-DAG: ingot.state moment @"bias/exp_avg_sq" : tensor<5xf32>
// CHECK-DAG: ingot.state moment @"head/exp_avg_sq" : tensor<5x3xf32>
// CHECK-NOT: @"hidden/exp_avg

// The square matrix is the smaller one.
// CHECK-LABEL: func.func @train_step(
// CHECK-COUNT-10: ingot.matmul {{.*}}-> tensor<4x4xf32>

// FACTORS-DAG: ingot.state moment @"table/row_var" : tensor<9xf32>
// FACTORS-DAG: ingot.state moment @"table/col_var" : tensor<4xf32>
// FACTORS-DAG: ingot.state moment @"bias/exp_avg_sq" : tensor<5xbf16>

// SLOW: ingot.state moment @"hidden/exp_avg_slow" : tensor<4x5xf32>
ingot.state parameter @table : tensor<9x4xf32> = dense<1.0> : tensor<9x4xf32>
ingot.state parameter @position : tensor<2x4xf32> = dense<1.0> : tensor<2x4xf32>
ingot.state parameter @hidden : tensor<4x5xf32> = dense<1.0> : tensor<4x5xf32>
ingot.state parameter @bias : tensor<5xf32> = dense<1.0> : tensor<5xf32>
ingot.state parameter @head : tensor<5x3xf32> = dense<1.0> : tensor<5x3xf32>
func.func @train_step(%x: tensor<2xi64> {ingot.kind = "data", ingot.name = "x"},
                      %table: tensor<9x4xf32> {ingot.state = @table}, %position: tensor<2x4xf32> {ingot.state = @position},
                      %hidden: tensor<4x5xf32> {ingot.state = @hidden},
                      %bias: tensor<5xf32> {ingot.state = @bias}, %head: tensor<5x3xf32> {ingot.state = @head})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<9x4xf32> {ingot.gradient = @table}, tensor<2x4xf32> {ingot.gradient = @position},
        tensor<4x5xf32> {ingot.gradient = @hidden},
        tensor<5xf32> {ingot.gradient = @bias}, tensor<5x3xf32> {ingot.gradient = @head}) {
  %0 = ingot.gather %table[%x] dim = 0 : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %at = ingot.add %0, %position : tensor<2x4xf32>
  %1 = ingot.matmul %at, %hidden : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  %2 = ingot.broadcast %bias dims = [1] : tensor<5xf32> -> tensor<2x5xf32>
  %3 = ingot.add %1, %2 : tensor<2x5xf32>
  %4 = ingot.matmul %3, %head : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  %5 = ingot.reduce sum %4 dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  // Any values serve as gradients.
  return %5, %table, %position, %hidden, %bias, %head : tensor<f32>, tensor<9x4xf32>, tensor<2x4xf32>, tensor<4x5xf32>, tensor<5xf32>, tensor<5x3xf32>
}

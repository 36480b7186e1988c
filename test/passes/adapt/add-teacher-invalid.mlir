// RUN: not ingot-opt %s --split-input-file --ingot-add-teacher=distill=pairs=a:b 2>&1 | FileCheck %s
// RUN: not ingot-opt %s --split-input-file --ingot-add-teacher=distill=alpha=2 2>&1 | FileCheck %s --check-prefix=ALPHA

// CHECK:       error: {{.*}}--distill{{.*}}: there is no teacher
// CHECK-NEXT:  {{.*}}hint: name its ONNX file with --teacher
// CHECK:       error: {{.*}}--teacher{{.*}}: its input 'other' is none of the student's
// CHECK-NEXT:  {{.*}}hint: the student has 'x':
// CHECK:       error: {{.*}}--teacher{{.*}}: its input 'x' is tensor<8x5xf32>, the student's is tensor<8x4xf32>
// CHECK:       error: {{.*}}--distill{{.*}}: the pair 'a:b' is tensor<8x4xf32> and tensor<8xf32>
// CHECK-NEXT:  {{.*}}hint: pairs have one shape
// CHECK:       error: {{.*}}--teacher{{.*}}: it draws random numbers
// ALPHA:       error: {{.*}}--distill{{.*}}: '2' is no alpha
// ALPHA-NEXT:  {{.*}}hint: give a number between 0 and 1

func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
  return %x : tensor<8x4xf32>
}

// -----

func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
  return %x : tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "other"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
  return %x : tensor<8x4xf32>
}

// -----

func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
  return %x : tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x5xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x5xf32> {ingot.name = "y"}) {
  return %x : tensor<8x5xf32>
}

// -----

func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x4xf32> {ingot.name = "y"}, tensor<8x4xf32> {ingot.name = "distill.0"}) {
  return %x, %x : tensor<8x4xf32>, tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x4xf32> {ingot.name = "y"}, tensor<8xf32> {ingot.name = "distill.0"}) {
  %0 = ingot.reduce sum %x dims = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
  return %x, %0 : tensor<8x4xf32>, tensor<8xf32>
}

// -----

ingot.state seed @"@teacher/seed" : tensor<i64> = dense<0> : tensor<i64>
ingot.state step @"@teacher/step" : tensor<i64> = dense<0> : tensor<i64>
func.func @forward(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}) -> (tensor<8x4xf32> {ingot.name = "y"}) {
  return %x : tensor<8x4xf32>
}
func.func @teacher(%x: tensor<8x4xf32> {ingot.kind = "data", ingot.name = "x"}, %seed: tensor<i64> {ingot.state = @"@teacher/seed"}, %step: tensor<i64> {ingot.state = @"@teacher/step"})
    -> (tensor<8x4xf32> {ingot.name = "y"}) {
  %0 = ingot.random_uniform %seed, %step stream = 0 : (tensor<i64>, tensor<i64>) -> tensor<8x4xf32>
  %1 = ingot.add %x, %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

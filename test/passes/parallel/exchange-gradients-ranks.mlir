// Tests on four simulated ranks that gradients of exchanges are their transposes: of a loss that is linear in w, the sum
// over ranks is w times the sum of the ranks' gradients.
// RUN: %python %S/Inputs/adjoint.py inputs %t.in.npz %t.w.npz
// RUN: sed 's/EXCHANGE/all_reduce sum %u over [data] : tensor<4x2xf64>/; s/SHAPE/4x2/g; s/ROWS/4/g; s/COLUMNS/2/g' %s | ingot-opt --ingot-differentiate --ingot-reduce-gradients > %t.0.mlir
// RUN: sed 's/EXCHANGE/all_gather %u dim 1 over [data] : tensor<4x2xf64> -> tensor<4x8xf64>/; s/SHAPE/4x8/g; s/ROWS/4/g; s/COLUMNS/8/g' %s | ingot-opt --ingot-differentiate --ingot-reduce-gradients > %t.1.mlir
// RUN: sed 's/EXCHANGE/reduce_scatter sum %u dim 0 over [data] : tensor<4x2xf64> -> tensor<1x2xf64>/; s/SHAPE/1x2/g; s/ROWS/1/g; s/COLUMNS/2/g' %s | ingot-opt --ingot-differentiate --ingot-reduce-gradients > %t.2.mlir
// RUN: sed 's/EXCHANGE/all_to_all %u split 0 concat 1 over [data] : tensor<4x2xf64> -> tensor<1x8xf64>/; s/SHAPE/1x8/g; s/ROWS/1/g; s/COLUMNS/8/g' %s | ingot-opt --ingot-differentiate --ingot-reduce-gradients > %t.3.mlir
// RUN: sed 's/EXCHANGE/permute %u by 3 over [data] : tensor<4x2xf64>/; s/SHAPE/4x2/g; s/ROWS/4/g; s/COLUMNS/2/g' %s | ingot-opt --ingot-differentiate --ingot-reduce-gradients > %t.4.mlir
// RUN: FileCheck %s --check-prefix=SUM --input-file %t.0.mlir
// RUN: FileCheck %s --check-prefix=GATHER --input-file %t.1.mlir
// RUN: FileCheck %s --check-prefix=SCATTER --input-file %t.2.mlir
// RUN: FileCheck %s --check-prefix=ALL --input-file %t.3.mlir
// RUN: FileCheck %s --check-prefix=RING --input-file %t.4.mlir
// RUN: ingot-eval %t.0.mlir --function train_step --ranks 4 --inputs %t.in.npz --states %t.w.npz --outputs %t.0.npz
// RUN: %python %S/Inputs/adjoint.py check %t.0.npz %t.w.npz
// RUN: ingot-eval %t.1.mlir --function train_step --ranks 4 --inputs %t.in.npz --states %t.w.npz --outputs %t.1.npz
// RUN: %python %S/Inputs/adjoint.py check %t.1.npz %t.w.npz
// RUN: ingot-eval %t.2.mlir --function train_step --ranks 4 --inputs %t.in.npz --states %t.w.npz --outputs %t.2.npz
// RUN: %python %S/Inputs/adjoint.py check %t.2.npz %t.w.npz
// RUN: ingot-eval %t.3.mlir --function train_step --ranks 4 --inputs %t.in.npz --states %t.w.npz --outputs %t.3.npz
// RUN: %python %S/Inputs/adjoint.py check %t.3.npz %t.w.npz
// RUN: ingot-eval %t.4.mlir --function train_step --ranks 4 --inputs %t.in.npz --states %t.w.npz --outputs %t.4.npz
// RUN: %python %S/Inputs/adjoint.py check %t.4.npz %t.w.npz

// SUM: ingot.all_reduce sum %{{.+}} over [data] : tensor<4x2xf64>
// SUM: ingot.all_reduce sum %{{.+}} over [data] : tensor<4x2xf64>
// GATHER: ingot.reduce_scatter sum %{{.+}} dim 1 over [data] : tensor<4x8xf64> -> tensor<4x2xf64>
// SCATTER: ingot.all_gather %{{.+}} dim 0 over [data] : tensor<1x2xf64> -> tensor<4x2xf64>
// ALL: ingot.all_to_all %{{.+}} split 1 concat 0 over [data] : tensor<1x8xf64> -> tensor<4x2xf64>
// RING: ingot.permute %{{.+}} by -3 over [data]
module attributes {ingot.mesh = {data = 4}} {
  ingot.state parameter @w : tensor<4x2xf64> = dense<0.0> : tensor<4x2xf64>
  func.func @train_step(%x: tensor<4x2xf64> {ingot.kind = "data", ingot.name = "x"}, %c: tensor<4x2xf64> {ingot.kind = "data", ingot.name = "c"},
      %w: tensor<4x2xf64> {ingot.state = @w}) -> (tensor<f64> {ingot.name = "loss"}) {
    %u = ingot.mul %w, %x : tensor<4x2xf64>
    %y = ingot.EXCHANGE
    %c4 = ingot.concat %c, %c, %c, %c dim = 1 : (tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x8xf64>
    %i = ingot.iota {dim = 1 : i64} : tensor<4x8xf64>
    %k = ingot.mul %c4, %i : tensor<4x8xf64>
    %l = ingot.add %k, %c4 : tensor<4x8xf64>
    %cut = ingot.slice %l starts = [0, 0] limits = [ROWS, COLUMNS] strides = [1, 1] : (tensor<4x8xf64>) -> tensor<SHAPExf64>
    %z = ingot.mul %y, %cut : tensor<SHAPExf64>
    %loss = ingot.reduce sum %z dims = [0, 1] : (tensor<SHAPExf64>) -> tensor<f64>
    return %loss : tensor<f64>
  }
}

// Tests in f64 on simulated ranks that a language model trains as on one rank: heads that share keys, packed and not, in
// two blocks, and a tied embedding of 51 tokens, of which two ranks have 26 with one that is padding. The loss exchanges
// three numbers for each token.
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); n.savez('%t.npz', tokens=r.integers(-2, 53, (2, 6)), labels=n.array([3, 50, 0, -100, 25, 26, 27, 7, -100, 49, 10, 1]), lr=0.1)"
// RUN: %arrays make %t.states.npz wte=51x8 wpe=6x8 g1=8 b1=8 wqkv=8x32 bqkv=32 wo=16x8 bo=8 g2=8 b2=8 up=8x16 bup=16 down=16x8 bdown=8 g3=8 wq=8x16 wk=8x8 wv=8x8 wo2=16x8 g4=8 gate=8x16 up2=8x16 down2=16x8 gf=8 bf=8
// RUN: ingot-opt %s "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd -o %t.global.mlir
// RUN: ingot-eval %t.global.mlir --function train_step --inputs %t.npz --states %t.states.npz --steps 2 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.global.mlir --ingot-apply-partitions=keep-global --ingot-verify-partition -o %t.local.mlir
// RUN: ingot-eval %t.local.mlir --function train_step --ranks 2 --inputs %t.npz --states %t.states.npz --steps 2 --outputs %t.two.npz --state-out %t.two.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names loss %t.one.npz %t.two.npz
// RUN: %arrays compare --rtol 1e-9 --atol 1e-11 --names wte,wpe,g1,b1,wqkv,bqkv,wo,bo,g2,b2,up,bup,down,bdown,g3,wq,wk,wv,wo2,g4,gate,up2,down2,gf,bf %t.one.state.npz %t.two.state.npz

// The embedding, four sums of blocks, and three numbers a token; the same for gradients: one for the head, four for the
// blocks. Nothing is gathered.
// RUN: FileCheck %s --input-file %t.local.mlir
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: ingot.all_gather
// CHECK: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<2x6x8xf64>
// CHECK-COUNT-4: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<12x8xf64>
// CHECK: ingot.all_reduce max %{{.+}} over [tensor] : tensor<12xf64>
// CHECK-COUNT-2: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<12{{(x1)?}}xf64>
// CHECK-COUNT-5: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<{{(12|2x6)}}x8xf64>
// CHECK-NOT: ingot.all_reduce
// CHECK-NOT: ingot.all_gather
// CHECK: return
module attributes {ingot.mesh = {tensor = 2}} {
ingot.state parameter @wte : tensor<51x8xf64> = dense<0.0> : tensor<51x8xf64> {ingot.partition = [{pad = 1, tensor}, {}]}
ingot.state parameter @wpe : tensor<6x8xf64> = dense<0.0> : tensor<6x8xf64>
ingot.state parameter @g1 : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @b1 : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @wqkv : tensor<8x32xf64> = dense<0.0> : tensor<8x32xf64> {ingot.partition = [{}, {tensor = [16, 8, 8]}]}
ingot.state parameter @bqkv : tensor<32xf64> = dense<0.0> : tensor<32xf64> {ingot.partition = [{tensor = [16, 8, 8]}]}
ingot.state parameter @wo : tensor<16x8xf64> = dense<0.0> : tensor<16x8xf64> {ingot.partition = [{tensor}, {}]}
ingot.state parameter @bo : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @g2 : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @b2 : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @up : tensor<8x16xf64> = dense<0.0> : tensor<8x16xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @bup : tensor<16xf64> = dense<0.0> : tensor<16xf64> {ingot.partition = [{tensor}]}
ingot.state parameter @down : tensor<16x8xf64> = dense<0.0> : tensor<16x8xf64> {ingot.partition = [{tensor}, {}]}
ingot.state parameter @bdown : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @g3 : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @wq : tensor<8x16xf64> = dense<0.0> : tensor<8x16xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @wk : tensor<8x8xf64> = dense<0.0> : tensor<8x8xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @wv : tensor<8x8xf64> = dense<0.0> : tensor<8x8xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @wo2 : tensor<16x8xf64> = dense<0.0> : tensor<16x8xf64> {ingot.partition = [{tensor}, {}]}
ingot.state parameter @g4 : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @gate : tensor<8x16xf64> = dense<0.0> : tensor<8x16xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @up2 : tensor<8x16xf64> = dense<0.0> : tensor<8x16xf64> {ingot.partition = [{}, {tensor}]}
ingot.state parameter @down2 : tensor<16x8xf64> = dense<0.0> : tensor<16x8xf64> {ingot.partition = [{tensor}, {}]}
ingot.state parameter @gf : tensor<8xf64> = dense<0.0> : tensor<8xf64>
ingot.state parameter @bf : tensor<8xf64> = dense<0.0> : tensor<8xf64>
func.func @forward(%tokens: tensor<2x6xi64> {ingot.kind = "data", ingot.name = "tokens"},
    %wte: tensor<51x8xf64> {ingot.state = @wte}, %wpe: tensor<6x8xf64> {ingot.state = @wpe},
    %g1: tensor<8xf64> {ingot.state = @g1}, %b1: tensor<8xf64> {ingot.state = @b1},
    %wqkv: tensor<8x32xf64> {ingot.state = @wqkv}, %bqkv: tensor<32xf64> {ingot.state = @bqkv},
    %wo: tensor<16x8xf64> {ingot.state = @wo}, %bo: tensor<8xf64> {ingot.state = @bo},
    %g2: tensor<8xf64> {ingot.state = @g2}, %b2: tensor<8xf64> {ingot.state = @b2},
    %up: tensor<8x16xf64> {ingot.state = @up}, %bup: tensor<16xf64> {ingot.state = @bup},
    %down: tensor<16x8xf64> {ingot.state = @down}, %bdown: tensor<8xf64> {ingot.state = @bdown},
    %g3: tensor<8xf64> {ingot.state = @g3}, %wq: tensor<8x16xf64> {ingot.state = @wq},
    %wk: tensor<8x8xf64> {ingot.state = @wk}, %wv: tensor<8x8xf64> {ingot.state = @wv},
    %wo2: tensor<16x8xf64> {ingot.state = @wo2}, %g4: tensor<8xf64> {ingot.state = @g4},
    %gate: tensor<8x16xf64> {ingot.state = @gate}, %up2: tensor<8x16xf64> {ingot.state = @up2},
    %down2: tensor<16x8xf64> {ingot.state = @down2}, %gf: tensor<8xf64> {ingot.state = @gf},
    %bf: tensor<8xf64> {ingot.state = @bf}) -> (tensor<12x51xf64> {ingot.name = "logits"}) {
  %e = ingot.gather %wte[%tokens] dim = 0 : (tensor<51x8xf64>, tensor<2x6xi64>) -> tensor<2x6x8xf64>
  %p = ingot.broadcast %wpe dims = [1, 2] : tensor<6x8xf64> -> tensor<2x6x8xf64>
  %ep = ingot.add %e, %p : tensor<2x6x8xf64>
  %h0 = ingot.reshape %ep : tensor<2x6x8xf64> -> tensor<12x8xf64>

  // Packed projections.
  %n1:3 = ingot.layer_norm %h0, %g1, %b1 dim = 1 {epsilon = 1.0e-5 : f64} : (tensor<12x8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<12x8xf64>, tensor<12xf64>, tensor<12xf64>)
  %0 = ingot.matmul %n1#0, %wqkv : (tensor<12x8xf64>, tensor<8x32xf64>) -> tensor<12x32xf64>
  %1 = ingot.broadcast %bqkv dims = [1] : tensor<32xf64> -> tensor<12x32xf64>
  %2 = ingot.add %0, %1 : tensor<12x32xf64>
  %3 = ingot.reshape %2 : tensor<12x32xf64> -> tensor<2x6x8x4xf64>
  %a:2 = ingot.packed_attention %3 {key_heads = 2 : i64, right = 0 : i64, scale = 0.5 : f64} : (tensor<2x6x8x4xf64>) -> (tensor<2x6x4x4xf64>, tensor<2x4x6xf64>)
  %4 = ingot.reshape %a#0 : tensor<2x6x4x4xf64> -> tensor<12x16xf64>
  %5 = ingot.matmul %4, %wo : (tensor<12x16xf64>, tensor<16x8xf64>) -> tensor<12x8xf64>
  %6 = ingot.broadcast %bo dims = [1] : tensor<8xf64> -> tensor<12x8xf64>
  %7 = ingot.add %5, %6 : tensor<12x8xf64>
  %h1 = ingot.add %h0, %7 : tensor<12x8xf64>
  %n2:3 = ingot.layer_norm %h1, %g2, %b2 dim = 1 {epsilon = 1.0e-5 : f64} : (tensor<12x8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<12x8xf64>, tensor<12xf64>, tensor<12xf64>)
  %8 = ingot.matmul %n2#0, %up : (tensor<12x8xf64>, tensor<8x16xf64>) -> tensor<12x16xf64>
  %9 = ingot.broadcast %bup dims = [1] : tensor<16xf64> -> tensor<12x16xf64>
  %10 = ingot.add %8, %9 : tensor<12x16xf64>
  %11 = ingot.tanh %10 : tensor<12x16xf64>
  %12 = ingot.matmul %11, %down : (tensor<12x16xf64>, tensor<16x8xf64>) -> tensor<12x8xf64>
  %13 = ingot.broadcast %bdown dims = [1] : tensor<8xf64> -> tensor<12x8xf64>
  %14 = ingot.add %12, %13 : tensor<12x8xf64>
  %h2 = ingot.add %h1, %14 : tensor<12x8xf64>

  // Projections by themselves, and a gate.
  %n3:2 = ingot.rms_norm %h2, %g3 dim = 1 {epsilon = 1.0e-5 : f64} : (tensor<12x8xf64>, tensor<8xf64>) -> (tensor<12x8xf64>, tensor<12xf64>)
  %15 = ingot.matmul %n3#0, %wq : (tensor<12x8xf64>, tensor<8x16xf64>) -> tensor<12x16xf64>
  %16 = ingot.matmul %n3#0, %wk : (tensor<12x8xf64>, tensor<8x8xf64>) -> tensor<12x8xf64>
  %17 = ingot.matmul %n3#0, %wv : (tensor<12x8xf64>, tensor<8x8xf64>) -> tensor<12x8xf64>
  %q = ingot.reshape %15 : tensor<12x16xf64> -> tensor<2x6x4x4xf64>
  %k = ingot.reshape %16 : tensor<12x8xf64> -> tensor<2x6x2x4xf64>
  %v = ingot.reshape %17 : tensor<12x8xf64> -> tensor<2x6x2x4xf64>
  %b:2 = ingot.attention %q, %k, %v {right = 0 : i64, scale = 0.5 : f64} : (tensor<2x6x4x4xf64>, tensor<2x6x2x4xf64>, tensor<2x6x2x4xf64>) -> (tensor<2x6x4x4xf64>, tensor<2x4x6xf64>)
  %18 = ingot.reshape %b#0 : tensor<2x6x4x4xf64> -> tensor<12x16xf64>
  %19 = ingot.matmul %18, %wo2 : (tensor<12x16xf64>, tensor<16x8xf64>) -> tensor<12x8xf64>
  %h3 = ingot.add %h2, %19 : tensor<12x8xf64>
  %n4:2 = ingot.rms_norm %h3, %g4 dim = 1 {epsilon = 1.0e-5 : f64} : (tensor<12x8xf64>, tensor<8xf64>) -> (tensor<12x8xf64>, tensor<12xf64>)
  %20 = ingot.matmul %n4#0, %gate : (tensor<12x8xf64>, tensor<8x16xf64>) -> tensor<12x16xf64>
  %21 = ingot.matmul %n4#0, %up2 : (tensor<12x8xf64>, tensor<8x16xf64>) -> tensor<12x16xf64>
  %22 = ingot.tanh %20 : tensor<12x16xf64>
  %23 = ingot.mul %22, %21 : tensor<12x16xf64>
  %24 = ingot.matmul %23, %down2 : (tensor<12x16xf64>, tensor<16x8xf64>) -> tensor<12x8xf64>
  %h4 = ingot.add %h3, %24 : tensor<12x8xf64>

  %nf:3 = ingot.layer_norm %h4, %gf, %bf dim = 1 {epsilon = 1.0e-5 : f64} : (tensor<12x8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<12x8xf64>, tensor<12xf64>, tensor<12xf64>)
  %logits = ingot.matmul %nf#0, %wte transposed : (tensor<12x8xf64>, tensor<51x8xf64>) -> tensor<12x51xf64>
  return %logits : tensor<12x51xf64>
}
}

// Tests in f64 on simulated ranks that the language model of apply-partitions-gpt-ranks.mlir trains as on one rank if
// sums are split into rows: norms and residual sums are of half of them, and their parameters' gradients are summed.
// RUN: %python -c "import numpy as n; r = n.random.default_rng(1); n.savez('%t.npz', tokens=r.integers(-2, 53, (2, 6)), labels=n.array([3, 50, 0, -100, 25, 26, 27, 7, -100, 49, 10, 1]), lr=0.1)"
// RUN: %arrays make %t.states.npz wte=51x8 wpe=6x8 g1=8 b1=8 wqkv=8x32 bqkv=32 wo=16x8 bo=8 g2=8 b2=8 up=8x16 bup=16 down=16x8 bdown=8 g3=8 wq=8x16 wk=8x8 wv=8x8 wo2=16x8 g4=8 gate=8x16 up2=8x16 down2=16x8 gf=8 bf=8
// RUN: ingot-opt %S/apply-partitions-gpt-ranks.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd -o %t.global.mlir
// RUN: ingot-eval %t.global.mlir --function train_step --inputs %t.npz --states %t.states.npz --steps 2 --outputs %t.one.npz --state-out %t.one.state.npz
// RUN: ingot-opt %t.global.mlir "--ingot-choose-partitions=split-rows=always" --ingot-apply-partitions=keep-global --ingot-verify-partition -o %t.local.mlir
// RUN: ingot-eval %t.local.mlir --function train_step --ranks 2 --inputs %t.npz --states %t.states.npz --steps 2 --outputs %t.two.npz --state-out %t.two.state.npz
// RUN: %arrays compare --rtol 1e-11 --atol 1e-11 --names loss %t.one.npz %t.two.npz
// RUN: %arrays compare --rtol 1e-9 --atol 1e-11 --names wte,wpe,g1,b1,wqkv,bqkv,wo,bo,g2,b2,up,bup,down,bdown,g3,wq,wk,wv,wo2,g4,gate,up2,down2,gf,bf %t.one.state.npz %t.two.state.npz

// RUN: FileCheck %s --input-file %t.local.mlir
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<12x8xf64>
// CHECK: return

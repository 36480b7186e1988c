// Tests that edits of a partitioned step, one for each way in which gradients have been wrong elsewhere and at two places
// each, are rejected. The step is that of apply-partitions-gpt-ranks.mlir with rows, a tied embedding and clipping.
// RUN: ingot-opt %S/apply-partitions-gpt-ranks.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients "--ingot-apply-optimizer=optimizer=sgd clip" "--ingot-choose-partitions=split-rows=always" --ingot-apply-partitions=keep-global -o %t.mlir
// RUN: ingot-opt %t.mlir --ingot-verify-partition -o /dev/null
// RUN: %python %S/Inputs/edit_step.py %t.mlir | FileCheck %s
// CHECK: 36 edits of 18 kinds are rejected

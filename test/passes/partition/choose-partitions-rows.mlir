// Tests, for the language model of apply-partitions-gpt-ranks.mlir with its partitions, when sums are split into rows:
// always, where what a step keeps is more than it may, and not over a link on which a second exchange takes long.
// RUN: ingot-opt %S/apply-partitions-gpt-ranks.mlir "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=sgd -o %t.mlir
// RUN: ingot-opt %t.mlir --ingot-choose-partitions=split-rows=always --remarks-filter=choose-partitions --remark-format=emitRemark 2> %t.remarks | FileCheck %s --check-prefix=ROWS
// RUN: FileCheck %s --check-prefix=PASSED --input-file %t.remarks
// RUN: ingot-opt %t.mlir --ingot-choose-partitions=memory-budget=50%% | FileCheck %s --check-prefix=ROWS
// RUN: ingot-opt %t.mlir --ingot-choose-partitions=memory-budget=1GiB | FileCheck %s --check-prefix=WHOLE
// RUN: ingot-opt %t.mlir --ingot-choose-partitions --remarks-filter=choose-partitions --remark-format=emitRemark 2> %t.missed | FileCheck %s --check-prefix=WHOLE
// RUN: FileCheck %s --check-prefix=MISSED --input-file %t.missed

// ROWS: func.func @train_step
// ROWS-SAME: ingot.split_rows = "tensor"
// PASSED: [Passed] Rows | {{.*}}added_seconds={{.+}}, kept_bytes={{[0-9]+}}, whole_kept_bytes={{[0-9]+}}
// WHOLE-NOT: ingot.split_rows
// MISSED: [Missed] Rows | {{.*}}Reason="the step would take longer, and what it keeps fits"

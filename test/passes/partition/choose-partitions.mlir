// Tests which partitions are chosen for the language model of apply-partitions-gpt-ranks.mlir: over a fast link, those that
// are written there, the 51 tokens with one that is padding, over a slow one none; and that given ones are kept, with
// those of their class.
// RUN: sed 's/ {ingot.partition = .*}$//' %S/apply-partitions-gpt-ranks.mlir | ingot-opt "--ingot-attach-loss=loss=cross-entropy weigh" --ingot-differentiate --ingot-average-gradients --ingot-apply-optimizer=optimizer=momentum -o %t.mlir
// RUN: ingot-opt %t.mlir "--ingot-choose-partitions=link-us=0 link-gbs=1" --remarks-filter=choose-partitions --remark-format=emitRemark 2> %t.remarks | FileCheck %s --check-prefix=FAST
// RUN: FileCheck %s --check-prefix=REMARKS --input-file %t.remarks
// RUN: ingot-opt %t.mlir "--ingot-choose-partitions=link-us=0 link-gbs=1" --ingot-apply-partitions=keep-global --ingot-verify-partition | FileCheck %s --check-prefix=APPLIED
// RUN: ingot-opt %t.mlir "--ingot-choose-partitions=link-us=0 link-gbs=1" --ingot-apply-partitions --remarks-filter=apply-partitions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=WORK
// RUN: ingot-opt %t.mlir "--ingot-choose-partitions=link-us=1000" | FileCheck %s --check-prefix=SLOW
// RUN: sed 's/^  ingot.state parameter @gate .*/& {ingot.partition = [{}, {tensor}]}/' %t.mlir | ingot-opt "--ingot-choose-partitions=link-us=1000" | FileCheck %s --check-prefix=PINNED

// FAST-DAG: ingot.state parameter @wqkv {{.+}} {ingot.partition = [{}, {tensor = [16, 8, 8]}]}
// FAST-DAG: ingot.state parameter @bqkv {{.+}} {ingot.partition = [{tensor = [16, 8, 8]}]}
// FAST-DAG: ingot.state parameter @wo {{.+}} {ingot.partition = [{tensor}, {}]}
// FAST-DAG: ingot.state parameter @up {{.+}} {ingot.partition = [{}, {tensor}]}
// FAST-DAG: ingot.state parameter @down {{.+}} {ingot.partition = [{tensor}, {}]}
// FAST-DAG: ingot.state parameter @wk {{.+}} {ingot.partition = [{}, {tensor}]}
// FAST-DAG: ingot.state parameter @wo2 {{.+}} {ingot.partition = [{tensor}, {}]}
// FAST-DAG: ingot.state parameter @down2 {{.+}} {ingot.partition = [{tensor}, {}]}
// FAST-DAG: ingot.state moment @"wqkv/momentum" {{.+}} {ingot.partition = [{}, {tensor = [16, 8, 8]}]}
// FAST-DAG: ingot.state parameter @wte {{.+}} {ingot.partition = [{pad = 1 : i64, tensor}, {}]}
// APPLIED: func.func @train_step
// APPLIED-COUNT-8: ingot.all_reduce sum %{{.+}} over [tensor] : tensor<12x8xf64>
// APPLIED-NOT: ingot.all_gather
// APPLIED: return
// WORK: Contractions{{.+}}flops={{[0-9]+}}{{.+}}rank_flops=
// REMARKS: Partition
// REMARKS: saved_seconds
// SLOW-NOT: ingot.partition
// PINNED-DAG: ingot.state parameter @gate {{.+}} {ingot.partition = [{}, {tensor}]}
// PINNED-DAG: ingot.state parameter @down2 {{.+}} {ingot.partition = [{tensor}, {}]}
// PINNED-NOT: ingot.state parameter @up : {{.+}} {ingot.partition

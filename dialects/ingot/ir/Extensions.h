// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Parts of the dialect that are defined apart from it, in folders that include
// it: what it calls while it is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_EXTENSIONS_H
#define INGOT_DIALECTS_INGOT_IR_EXTENSIONS_H

namespace mlir {
class Dialect;
class MLIRContext;
} // namespace mlir

namespace ingot {

/// Adds the exchanges of one tensor (dialects/ingot/exchange) to the dialect.
void addExchanges(mlir::Dialect &dialect);

/// Adds the ops on encoded tensors (dialects/ingot/encoding) to the dialect.
void addEncodings(mlir::Dialect &dialect);

/// Adds the losses that compare a model with another one
/// (dialects/ingot/distillation) to the dialect.
void addDistillation(mlir::Dialect &dialect);

/// Adds the interface Partitionable (dialects/ingot/partition) to ops.
void attachPartitions(mlir::MLIRContext &context);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_EXTENSIONS_H

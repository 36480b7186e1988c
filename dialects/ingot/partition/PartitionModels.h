// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Helpers of the rules of all families of ops, see Partitions.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_PARTITION_PARTITIONMODELS_H
#define INGOT_DIALECTS_INGOT_PARTITION_PARTITIONMODELS_H

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/partition/Partitionable.h"

namespace ingot {

template <typename Op, typename Model>
using PartitionModel = Partitionable::ExternalModel<Model, Op>;

/// Collects the factors of an op: dimensions of its operands and results that
/// are split together.
class FactorBuilder {
public:
  explicit FactorBuilder(mlir::Operation *op) : op(op) {}

  /// Adds a factor that nothing has yet; `set` says what does.
  FactorBuilder &add(Factor::Kind kind, int64_t size);
  /// Say which dimension of an operand or result the last factor is.
  FactorBuilder &operand(unsigned number, int64_t dim);
  FactorBuilder &result(unsigned number, int64_t dim);
  FactorBuilder &ranges(unsigned operand,
                        llvm::ArrayRef<FactorRange> operandRanges);
  FactorBuilder &resultRanges(unsigned result,
                              llvm::ArrayRef<FactorRange> ranges);
  FactorBuilder &contiguous();

  llvm::SmallVector<Factor> take() { return std::move(factors); }

private:
  mlir::Operation *op;
  llvm::SmallVector<Factor> factors;
};

/// Returns the number of the first element of a part, as a scalar i64.
mlir::Value getFirstOfPart(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value number, int64_t size);

/// The rules of families of ops.
void attachPositionPartitions(mlir::MLIRContext &context);
void attachLookupPartitions(mlir::MLIRContext &context);
void attachNormalizationPartitions(mlir::MLIRContext &context);
void attachWindowPartitions(mlir::MLIRContext &context);
void attachAttentionPartitions(mlir::MLIRContext &context);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_PARTITION_PARTITIONMODELS_H

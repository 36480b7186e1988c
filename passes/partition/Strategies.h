// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How values are split along one axis, and how an op can be computed for given
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARTITION_STRATEGIES_H
#define INGOT_PASSES_PARTITION_STRATEGIES_H

#include "dialects/ingot/partition/Partitionable.h"

namespace ingot {

/// The place of a value's elements on the ranks along one axis.
struct Placement {
  enum Kind {
    /// All of it.
    Whole,
    /// A part of each segment of a dimension.
    Split,
    /// A tensor of its shape, and the value is the sum, maximum or minimum of
    /// these.
    Partial
  } kind = Whole;
  int64_t dim = -1;
  llvm::SmallVector<int64_t> segments = {};
  Factor::Kind combination = Factor::Sum;
  /// Elements behind the only segment.
  int64_t pad = 0;

  static Placement split(int64_t dim, llvm::ArrayRef<int64_t> segments,
                         int64_t pad = 0) {
    return {Split, dim, llvm::SmallVector<int64_t>(segments), Factor::Sum, pad};
  }
  static Placement partial(Factor::Kind kind) {
    return {Partial, -1, {}, kind};
  }
  bool operator==(const Placement &other) const;
};

/// Returns the bytes that a rank sends so that a value of that size is placed
/// in another way.
double getExchangedBytes(double bytes, const Placement &from,
                         const Placement &to, int64_t parts);

/// Returns where the segments of a dimension end, in elements of its factor;
/// nothing if they are no segments of its ranges.
std::optional<llvm::SmallVector<int64_t>>
getBorders(llvm::ArrayRef<FactorRange> ranges,
           llvm::ArrayRef<int64_t> segments);

/// Returns the segments of a factor between these borders and its own.
llvm::SmallVector<int64_t> addBorders(llvm::ArrayRef<int64_t> segments,
                                      llvm::ArrayRef<int64_t> further);

/// One way to compute an op.
struct Strategy {
  enum Kind { InParts, OnTerms, AsWhole } kind = AsWhole;
  /// The factor of which each rank computes a part.
  Factor factor = {};
  /// How operands have to be placed, and how results then are.
  llvm::SmallVector<Placement, 2> operands = {}, results = {};
  double bytes = 0;
};

/// Returns all strategies for operands that are placed in this way, except
/// those that split an op of which nothing is split.
llvm::SmallVector<Strategy, 0> getStrategies(mlir::Operation *op,
                                             llvm::ArrayRef<Placement> placed,
                                             int64_t parts);

/// Returns the cheapest of the strategies, for operands that ranks have in
/// further placements, too. Sums that several ops read are exchanged once,
/// before them.
Strategy chooseStrategy(
    mlir::Operation *op, llvm::ArrayRef<Placement> placed, int64_t parts,
    llvm::function_ref<bool(unsigned operand, const Placement &)> isThere);

/// Returns the strategy of a factor with the segments of those placements that
/// fit, of operands and, if it is given, of the first result; nothing if there
/// are no equal parts.
std::optional<Strategy> getFactorStrategy(mlir::Operation *op,
                                          const Factor &factor,
                                          llvm::ArrayRef<Placement> placed,
                                          int64_t parts,
                                          const Placement *want = nullptr);

/// Returns the strategy on the terms that ranks have of those operands; nothing
/// if the op is not linear in them.
std::optional<Strategy> getTermsStrategy(mlir::Operation *op,
                                         const llvm::SmallBitVector &partial);

} // namespace ingot

#endif // INGOT_PASSES_PARTITION_STRATEGIES_H

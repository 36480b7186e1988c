// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges over axes of the mesh of ranks, on all ranks together.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_REFERENCE_RANKEXCHANGE_H
#define INGOT_DIALECTS_REFERENCE_RANKEXCHANGE_H

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/reference/Registry.h"

namespace ingot::reference {

void registerExchange(Registry &registry);

/// Fails if that many ranks cannot be those of the mesh of an exchange.
llvm::Error checkRanks(mlir::Operation *op, int64_t ranks);

/// Returns the ranks that differ from one of `ranks` on axes of the mesh of an
/// op only, in the order of their coordinates on these.
llvm::SmallVector<int64_t> getGroup(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> axes, int64_t rank,
                                    int64_t ranks);

/// Combines the elements of another rank with those that are known so far.
void combineElements(ReductionKind kind, Tensor &into, const Tensor &from);

/// Computes an exchange on all ranks.
void exchange(Exchange op, llvm::ArrayRef<Operands> operands,
              llvm::ArrayRef<Results> results);

} // namespace ingot::reference

#endif // INGOT_DIALECTS_REFERENCE_RANKEXCHANGE_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Variants: the steps of one model for several sizes of its dimensions, over
// one set of states. Each is compiled to a training graph on its own; then
// their functions meet in one module, where they are placed together.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_VARIANTS_H
#define INGOT_PASSES_VARIANTS_H

#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace ingot {

/// One size for each symbolic dimension.
struct Variant {
  /// The sizes that tell it from the others, like `seq=128`; empty if there are
  /// no others.
  std::string name;
  std::map<std::string, int64_t> dims;
};

/// Every combination of the sizes, those of the last dimension changing first.
std::vector<Variant>
listVariants(const std::map<std::string, std::vector<int64_t>> &dims);

/// Appends `[NAME]` to the names of the module's functions and lists NAME in
/// its `ingot.variants`.
void nameVariant(mlir::ModuleOp module, llvm::StringRef name);

/// Moves the functions of `from` to `module`, whose states they share. Fails
/// where the two disagree on the shape of a state or on the batch, and where
/// samples could not be told apart by their shapes.
llvm::LogicalResult addVariant(mlir::ModuleOp module, mlir::ModuleOp from);

} // namespace ingot

#endif // INGOT_PASSES_VARIANTS_H

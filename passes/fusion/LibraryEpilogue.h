//===----------------------------------------------------------------------===//
//
// Which ops after a matrix product are an epilogue that libraries of devices
// have (cuBLASLt's: bias, residual, ReLU, GELU by tanh and its gradient).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_LIBRARYEPILOGUE_H
#define INGOT_PASSES_FUSION_LIBRARYEPILOGUE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// An epilogue found behind a product: result = activation(product + addend +
/// bias). Tensors in memory have the product's element type.
struct LibraryEpilogue {
  Activation activation = Activation::Identity;
  /// Null if there is none; the bias has an element per column.
  mlir::Value bias, addend;
  /// Where the sum reads the repeated bias.
  mlir::OpOperand *biasUse = nullptr;
  /// What `gelu` is computed from, where others read it too, or what its
  /// gradient is taken at; else null.
  mlir::Value preactivation;
  mlir::Value result;
  /// The sum, and what the activation makes of it, before they are rounded to
  /// the product's type.
  mlir::Value sum, activated;
};

struct LibraryEpilogueRules {
  /// Whether an op's results are in memory already.
  llvm::function_ref<bool(mlir::Operation *)> isStored;
  /// Take a bias in f32 where the product is in half precision.
  bool wideBias = false;
  bool activations = true;
};

/// The largest epilogue behind `call`, a library anchor of one result; `reason`
/// says why there is none.
std::optional<LibraryEpilogue>
matchLibraryEpilogue(mlir::Operation *call, const LibraryEpilogueRules &rules,
                     llvm::StringRef &reason);

/// The ops from the sum to what an activation makes of it.
llvm::DenseSet<mlir::Operation *>
findActivation(const LibraryEpilogue &epilogue);

} // namespace ingot

#endif // INGOT_PASSES_FUSION_LIBRARYEPILOGUE_H

//===----------------------------------------------------------------------===//
//
// Which ops after a matrix product are an epilogue that libraries of devices
// have (cuBLASLt's: bias, residual, ReLU and GELU by tanh, their gradients, and
// gradients of biases).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_FUSION_EPILOGUES_LIBRARYEPILOGUE_H
#define INGOT_PASSES_FUSION_EPILOGUES_LIBRARYEPILOGUE_H

#include "dialects/ingot/ir/Dialect.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// An epilogue found behind a product: result = activation(product + addend +
/// bias), and a sum. Tensors in memory have the product's element type.
struct LibraryEpilogue {
  Activation activation = Activation::Identity;
  /// Null if there is none; the bias has an element per column.
  mlir::Value bias, addend;
  /// Where the sum reads the repeated bias.
  mlir::OpOperand *biasUse = nullptr;
  /// What `gelu` is computed from, where others read it too, or what its
  /// gradient is taken at; of `relu` the signs in bits; else null.
  mlir::Value auxiliary;
  mlir::Value result;
  /// The sum, and what the activation makes of it, before they are rounded to
  /// the product's type.
  mlir::Value sum, activated;
  /// The gradient of a bias, if it is summed up with the product, and what of.
  mlir::Value biasGrad;
  Summed summed = Summed::Result;
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

/// A sum that a library could add up with a product, as it does for gradients
/// of biases; or why not.
struct BiasGradient {
  mlir::Operation *sum = nullptr;
  Summed summed = Summed::Result;
  llvm::StringRef reason;
};

/// Sums of the matrices of `call`, a library anchor, over its inner dimension;
/// and of the result over its rows, if that is the gradient of an activation.
llvm::SmallVector<BiasGradient>
findBiasGradients(mlir::Operation *call,
                  const std::optional<LibraryEpilogue> &epilogue);
/// Sums of f32 of which an operand of `call` is rounded, that would be such if
/// they were of the operand.
llvm::SmallVector<mlir::Operation *>
findWideBiasGradients(mlir::Operation *call);

/// Bytes of a row of signs in bits, as libraries have them.
int64_t countSignBytes(int64_t columns);

/// Comparisons of what the activation leaves, as it is stored, with 0: its
/// signs.
llvm::SmallVector<mlir::Value> findSigns(const LibraryEpilogue &epilogue);

/// The ops from the sum to what an activation makes of it.
llvm::DenseSet<mlir::Operation *>
findActivation(const LibraryEpilogue &epilogue);

} // namespace ingot

#endif // INGOT_PASSES_FUSION_EPILOGUES_LIBRARYEPILOGUE_H

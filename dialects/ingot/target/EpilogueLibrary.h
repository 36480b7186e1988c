// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The interface through which fusion queries a matmul library with a fixed list
// of epilogues. The terms are those of `#ingot.library_epilogue`.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_EPILOGUELIBRARY_H
#define INGOT_DIALECTS_INGOT_TARGET_EPILOGUELIBRARY_H

#include "dialects/ingot/ir/Dialect.h"

namespace ingot {

/// An epilogue found after a matmul: result = activation(matmul + addend +
/// bias), and a sum. Tensors in memory have the matmul's element type.
struct LibraryEpilogue {
  Activation activation = Activation::Identity;
  /// The bias, with an element per column, and the residual; null if there is
  /// none.
  mlir::Value bias, addend;
  /// The operand through which the sum reads the broadcast bias.
  mlir::OpOperand *biasUse = nullptr;
  /// The input of `gelu`, where it has other readers or the gradient of `gelu`
  /// reads it; the bit mask of `relu`; null otherwise.
  mlir::Value auxiliary;
  mlir::Value result;
  /// The sum, and the result of the activation, before they are rounded to the
  /// matmul's element type.
  mlir::Value sum, activated;
  /// The gradient of a bias, if the call computes it; `summed` is the matrix
  /// that is summed.
  mlir::Value biasGrad;
  Summed summed = Summed::Result;
};

struct LibraryEpilogueRules {
  /// Tells whether the results of an op are already in memory.
  llvm::function_ref<bool(mlir::Operation *)> isStored;
  /// Whether an fp32 bias is accepted where the matmul has 16-bit elements.
  bool wideBias = false;
  bool activations = true;
};

/// A sum that the library could compute with a matmul call, as it does for
/// gradients of biases, or the reason why it cannot.
struct BiasGradient {
  mlir::Operation *sum = nullptr;
  Summed summed = Summed::Result;
  llvm::StringRef reason;
};

class EpilogueLibrary {
public:
  virtual ~EpilogueLibrary() = default;
  /// Returns the largest supported epilogue after `call`, an EpilogueAnchor;
  /// otherwise, `reason` says why there is none.
  virtual std::optional<LibraryEpilogue>
  match(mlir::Operation *call, const LibraryEpilogueRules &rules,
        llvm::StringRef &reason) const = 0;
  /// Returns the sums of the matrices of `call` over its inner dimension, and
  /// of the result over its rows if that is the gradient of an activation.
  virtual llvm::SmallVector<BiasGradient>
  findBiasGradients(mlir::Operation *call,
                    const std::optional<LibraryEpilogue> &epilogue) const = 0;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_EPILOGUELIBRARY_H

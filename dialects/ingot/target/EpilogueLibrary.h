//===----------------------------------------------------------------------===//
//
// A matmul library with a fixed list of epilogues: what fusion asks it. The
// terms are those of `#ingot.library_epilogue`.
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
  /// Null if there is none; the bias has an element per column.
  mlir::Value bias, addend;
  /// Where the sum reads the repeated bias.
  mlir::OpOperand *biasUse = nullptr;
  /// What `gelu` is computed from, where others read it too, or what its
  /// gradient is taken at; the bit mask of `relu`; else null.
  mlir::Value auxiliary;
  mlir::Value result;
  /// The sum, and what the activation makes of it, before they are rounded to
  /// the matmul's element type.
  mlir::Value sum, activated;
  /// The gradient of a bias, if the call computes it, and the matrix that it is
  /// the sum of.
  mlir::Value biasGrad;
  Summed summed = Summed::Result;
};

struct LibraryEpilogueRules {
  /// Whether an op's results are in memory already.
  llvm::function_ref<bool(mlir::Operation *)> isStored;
  /// Accept a bias in fp32 where the matmul is in 16-bit precision.
  bool wideBias = false;
  bool activations = true;
};

/// A sum that the library could compute in a matmul call, as it does for
/// gradients of biases; or why it cannot.
struct BiasGradient {
  mlir::Operation *sum = nullptr;
  Summed summed = Summed::Result;
  llvm::StringRef reason;
};

class EpilogueLibrary {
public:
  virtual ~EpilogueLibrary() = default;
  /// The largest epilogue of the list after `call`, an EpilogueAnchor; `reason`
  /// says why there is none.
  virtual std::optional<LibraryEpilogue>
  match(mlir::Operation *call, const LibraryEpilogueRules &rules,
        llvm::StringRef &reason) const = 0;
  /// Sums of the matrices of `call` over its inner dimension; and of the result
  /// over its rows, if that is the gradient of an activation.
  virtual llvm::SmallVector<BiasGradient>
  findBiasGradients(mlir::Operation *call,
                    const std::optional<LibraryEpilogue> &epilogue) const = 0;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_EPILOGUELIBRARY_H

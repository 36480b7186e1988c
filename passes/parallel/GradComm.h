//===----------------------------------------------------------------------===//
//
// How gradients travel between ranks: the option `grad-comm`.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_GRADCOMM_H
#define INGOT_PASSES_PARALLEL_GRADCOMM_H

#include "mlir/IR/Types.h"
#include "llvm/Support/Error.h"

namespace ingot {

/// `bf16`, `fp16`, `powersgd:RANK`, `start:STEPS` and `min-rate:RATE`,
/// separated by commas.
struct GradComm {
  /// What f32 is rounded to; empty if it is not.
  llvm::StringRef sent;
  /// Of the matrices that PowerSGD sends instead of gradients; 0 without it.
  int64_t rank = 0;
  /// Steps at the beginning that send all of the gradients.
  int64_t start = 10;
  /// Gradients that would not shrink by this much are sent as they are.
  double minRate = 2;

  /// The type for `sent`; null if it is empty.
  mlir::Type getSentType(mlir::MLIRContext *context) const;

  static llvm::Expected<GradComm> parse(llvm::StringRef text);
  /// The same, with a user error about `--grad-comm` where it fails.
  static mlir::FailureOr<GradComm> parse(mlir::MLIRContext *context,
                                         llvm::StringRef text);
  static constexpr llvm::StringLiteral kHint =
      "give bf16 or fp16, and powersgd:RANK with start:STEPS and "
      "min-rate:RATE, separated by commas";
};

} // namespace ingot

#endif // INGOT_PASSES_PARALLEL_GRADCOMM_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How gradients are sent between ranks: the option `grad-comm`.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_PARALLEL_GRADCOMM_H
#define INGOT_PASSES_PARALLEL_GRADCOMM_H

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/Types.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace ingot {

/// `bf16`, `fp16`, one of `powersgd:RANK`, `int8` and `topk:SHARE`,
/// `start:STEPS` and `min-rate:RATE`, separated by commas.
struct GradComm {
  /// The type that f32 is rounded to; empty if it is not.
  llvm::StringRef sent;
  /// The rank of the matrices that PowerSGD sends instead of gradients; 0
  /// without it.
  int64_t rank = 0;
  /// How elements are sent.
  CompressionFormat format = CompressionFormat::None;
  /// The share of the elements that `topk` sends.
  double share = 0;
  /// Steps at the beginning that send all of the gradients.
  int64_t start = 10;
  /// Matrices that PowerSGD would not shrink by this much are sent as they are.
  double minRate = 2;

  /// The type for `sent`; null if it is empty.
  mlir::Type getSentType(mlir::MLIRContext *context) const;

  bool encodes() const { return format != CompressionFormat::None; }
  bool compresses() const { return rank > 0 || encodes(); }

  /// Fails with a UserError about the option.
  static llvm::Expected<GradComm> parse(llvm::StringRef text);
};

} // namespace ingot

#endif // INGOT_PASSES_PARALLEL_GRADCOMM_H

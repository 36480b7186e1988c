// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Matches the ops after a matmul with the epilogues of cuBLASLt: bias,
// residual, ReLU and tanh GELU, their gradients, and gradients of biases.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_EPILOGUES_LIBRARYEPILOGUE_H
#define INGOT_PASSES_TARGETS_CUDA_EPILOGUES_LIBRARYEPILOGUE_H

#include "dialects/ingot/target/EpilogueLibrary.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// Implements EpilogueLibrary::match.
std::optional<LibraryEpilogue>
matchLibraryEpilogue(mlir::Operation *call, const LibraryEpilogueRules &rules,
                     llvm::StringRef &reason);

/// Implements EpilogueLibrary::findBiasGradients.
llvm::SmallVector<BiasGradient>
findBiasGradients(mlir::Operation *call,
                  const std::optional<LibraryEpilogue> &epilogue);
/// Returns the sums of an f32 tensor whose rounding is an operand of `call`:
/// they would be gradients of biases if they summed the operand.
llvm::SmallVector<mlir::Operation *>
findWideBiasGradients(mlir::Operation *call);

/// Returns the number of bytes of a row of ReLU's bit mask.
int64_t countSignBytes(int64_t columns);

/// Returns the comparisons of the activation's stored result with 0, which are
/// its bit mask.
llvm::SmallVector<mlir::Value> findSigns(const LibraryEpilogue &epilogue);

/// Returns the ops from the sum to the activation's result.
llvm::DenseSet<mlir::Operation *>
findActivation(const LibraryEpilogue &epilogue);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_EPILOGUES_LIBRARYEPILOGUE_H

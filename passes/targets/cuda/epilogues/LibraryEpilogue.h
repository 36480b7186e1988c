//===----------------------------------------------------------------------===//
//
// Which ops after a matmul are an epilogue of cuBLASLt: bias, residual, ReLU
// and GELU by tanh, their gradients, and gradients of biases.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_EPILOGUES_LIBRARYEPILOGUE_H
#define INGOT_PASSES_TARGETS_CUDA_EPILOGUES_LIBRARYEPILOGUE_H

#include "dialects/ingot/target/EpilogueLibrary.h"
#include "llvm/ADT/DenseSet.h"

namespace ingot {

/// See EpilogueLibrary::match.
std::optional<LibraryEpilogue>
matchLibraryEpilogue(mlir::Operation *call, const LibraryEpilogueRules &rules,
                     llvm::StringRef &reason);

/// See EpilogueLibrary::findBiasGradients.
llvm::SmallVector<BiasGradient>
findBiasGradients(mlir::Operation *call,
                  const std::optional<LibraryEpilogue> &epilogue);
/// Sums of an f32 tensor whose rounding is an operand of `call`: they would be
/// gradients of biases if they summed the operand.
llvm::SmallVector<mlir::Operation *>
findWideBiasGradients(mlir::Operation *call);

/// Bytes of a row of ReLU's bit mask.
int64_t countSignBytes(int64_t columns);

/// Comparisons of the activation's stored result with 0: its signs.
llvm::SmallVector<mlir::Value> findSigns(const LibraryEpilogue &epilogue);

/// Returns the ops from the sum to the activation's result.
llvm::DenseSet<mlir::Operation *>
findActivation(const LibraryEpilogue &epilogue);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_EPILOGUES_LIBRARYEPILOGUE_H

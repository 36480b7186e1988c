// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attention in primitives, of which decompositions and gradients are built.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ATTENTION_PLAINATTENTION_H
#define INGOT_DIALECTS_INGOT_ATTENTION_PLAINATTENTION_H

#include "dialects/ingot/builders/Arithmetic.h"

namespace ingot {

/// Emits, for pairs [queries, keys], whether the key is within the bounds, at
/// least one of which is set.
mlir::Value emitWithinBounds(mlir::OpBuilder &builder, mlir::Location loc,
                             const AttentionSizes &sizes, int64_t left,
                             int64_t right);

/// The optional operands of an attention, which may be null, and its bounds.
struct AttentionTerms {
  mlir::Value bias, mask, lengths;
  int64_t left, right;
  /// The seed and the step of dropout; without a seed, there is no dropout.
  mlir::Value seed, step;
  double ratio;
  int32_t stream;

  template <typename Op> static AttentionTerms of(Op op) {
    return {op.getBias(),
            op.getMask(),
            op.getLengths(),
            static_cast<int64_t>(op.getLeft()),
            static_cast<int64_t>(op.getRight()),
            op.getSeed(),
            op.getStep(),
            op.getRatio().convertToDouble(),
            static_cast<int32_t>(op.getStream())};
  }
};

/// Returns the smallest shape [batch, heads, queries, keys] that holds all of
/// several masks and biases, which may be null.
llvm::SmallVector<int64_t> commonShape(llvm::ArrayRef<mlir::Value> terms);

/// Converts integers to key sequence lengths: i32, clamped to between 0 and the
/// number of keys.
mlir::Value clampLengths(Arithmetic a, mlir::Value lengths, int64_t keys);

/// Emits, for keys [batch, 1, 1, keys], whether they are below the key sequence
/// lengths.
mlir::Value emitWithinLengths(mlir::OpBuilder &builder, mlir::Location loc,
                              const AttentionSizes &sizes, mlir::Value lengths);

/// Emits the scores of an attention, and the other steps from them. Matrices
/// are [batch, heads, rows, columns]; scores and weights are f32 or wider.
class PlainAttention {
public:
  template <typename Op>
  PlainAttention(mlir::OpBuilder &builder, Op op)
      : PlainAttention(builder, op.getLoc(), op.getQuery(), op.getKey(),
                       op.getValue(), AttentionTerms::of(op),
                       op.getScale().convertToDouble(),
                       op.getSoftcap().convertToDouble()) {}

  PlainAttention(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value query, mlir::Value key, mlir::Value value,
                 const AttentionTerms &terms, double scale, double softcap);

  /// Returns the result of the forward pass.
  mlir::Value output(mlir::Value weights);
  mlir::Value weights();
  mlir::Value lse();

  struct Gradients {
    mlir::Value query, key, value, bias;
  };
  /// Returns the gradients, from the results of the forward pass and their
  /// cotangents, one of which may be null. `bias` is built only if it is
  /// needed.
  Gradients gradients(mlir::Value output, mlir::Value lse,
                      mlir::Value outputCotangent, mlir::Value lseCotangent,
                      bool wantsBias);

private:
  mlir::Value findAllowed();
  /// Returns the attention weights, or their gradients, after dropout.
  mlir::Value keep(mlir::Value pairs);
  mlir::Value swapHeads(mlir::Value value);
  mlir::Value repeatHeads(mlir::Value value);
  mlir::Value sumHeads(mlir::Value value);
  mlir::Value matmul(mlir::Value lhs, bool transposeLhs, mlir::Value rhs,
                     bool transposeRhs, mlir::Type element);
  /// Broadcasts one value per query along its keys.
  mlir::Value spread(mlir::Value value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Arithmetic a;
  AttentionSizes sizes;
  double scale;
  mlir::Type element, wide;
  mlir::Value q, k, v;
  AttentionTerms terms;
  /// The type of the scores, [batch, heads, queries, keys].
  mlir::RankedTensorType scoresType;
  mlir::Value scores;
  /// The derivative of the soft-capped scores by the scores; null without a
  /// soft cap.
  mlir::Value capSlope;
  /// The mask of the keys that each query attends to; null if there is no mask.
  mlir::Value allowed;
  bool rowsMayBeEmpty = false;
  /// The mask of the weights that dropout keeps; null without dropout.
  mlir::Value kept;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ATTENTION_PLAINATTENTION_H

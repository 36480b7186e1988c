//===----------------------------------------------------------------------===//
//
// Attention in primitives: what its decompositions and gradients are made of.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ATTENTION_PLAINATTENTION_H
#define INGOT_DIALECTS_INGOT_ATTENTION_PLAINATTENTION_H

#include "dialects/ingot/builders/Arithmetic.h"

namespace ingot {

/// Emits for pairs [queries, keys] whether the key is within the bounds, of
/// which there is one.
mlir::Value emitWithinBounds(mlir::OpBuilder &builder, mlir::Location loc,
                             const AttentionSizes &sizes, int64_t left,
                             int64_t right);

/// Optional operands of an attention, which may be null, and bounds.
struct AttentionTerms {
  mlir::Value bias, mask, lengths;
  int64_t left, right;
  /// Of dropout; no seed: none.
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

/// The smallest shape [batch, heads, queries, keys] that holds all of several
/// masks and biases, which may be null.
llvm::SmallVector<int64_t> commonShape(llvm::ArrayRef<mlir::Value> terms);

/// Integers as lengths that attention takes: i32, between 0 and the keys.
mlir::Value clampLengths(Arithmetic a, mlir::Value lengths, int64_t keys);

/// Emits for keys, as [batch, 1, 1, keys], whether they are below the lengths.
mlir::Value emitWithinLengths(mlir::OpBuilder &builder, mlir::Location loc,
                              const AttentionSizes &sizes, mlir::Value lengths);

/// Emits the scores of an attention, and from them the rest. Matrices are
/// [batch, heads, rows, columns]; scores and weights are f32 or wider.
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

  /// What the forward pass gives.
  mlir::Value output(mlir::Value weights);
  mlir::Value weights();
  mlir::Value lse();

  struct Gradients {
    mlir::Value query, key, value, bias;
  };
  /// From the results of the forward pass and their cotangents, of which one
  /// may be null. `bias` is built only if wanted.
  Gradients gradients(mlir::Value output, mlir::Value lse,
                      mlir::Value outputCotangent, mlir::Value lseCotangent,
                      bool wantsBias);

private:
  mlir::Value findAllowed();
  /// What dropout leaves of weights, or of their gradients.
  mlir::Value keep(mlir::Value pairs);
  mlir::Value swapHeads(mlir::Value value);
  mlir::Value repeatHeads(mlir::Value value);
  mlir::Value sumHeads(mlir::Value value);
  mlir::Value product(mlir::Value lhs, bool transposeLhs, mlir::Value rhs,
                      bool transposeRhs, mlir::Type element);
  /// One value per query, along its keys.
  mlir::Value spread(mlir::Value value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Arithmetic a;
  AttentionSizes sizes;
  double scale;
  mlir::Type element, wide;
  mlir::Value q, k, v;
  AttentionTerms terms;
  /// [batch, heads, queries, keys], as all that follows.
  mlir::RankedTensorType scoresType;
  mlir::Value scores;
  /// The derivative of capped scores with respect to others; null if none is.
  mlir::Value capSlope;
  /// Where a query may look; null where that is everywhere.
  mlir::Value allowed;
  bool rowsMayBeEmpty = false;
  /// Which weights dropout keeps; null where there is none.
  mlir::Value kept;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ATTENTION_PLAINATTENTION_H

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attention as exporters write it: a matmul of queries and keys, its scale and
// masks, a softmax, a matmul with the values.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMATCH_H
#define INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMATCH_H

#include "dialects/ingot/ir/Dialect.h"
#include "passes/graph/attention/AttentionMasks.h"
#include <string>

namespace ingot {

/// The parts of an attention around a softmax.
class AttentionMatch {
public:
  /// Matches the ops around `softmax`. At most adds ops without uses.
  explicit AttentionMatch(SoftmaxOp softmax);

  /// Returns whether there are a matmul of queries and keys and one with the
  /// values, or would be without the problem.
  bool isAttention() const { return scores && (mixed || !problem.empty()); }
  /// Returns why `ingot.attention` cannot represent it; empty if it can.
  llvm::StringRef getProblem() const { return problem; }
  /// Returns the sizes of an attention without a problem.
  AttentionSizes getSizes();
  /// Returns the element type that the matmuls read.
  mlir::Type getElement();
  int64_t getLeft() const { return bounds.left; }
  int64_t getRight() const { return bounds.right; }

  /// Replaces the matmul with the values by `ingot.attention`.
  AttentionOp rewrite(mlir::OpBuilder &builder);

private:
  /// A mask or an addend of the scores at one point of the chain.
  struct Term {
    enum Kind { Allowed, Hidden, Bias } kind;
    mlir::Value value;

    PairsMask asMask() const { return {value, kind == Hidden}; }
  };

  void refuse(const llvm::Twine &why);
  void matchScores(mlir::Value value);
  bool followScores(mlir::Value &value);
  bool becomesWindow(const Term &term);
  bool becomesLengths(const Term &term);
  void addBias(mlir::Value value);
  void addMask(Term term, bool fillIsFinite);
  bool addMaskOf(SelectOp fills);
  void matchWeights(SoftmaxOp softmax);
  bool isOwnMask(mlir::Value condition) const;
  void findShape(SoftmaxOp softmax);
  bool hasShapeOfScores(const Term &term) const;

  mlir::Value normalize(mlir::OpBuilder &builder, mlir::Value pairs) const;
  mlir::Value asRows(mlir::OpBuilder &builder, mlir::Value matrix,
                     bool isTransposed) const;

  MatmulOp scores, mixed;
  /// The sizes of the scores [batch, heads, queries, keys]; three dimensions
  /// have one head.
  int64_t batch = 0, heads = 1, queries = 0, keys = 0;
  /// A shape that scores or weights have in between.
  llvm::SmallVector<int64_t> between;
  double scale = 1;
  AttentionBounds bounds;
  llvm::SmallVector<Term> terms;
  llvm::SmallVector<KeyBound> lengths;
  /// The dropout between the weights and the values; null if there is none.
  DropoutOp dropout;
  /// Whether a fully masked row results in the mean of all values.
  bool emptyRowsSeeAll = false;
  std::string problem;
};

} // namespace ingot

#endif // INGOT_PASSES_GRAPH_ATTENTION_ATTENTIONMATCH_H

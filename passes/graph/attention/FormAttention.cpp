// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// FormAttention: forms attention ops where a fused kernel that never stores the
// scores is faster, and decomposes attention into matmuls and a softmax
// elsewhere.
//
// Assumes a simplified forward function: gradients are built later, from
// whichever form this leaves.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/attention/PlainAttention.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/graph/Passes.h"
#include "passes/graph/attention/AttentionMatch.h"

namespace ingot {
#define GEN_PASS_DEF_FORMATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Represents parts of an attention's mask by bounds and key sequence lengths,
/// except bounds that the target's library call does not support.
static void refineMask(AttentionOp op, Type element, const Target &target) {
  if (!op.getMask())
    return;
  AttentionSizes sizes = op.getSizes();
  AttentionBounds bounds = {static_cast<int64_t>(op.getLeft()),
                            static_cast<int64_t>(op.getRight())};
  SmallVector<PairsMask> parts, others;
  SmallVector<KeyBound> keyBounds;
  splitMask({op.getMask()}, parts);
  for (const PairsMask &part : parts) {
    auto isInside = [&](double value) { return (value != 0) != part.hides; };
    std::optional<AttentionBounds> found =
        findMaskBounds(part.value, sizes.queries, sizes.keys, isInside);
    if (found)
      found = intersect(bounds, *found);
    if (found &&
        target.getCalls()
            .refuseAttention({sizes, found->left, found->right, element})
            .empty())
      bounds = *found;
    else if (std::optional<KeyBound> bound =
                 findKeyBound(part, sizes.batch, sizes.heads))
      keyBounds.push_back(*bound);
    else
      others.push_back(part);
  }
  if (others.size() == parts.size())
    return;
  OpBuilder builder(op);
  Arithmetic a(builder, op.getLoc());
  Value lengths = op.getLengths(), mask;
  for (const KeyBound &bound : keyBounds) {
    Value each = bound.emitLengths(a, sizes.batch, sizes.keys);
    lengths = lengths ? a.min(lengths, each) : each;
  }
  for (PairsMask part : others) {
    part.value = emitUnrepeated(a, part.value);
    Value shown = part.emitShown(builder);
    SmallVector<int64_t> shape = commonShape({mask, shown});
    shape[3] = sizes.keys;
    shown = broadcastTrailing(builder, op.getLoc(), shown, shape);
    mask =
        mask ? a.logicalAnd(
                   broadcastTrailing(builder, op.getLoc(), mask, shape), shown)
             : shown;
  }
  op.setLeft(bounds.left);
  op.setRight(bounds.right);
  op.getMaskMutable().assign(mask ? ValueRange(mask) : ValueRange());
  op.getLengthsMutable().assign(lengths ? ValueRange(lengths) : ValueRange());
}

namespace {

/// The time in seconds of one attention in a training step.
struct Costs {
  double plain, whole;

  Costs(const AttentionSizes &s, int64_t left, int64_t right, Type element,
        const Machine &machine) {
    double heads = static_cast<double>(s.batch) * s.heads;
    // Scores, weights and their gradients, each of which is written and read
    // several times.
    double bytesPerPair = 12.0 * element.getIntOrFloatBitWidth() / 8;
    double all = heads * s.queries * s.keys;
    plain = all * (6.0 * (s.size + s.valueSize) /
                       machine.getRate(WorkKind::Matmul, element) +
                   bytesPerPair / machine.memoryBandwidth);
    // Scores are recomputed in the backward pass, tiles at an edge are computed
    // completely, and there are exponentials and packing. The machine's
    // throughput accounts for neither.
    constexpr double kRows = 12, kColumns = 32, kComputedMore = 1.75;
    double filled = std::ceil(s.queries / kRows) * kRows / s.queries *
                    std::ceil(s.keys / kColumns) * kColumns / s.keys;
    int edges = (left >= 0) + (right >= 0);
    double computed =
        static_cast<double>(s.window(left, right).pairs) * filled +
        edges * s.queries * (kRows + kColumns) / 2;
    whole = heads * computed * (8.0 * s.size + 6.0 * s.valueSize) /
            (kComputedMore * machine.getRate(WorkKind::Attention, element));
  }
};

struct FormAttention : ingot::impl::FormAttentionBase<FormAttention> {
  using FormAttentionBase::FormAttentionBase;

  void runOnOperation() override {
    SmallVector<AttentionOp> imported;
    SmallVector<SoftmaxOp> softmaxes;
    getOperation().walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        imported.push_back(attention);
      else if (auto softmax = dyn_cast<SoftmaxOp>(op))
        softmaxes.push_back(softmax);
    });
    target = Target::of(getOperation());
    // f32 elements will have the 16-bit type, if there is one.
    Type f32 = Float32Type::get(&getContext());
    bool isDecomposed = plain || !target->getCalls().hasAttention(
                                     elementInPrecision(f32, precision));
    for (AttentionOp op : imported) {
      if (!isDecomposed)
        refineMask(op, elementInPrecision(elementOf(op), precision), *target);
      if (isDecomposed || !isKept(op))
        decompose(op);
    }
    if (!isDecomposed)
      for (SoftmaxOp softmax : softmaxes)
        form(softmax);
    // Erases the ops that were replaced, and statistics without uses.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }

private:
  static Type elementOf(AttentionOp op) {
    return op.getQuery().getType().getElementType();
  }

  /// Returns whether the target's library call supports the attention and is
  /// faster; a remark says so.
  bool isWorthIt(Location loc, const AttentionQuery &query) {
    if (std::string reason = target->getCalls().refuseAttention(query);
        !reason.empty()) {
      remark::missed(loc, remarkOptions(getArgument(), "Attention"))
          << remark::reason("{0}", reason);
      return false;
    }
    const auto &[sizes, left, right, element] =
        std::tie(query.sizes, query.left, query.right, query.element);
    Costs costs(sizes, left, right, element, target->getMachine());
    if (costs.whole > costs.plain) {
      remark::missed(loc, remarkOptions(getArgument(), "Attention"))
          << remark::reason("matmuls and a softmax are cheaper")
          << remark::metric("decomposed_seconds", costs.plain)
          << remark::metric("fused_seconds", costs.whole);
      return false;
    }
    int64_t pairs = sizes.batch * sizes.heads * sizes.queries * sizes.keys;
    remark::passed(loc, remarkOptions(getArgument(), "Attention"))
        << remark::metric("left", left) << remark::metric("right", right)
        << remark::metric("bytes_saved",
                          pairs * element.getIntOrFloatBitWidth() / 8)
        << remark::metric("decomposed_seconds", costs.plain)
        << remark::metric("fused_seconds", costs.whole);
    return true;
  }

  bool isKept(AttentionOp op) {
    if (StringRef reason = op.refuseCall(); !reason.empty()) {
      remark::missed(op.getLoc(), remarkOptions(getArgument(), "Attention"))
          << remark::reason("{0}", reason);
      return false;
    }
    // The legalization of the target turns the remaining mask into a bias.
    AttentionQuery query = {op.getSizes(), static_cast<int64_t>(op.getLeft()),
                            static_cast<int64_t>(op.getRight()),
                            elementInPrecision(elementOf(op), precision)};
    query.hasTerms = op.getBias() || op.getMask() || op.getLengths();
    query.hasDropout = op.getSeed() != nullptr;
    query.readsLse = !op.getLse().use_empty();
    return isWorthIt(op.getLoc(), query);
  }

  static void decompose(AttentionOp op) {
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
  }

  void form(SoftmaxOp softmax) {
    AttentionMatch match(softmax);
    if (!match.isAttention())
      return;
    if (!match.getProblem().empty()) {
      // Its gradients are matmuls that are there already: the op would be
      // computed beside the weights that they read.
      bool hasGradients =
          ResultList::of(Signature(getOperation())).hasGradients();
      remark::missed(softmax.getLoc(),
                     remarkOptions(getArgument(), "Attention"))
          << remark::reason(
                 "{0}{1}",
                 hasGradients ? "the model comes with its backward pass: " : "",
                 match.getProblem());
      return;
    }
    AttentionQuery query = {match.getSizes(), match.getLeft(), match.getRight(),
                            elementInPrecision(match.getElement(), precision)};
    if (!isWorthIt(softmax.getLoc(), query))
      return;
    OpBuilder builder(softmax);
    match.rewrite(builder);
    ++numFormed;
  }

  std::shared_ptr<const Target> target;
};

} // namespace

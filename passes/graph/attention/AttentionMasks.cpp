// SPDX-License-Identifier: Apache-2.0

#include "passes/graph/attention/AttentionMasks.h"

#include "dialects/ingot/attention/PlainAttention.h"
#include "dialects/ingot/support/ConstantFolding.h"
#include <numeric>

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value PairsMask::emitShown(OpBuilder &builder) const {
  if (!hides)
    return value;
  return NotOp::create(builder, value.getLoc(), value.getType(), value);
}

void ingot::splitMask(PairsMask mask, SmallVectorImpl<PairsMask> &parts) {
  auto repeat = mask.value.getDefiningOp<BroadcastOp>();
  Value inner = repeat ? repeat.getOperand() : mask.value;
  auto repeated = [&](Value part) -> Value {
    if (!repeat)
      return part;
    OpBuilder builder(repeat);
    return BroadcastOp::create(builder, repeat.getLoc(), repeat.getType(), part,
                               repeat.getDims());
  };
  Operation *def = inner.getDefiningOp();
  if (isa_and_present<NotOp>(def))
    return splitMask({repeated(def->getOperand(0)), !mask.hides}, parts);
  if (def && (mask.hides ? isa<OrOp>(def) : isa<AndOp>(def))) {
    for (Value operand : def->getOperands())
      splitMask({repeated(operand), mask.hides}, parts);
    return;
  }
  parts.push_back(mask);
}

bool ingot::areEqual(const PairsMask &a, const PairsMask &b) {
  if (a.hides != b.hides || a.value == b.value)
    return a.hides == b.hides;
  auto first = a.value.getDefiningOp<BroadcastOp>();
  auto second = b.value.getDefiningOp<BroadcastOp>();
  return first && second && first.getOperand() == second.getOperand() &&
         first.getDims() == second.getDims() &&
         first.getType() == second.getType();
}

Value ingot::emitUnrepeated(Arithmetic a, Value pairs) {
  auto repeat = pairs.getDefiningOp<BroadcastOp>();
  if (!repeat)
    return pairs;
  SmallVector<int64_t> shape(repeat.getType().getRank(), 1);
  for (auto [size, dim] : llvm::zip_equal(
           tensorType(repeat.getOperand()).getShape(), repeat.getDims()))
    shape[dim] = size;
  return a.reshape(repeat.getOperand(), shape);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

std::optional<AttentionBounds> ingot::findMaskBounds(
    Value pairs, int64_t queries, int64_t keys,
    llvm::function_ref<std::optional<bool>(double)> isInside) {
  auto isSquare = [&](ArrayRef<int64_t> shape) {
    return shape.size() >= 2 &&
           shape.take_back(2) == ArrayRef<int64_t>{queries, keys};
  };
  if (auto repeat = pairs.getDefiningOp<BroadcastOp>()) {
    int64_t rank = repeat.getType().getRank();
    ArrayRef<int64_t> dims = repeat.getDims();
    if (dims.size() >= 2 && dims.back() == rank - 1 &&
        dims[dims.size() - 2] == rank - 2 &&
        isSquare(tensorType(repeat.getOperand()).getShape()))
      pairs = repeat.getOperand();
  }
  if (!isSquare(tensorType(pairs).getShape()))
    return std::nullopt;
  return findBounds(pairs, isInside);
}

AttentionBounds ingot::intersect(AttentionBounds a, AttentionBounds b) {
  auto tighter = [](int64_t x, int64_t y) {
    return x < 0 ? y : y < 0 ? x : std::min(x, y);
  };
  return {tighter(a.left, b.left), tighter(a.right, b.right)};
}

//===----------------------------------------------------------------------===//
// Key sequence lengths
//===----------------------------------------------------------------------===//

Value KeyBound::emitLengths(Arithmetic a, int64_t batch, int64_t keys) const {
  int64_t count = tensorType(value).getNumElements();
  Value lengths = a.broadcast(a.reshape(value, {count}), {batch}, {0});
  // The constant must be representable in the integer type.
  if (isLast)
    lengths = a.add(a.min(lengths, static_cast<double>(keys - 1)), 1.0);
  return clampLengths(a, lengths, keys);
}

namespace {

/// A tensor with the mapping of its dimensions to those of the mask, while a
/// mask is followed through broadcasts and reshapes to its operands.
class PairsView {
public:
  enum Dim { Batch, Head, Query, Key };

  PairsView(Value value, int64_t batch, int64_t heads)
      : value(value), batch(batch), heads(heads) {
    dims = {{Batch}, {Head}, {Query}, {Key}};
    if (tensorType(value).getRank() == 3)
      dims = {{Batch, Head}, {Query}, {Key}};
    forgetOnes();
    follow();
  }

  Value getValue() const { return value; }

  /// Returns the mapping for an operand of the elementwise op that computes the
  /// value.
  PairsView ofOperand(Value operand) const {
    PairsView view = *this;
    view.value = operand;
    view.follow();
    return view;
  }

  /// Returns whether elements do not differ along any other dimension.
  bool dependsOnlyOn(Dim dim) const {
    return llvm::all_of(dims, [&](ArrayRef<Dim> of) {
      return of.empty() || (of.size() == 1 && of.front() == dim);
    });
  }

  /// Returns the first dimension that corresponds to this one only.
  std::optional<size_t> find(Dim dim) const {
    for (auto [i, of] : llvm::enumerate(dims))
      if (of.size() == 1 && of.front() == dim)
        return i;
    return std::nullopt;
  }

private:
  using Dims = SmallVector<SmallVector<Dim, 2>>;

  void forgetOnes() {
    for (auto [size, of] : llvm::zip_equal(tensorType(value).getShape(), dims))
      if (size == 1)
        of.clear();
  }

  /// Follows the value as long as elements are only broadcast or reshaped.
  void follow() {
    while (true) {
      if (auto op = value.getDefiningOp<BroadcastOp>()) {
        Dims from;
        for (int64_t dim : op.getDims())
          from.push_back(dims[dim]);
        value = op.getOperand();
        dims = std::move(from);
        forgetOnes();
        continue;
      }
      auto op = value.getDefiningOp<ReshapeOp>();
      if (!op || !followReshape(op))
        return;
    }
  }

  /// Follows a reshape that adds or drops dimensions of size 1, or merges batch
  /// and heads.
  bool followReshape(ReshapeOp op) {
    ArrayRef<int64_t> to = op.getType().getShape();
    ArrayRef<int64_t> shape = tensorType(op.getOperand()).getShape();
    Dims from(shape.size());
    size_t at = 0;
    auto skipOnes = [&] {
      while (at < to.size() && to[at] == 1)
        ++at;
    };
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1)
        continue;
      skipOnes();
      if (at == to.size())
        return false;
      if (shape[i] == to[at]) {
        from[i] = dims[at++];
        continue;
      }
      bool isApart = dims[at].size() == 2 && to[at] == batch * heads &&
                     i + 1 < shape.size() && shape[i] == batch &&
                     shape[i + 1] == heads;
      if (!isApart)
        return false;
      from[i] = {Batch};
      from[++i] = {Head};
      ++at;
    }
    skipOnes();
    if (at != to.size())
      return false;
    value = op.getOperand();
    dims = std::move(from);
    return true;
  }

  Value value;
  int64_t batch, heads;
  /// The dimension of the mask that each dimension corresponds to; nothing
  /// where its size is 1.
  Dims dims;
};

} // namespace

/// Returns whether the elements are the positions of keys.
static bool arePositions(const PairsView &view) {
  // Positions that are broadcast by ops other than `broadcast`.
  constexpr int64_t most = 1 << 20;
  Value value = view.getValue();
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  std::optional<size_t> dim = view.find(PairsView::Key);
  int64_t count = tensorType(value).getNumElements();
  if (!dim || count > most)
    return false;
  std::vector<int64_t> elements(count);
  std::iota(elements.begin(), elements.end(), 0);
  std::optional<std::vector<double>> known = knownElements(value, elements);
  if (!known)
    return false;
  int64_t step = ingot::detail::rowMajorSteps(shape)[*dim];
  return llvm::all_of_zip(*known, elements, [&](double found, int64_t at) {
    return found == static_cast<double>(at / step % shape[*dim]);
  });
}

/// Returns the comparison of b and a.
static Predicate swapped(Predicate predicate) {
  switch (predicate) {
  case Predicate::LT:
    return Predicate::GT;
  case Predicate::LE:
    return Predicate::GE;
  case Predicate::GT:
    return Predicate::LT;
  case Predicate::GE:
    return Predicate::LE;
  default:
    return predicate;
  }
}

std::optional<KeyBound> ingot::findKeyBound(const PairsMask &mask,
                                            int64_t batch, int64_t heads) {
  PairsView pairs(mask.value, batch, heads);
  auto compare = pairs.getValue().getDefiningOp<CompareOp>();
  if (!compare ||
      !tensorType(compare.getLhs()).getElementType().isSignlessInteger())
    return std::nullopt;
  PairsView positions = pairs.ofOperand(compare.getLhs());
  PairsView bounds = pairs.ofOperand(compare.getRhs());
  Predicate predicate = compare.getPredicate();
  if (!arePositions(positions)) {
    std::swap(positions, bounds);
    predicate = swapped(predicate);
  }
  if (!arePositions(positions) || !bounds.dependsOnlyOn(PairsView::Batch))
    return std::nullopt;
  if (predicate == (mask.hides ? Predicate::GE : Predicate::LT))
    return KeyBound{bounds.getValue(), /*isLast=*/false};
  if (predicate == (mask.hides ? Predicate::GT : Predicate::LE))
    return KeyBound{bounds.getValue(), /*isLast=*/true};
  return std::nullopt;
}

// SPDX-License-Identifier: Apache-2.0

#include "passes/graph/attention/AttentionMatch.h"

#include "dialects/ingot/attention/PlainAttention.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/graph/attention/KnownValues.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>

using namespace mlir;
using namespace ingot;

/// Returns the value of a floating-point splat constant.
static std::optional<double> splatOf(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<APFloat>().convertToDouble();
}

/// Returns whether adding the value to a score, or replacing the score by it,
/// masks a key: it is far below every other score.
static bool hides(double value, Type element) {
  double lowest =
      APFloat::getLargest(cast<FloatType>(element).getFloatSemantics(), true)
          .convertToDouble();
  return value <= lowest / 2;
}

/// Returns whether f32 contains the type in which the elements are computed.
static bool isComputedInF32(Value value) {
  return computeElement(value).isF32();
}

/// Returns the weights with NaN replaced by 0, which exporters emit for fully
/// masked rows; null if the readers are something else.
static SelectOp guardAgainstNaN(Value weights) {
  SelectOp guard;
  for (Operation *user : weights.getUsers()) {
    auto compare = dyn_cast<CompareOp>(user);
    bool isTest = compare && compare.getPredicate() == Predicate::NE &&
                  compare.getLhs() == compare.getRhs() && compare->hasOneUse();
    if (isTest)
      user = *compare->user_begin();
    auto select = dyn_cast<SelectOp>(user);
    auto test =
        select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
    if (!test || test.getLhs() != weights || test.getRhs() != weights ||
        test.getPredicate() != Predicate::NE ||
        splatOf(select.getOnTrue()) != 0.0 || select.getOnFalse() != weights ||
        (guard && guard != select))
      return {};
    guard = select;
  }
  return guard;
}

/// Strips multiplications by and divisions by constants, which are accumulated
/// in `scale`.
static Value withoutScale(Value value, double &scale) {
  while (value.hasOneUse()) {
    if (auto mul = value.getDefiningOp<MulOp>()) {
      std::optional<double> right = splatOf(mul.getRhs());
      std::optional<double> left = splatOf(mul.getLhs());
      if (!right && !left)
        break;
      scale *= right ? *right : *left;
      value = right ? mul.getLhs() : mul.getRhs();
    } else if (auto div = value.getDefiningOp<DivOp>()) {
      std::optional<double> divisor = splatOf(div.getRhs());
      if (!divisor || *divisor == 0)
        break;
      scale /= *divisor;
      value = div.getLhs();
    } else {
      break;
    }
  }
  return value;
}

/// Returns whether the value depends on a parameter.
static bool dependsOnParameter(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (Operation *def = next.getDefiningOp()) {
      if (seen.insert(def).second)
        llvm::append_range(work, def->getOperands());
      continue;
    }
    auto argument = cast<BlockArgument>(next);
    auto func =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    auto symbol = func ? func.getArgAttrOfType<FlatSymbolRefAttr>(
                             argument.getArgNumber(), kStateAttr)
                       : FlatSymbolRefAttr();
    auto state =
        symbol ? SymbolTable::lookupNearestSymbolFrom<StateOp>(func, symbol)
               : StateOp();
    if (state && state.getRole() == Role::Parameter)
      return true;
  }
  return false;
}

void AttentionMatch::refuse(const Twine &why) {
  if (problem.empty())
    problem = why.str();
}

AttentionMatch::AttentionMatch(SoftmaxOp softmax) {
  RankedTensorType type = softmax.getType();
  int64_t rank = type.getRank();
  if ((rank != 3 && rank != 4) ||
      static_cast<int64_t>(softmax.getDim()) != rank - 1)
    return;
  matchScores(softmax.getOperand());
  if (!scores)
    return;
  matchWeights(softmax);
  if (!scores || !mixed)
    return;
  findShape(softmax);
  if (!isComputedInF32(scores.getLhs()))
    refuse("the kernel does not support the element type");
  bool mayBeEmpty = getSizes().window(bounds.left, bounds.right).fewest == 0 ||
                    !lengths.empty();
  for (const Term &term : terms) {
    mayBeEmpty |= term.kind != Term::Bias;
    if (term.kind == Term::Bias && dependsOnParameter(term.value))
      refuse(
          "the bias is trained, and its gradient is computed from the weights");
  }
  if (emptyRowsSeeAll && mayBeEmpty)
    refuse("a fully masked row results in the mean of all values");
}

//===----------------------------------------------------------------------===//
// From the softmax to the scores
//===----------------------------------------------------------------------===//

void AttentionMatch::matchScores(Value value) {
  bool hasOneReader = true;
  while (true) {
    hasOneReader &= value.hasOneUse();
    if (auto matmul = value.getDefiningOp<MatmulOp>()) {
      if (matmul.getTransposeLhs() || matmul.getType().getRank() < 3)
        return;
      scores = matmul;
      break;
    }
    if (!followScores(value))
      return;
  }
  if (!hasOneReader)
    refuse("the scores have another reader");
}

/// Returns whether a matmul is reached through arithmetic that may be applied
/// to scores.
static bool leadsToMatmul(Value value) {
  for (int depth = 0; depth < 16; ++depth) {
    Operation *def = value.getDefiningOp();
    if (!def)
      return false;
    if (isa<MatmulOp>(def))
      return true;
    if (auto select = dyn_cast<SelectOp>(def))
      value = splatOf(select.getOperand(1)) ? select.getOperand(2)
                                            : select.getOperand(1);
    else if (isa<MulOp, AddOp>(def))
      value = splatOf(def->getOperand(0)) || !leadsToMatmul(def->getOperand(0))
                  ? def->getOperand(1)
                  : def->getOperand(0);
    else if (isa<DivOp, ReshapeOp, CastOp>(def))
      value = def->getOperand(0);
    else
      return false;
  }
  return false;
}

/// Takes one step towards the matmul; returns false if there is none.
bool AttentionMatch::followScores(Value &value) {
  if (Value inner = withoutScale(value, scale); inner != value) {
    value = inner;
    return true;
  }
  // The kernel computes scores in f32, and does not round them.
  if (auto cast = value.getDefiningOp<CastOp>();
      cast && isComputedInF32(value) && isComputedInF32(cast.getOperand())) {
    value = cast.getOperand();
    return true;
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    ArrayRef<int64_t> from = tensorType(reshape.getOperand()).getShape();
    ArrayRef<int64_t> to = reshape.getType().getShape();
    if (from.size() < 3 || from.size() > 4 ||
        from.take_back(2) != to.take_back(2))
      return false;
    if (to.size() == 4)
      between.assign(to.begin(), to.end());
    value = reshape.getOperand();
    return true;
  }
  if (auto select = value.getDefiningOp<SelectOp>()) {
    std::optional<double> onTrue = splatOf(select.getOperand(1));
    std::optional<double> onFalse = splatOf(select.getOperand(2));
    if (!onTrue && !onFalse)
      return false;
    double fill = onTrue ? *onTrue : *onFalse;
    if (!hides(fill, tensorType(value).getElementType()))
      return false;
    addMask({onTrue ? Term::Hidden : Term::Allowed, select.getOperand(0)},
            std::isfinite(fill));
    value = select.getOperand(onTrue ? 2 : 1);
    return true;
  }
  if (auto add = value.getDefiningOp<AddOp>()) {
    bool isLeft = leadsToMatmul(add.getLhs());
    addBias(isLeft ? add.getRhs() : add.getLhs());
    value = isLeft ? add.getLhs() : add.getRhs();
    return true;
  }
  return false;
}

void AttentionMatch::addBias(Value value) {
  if (auto select = value.getDefiningOp<SelectOp>())
    if (addMaskOf(select))
      return;
  if (scale != 1)
    refuse("a bias is added before the scores are scaled");
  terms.push_back({Term::Bias, value});
}

/// Recognizes a bias of 0 and -infinity as a mask.
bool AttentionMatch::addMaskOf(SelectOp fills) {
  std::optional<double> onTrue = splatOf(fills.getOperand(1));
  std::optional<double> onFalse = splatOf(fills.getOperand(2));
  auto isMinusInfinity = [](std::optional<double> value) {
    return value && std::isinf(*value) && *value < 0;
  };
  if (onTrue == 0.0 && isMinusInfinity(onFalse))
    addMask({Term::Allowed, fills.getOperand(0)}, false);
  else if (onFalse == 0.0 && isMinusInfinity(onTrue))
    addMask({Term::Hidden, fills.getOperand(0)}, false);
  else
    return false;
  return true;
}

void AttentionMatch::addMask(Term term, bool fillIsFinite) {
  emptyRowsSeeAll |= fillIsFinite;
  if (scale <= 0)
    refuse("the scores change their sign after masking");
  SmallVector<PairsMask> parts;
  splitMask(term.asMask(), parts);
  for (const PairsMask &part : parts)
    terms.push_back({part.hides ? Term::Hidden : Term::Allowed, part.value});
}

//===----------------------------------------------------------------------===//
// From the softmax to the result
//===----------------------------------------------------------------------===//

/// Returns whether the condition is the only mask.
bool AttentionMatch::isOwnMask(Value condition) const {
  SmallVector<PairsMask> parts;
  splitMask({condition}, parts);
  auto isPart = [&](const Term &term) {
    return term.kind == Term::Bias ||
           llvm::any_of(parts, [&](const PairsMask &part) {
             return areEqual(part, term.asMask());
           });
  };
  auto isTerm = [&](const PairsMask &part) {
    return llvm::any_of(terms, [&](const Term &term) {
      return term.kind != Term::Bias && areEqual(part, term.asMask());
    });
  };
  return llvm::all_of(terms, isPart) && llvm::all_of(parts, isTerm);
}

void AttentionMatch::matchWeights(SoftmaxOp softmax) {
  Value weights = softmax.getResult();
  while (true) {
    // A fully masked row has the result 0.
    if (SelectOp guard = guardAgainstNaN(weights)) {
      weights = guard.getResult();
      continue;
    }
    Operation *other = nullptr;
    for (OpOperand &use : weights.getUses()) {
      auto matmul = dyn_cast<MatmulOp>(use.getOwner());
      bool isLhs =
          matmul && use.getOperandNumber() == 0 && !matmul.getTransposeLhs();
      if (isLhs && !mixed)
        mixed = matmul;
      else
        other = use.getOwner();
    }
    if (mixed && other)
      refuse("the weights are read by " + other->getName().getStringRef());
    if (mixed || !other)
      return;
    if (!weights.hasOneUse()) {
      // Without a matmul among the readers, it is not attention.
      scores = nullptr;
      return;
    }
    if (auto cast = dyn_cast<CastOp>(other);
        cast && isComputedInF32(cast.getResult())) {
      weights = cast.getResult();
      continue;
    }
    if (auto reshape = dyn_cast<ReshapeOp>(other)) {
      ArrayRef<int64_t> to = reshape.getType().getShape();
      if (to.size() < 3 || to.size() > 4 ||
          to.take_back(2) != tensorType(weights).getShape().take_back(2)) {
        scores = nullptr;
        return;
      }
      if (to.size() == 4)
        between.assign(to.begin(), to.end());
      weights = reshape.getResult();
      continue;
    }
    if (auto select = dyn_cast<SelectOp>(other);
        select && select.getOperand(1) == weights &&
        splatOf(select.getOperand(2)) == 0.0 &&
        isOwnMask(select.getOperand(0))) {
      emptyRowsSeeAll = false;
      weights = select.getResult();
      continue;
    }
    // Its random numbers depend on the row-major position, whatever the rank.
    if (auto drops = dyn_cast<DropoutOp>(other)) {
      if (dropout || !drops.getMask().use_empty())
        refuse(
            dropout
                ? "dropout is applied twice between the weights and the values"
                : "the dropout mask has other readers");
      dropout = drops;
      weights = drops.getResult();
      continue;
    }
    // If the only reader is another op, it need not be attention.
    scores = nullptr;
    return;
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Returns whether a term of the scores has their shape, or 1 in its place.
bool AttentionMatch::hasShapeOfScores(const Term &term) const {
  ArrayRef<int64_t> shape = tensorType(term.value).getShape();
  auto fits = [](int64_t size, int64_t whole) {
    return size == 1 || size == whole;
  };
  return shape.size() == 4 ? fits(shape[0], batch) && fits(shape[1], heads)
                           : shape.size() == 3 && fits(shape[0], batch * heads);
}

/// Batch and heads are taken from whichever tensor has both as separate
/// dimensions; masks that are windows become bounds.
void AttentionMatch::findShape(SoftmaxOp softmax) {
  SmallVector<Value> tensors = {softmax.getResult(), scores.getResult(),
                                mixed.getResult()};
  ArrayRef<int64_t> shape = tensorType(tensors.front()).getShape();
  for (Value tensor : tensors)
    if (tensorType(tensor).getRank() == 4) {
      shape = tensorType(tensor).getShape();
      break;
    }
  if (shape.size() != 4 && !between.empty())
    shape = between;
  batch = shape[0];
  heads = shape.size() == 4 ? shape[1] : 1;
  queries = tensorType(scores.getResult()).getShape().take_back(2)[0];
  keys = tensorType(scores.getResult()).getShape().back();

  llvm::erase_if(terms, [&](const Term &term) {
    return becomesWindow(term) || becomesLengths(term);
  });
  // Reshapes may split the heads from the batch in several ways.
  if (!llvm::all_of(terms, [&](const Term &t) { return hasShapeOfScores(t); }))
    refuse("a mask has another shape than the scores");
}

/// Intersects the bounds with a term that represents bounds.
bool AttentionMatch::becomesWindow(const Term &term) {
  Type element = tensorType(term.value).getElementType();
  bool fillIsFinite = false;
  std::optional<AttentionBounds> found = findMaskBounds(
      term.value, queries, keys, [&](double value) -> std::optional<bool> {
        if (term.kind == Term::Bias) {
          if (value != 0 && !hides(value, element))
            return std::nullopt;
          fillIsFinite |= value != 0 && std::isfinite(value);
          return value == 0;
        }
        return (value != 0) == (term.kind == Term::Allowed);
      });
  if (!found)
    return false;
  emptyRowsSeeAll |= fillIsFinite;
  bounds = intersect(bounds, *found);
  return true;
}

/// Represents a mask of the first keys of each sample by key sequence lengths.
bool AttentionMatch::becomesLengths(const Term &term) {
  std::optional<KeyBound> bound =
      term.kind == Term::Bias ? std::nullopt
                              : findKeyBound(term.asMask(), batch, heads);
  if (bound)
    lengths.push_back(*bound);
  return bound.has_value();
}

Type AttentionMatch::getElement() {
  return tensorType(scores.getLhs()).getElementType();
}

AttentionSizes AttentionMatch::getSizes() {
  return {batch,
          heads,
          heads,
          queries,
          keys,
          tensorType(scores.getLhs()).getShape().back(),
          tensorType(mixed.getResult()).getShape().back()};
}

/// Returns a mask or bias as [batch, heads, queries, keys], with size 1 for
/// dimensions along which it is broadcast.
Value AttentionMatch::normalize(OpBuilder &builder, Value pairs) const {
  Location loc = pairs.getLoc();
  pairs = emitUnrepeated(Arithmetic(builder, loc), pairs);
  SmallVector<int64_t> shape(tensorType(pairs).getShape());
  if (shape.size() == 3) {
    bool repeats = shape[0] == 1;
    shape = {repeats ? 1 : batch, repeats ? 1 : heads, shape[1], shape[2]};
    pairs = reshapeTo(builder, loc, pairs, shape);
  }
  if (shape.back() == keys)
    return pairs;
  shape.back() = keys;
  return broadcastTo(builder, loc, pairs, shape, {0, 1, 2, 3});
}

/// Transposes [batch, heads, rows, columns], or with heads merged into the
/// batch, to [batch, rows, heads, columns].
Value AttentionMatch::asRows(OpBuilder &builder, Value matrix,
                             bool isTransposed) const {
  Location loc = matrix.getLoc();
  SmallVector<int64_t> shape(tensorType(matrix).getShape());
  if (shape.size() == 3) {
    shape = {batch, heads, shape[1], shape[2]};
    matrix = reshapeTo(builder, loc, matrix, shape);
  }
  SmallVector<int64_t> permutation = {0, 2, 1, 3};
  if (isTransposed)
    permutation = {0, 3, 1, 2};
  SmallVector<int64_t> result;
  for (int64_t from : permutation)
    result.push_back(shape[from]);
  return builder.createOrFold<TransposeOp>(
      loc, RankedTensorType::get(result, tensorType(matrix).getElementType()),
      matrix, permutation);
}

/// Returns the key heads that rows [batch, rows, heads, columns] repeat for
/// several query heads; null if they do not.
static Value repeatedHeads(OpBuilder &builder, Value rows) {
  auto transpose = rows.getDefiningOp<TransposeOp>();
  Value source = transpose ? transpose.getOperand() : rows;
  auto reshape = source.getDefiningOp<ReshapeOp>();
  auto broadcast = reshape ? reshape.getOperand().getDefiningOp<BroadcastOp>()
                           : BroadcastOp();
  if (!transpose || !broadcast || broadcast.getType().getRank() != 5 ||
      broadcast.getDims() != ArrayRef<int64_t>{0, 1, 3, 4})
    return {};
  ArrayRef<int64_t> from = tensorType(broadcast.getOperand()).getShape();
  ArrayRef<int64_t> to = broadcast.getType().getShape();
  ArrayRef<int64_t> merged = reshape.getType().getShape();
  if (from != ArrayRef<int64_t>{to[0], to[1], to[3], to[4]} ||
      merged != ArrayRef<int64_t>{to[0], to[1] * to[2], to[3], to[4]})
    return {};
  SmallVector<int64_t> shape;
  for (int64_t dim : transpose.getPermutation())
    shape.push_back(from[dim]);
  return builder.createOrFold<TransposeOp>(
      rows.getLoc(),
      RankedTensorType::get(shape, tensorType(rows).getElementType()),
      broadcast.getOperand(), transpose.getPermutation());
}

AttentionOp AttentionMatch::rewrite(OpBuilder &builder) {
  builder.setInsertionPoint(mixed);
  Location loc = builder.getFusedLoc({scores.getLoc(), mixed.getLoc()});
  Arithmetic a(builder, loc);
  double factor = scale;
  Value q = asRows(builder, withoutScale(scores.getLhs(), factor), false);
  Value k = asRows(builder, withoutScale(scores.getRhs(), factor),
                   !scores.getTransposeRhs());
  Value v = asRows(builder, mixed.getRhs(), mixed.getTransposeRhs());
  Value keyHeads = repeatedHeads(builder, k);
  Value valueHeads = repeatedHeads(builder, v);
  if (keyHeads && valueHeads &&
      tensorType(keyHeads).getDimSize(2) ==
          tensorType(valueHeads).getDimSize(2)) {
    k = keyHeads;
    v = valueHeads;
  }

  auto combine = [&](ArrayRef<Value> values, auto merge) {
    Value result;
    for (Value value : values) {
      if (!result) {
        result = value;
        continue;
      }
      SmallVector<int64_t> shape = commonShape({result, value});
      result = merge(a.broadcast(result, shape, {0, 1, 2, 3}),
                     a.broadcast(value, shape, {0, 1, 2, 3}));
    }
    return result;
  };
  SmallVector<Value> allowed, added;
  for (const Term &term : terms) {
    Value pairs = normalize(builder, term.value);
    pairs = PairsMask{pairs, term.kind == Term::Hidden}.emitShown(builder);
    (term.kind == Term::Bias ? added : allowed).push_back(pairs);
  }
  Value mask =
      combine(allowed, [&](Value x, Value y) { return a.logicalAnd(x, y); });
  Value bias = combine(added, [&](Value x, Value y) { return a.add(x, y); });
  Value length;
  for (const KeyBound &bound : lengths) {
    Value each = bound.emitLengths(a, batch, keys);
    length = length ? a.min(length, each) : each;
  }

  // The kernel computes in f32, whatever it reads.
  Type element = mixed.getType().getElementType();
  Type f32 = builder.getF32Type();
  if (bias)
    bias = castTo(builder, loc, bias, f32);
  RankedTensorType vType = tensorType(v);
  auto type = RankedTensorType::get(
      {batch, queries, heads, vType.getDimSize(3)}, element);
  auto lse = RankedTensorType::get({batch, heads, queries}, f32);
  auto attention = AttentionOp::create(
      builder, loc, TypeRange{type, lse}, q, k, v, bias, mask, length,
      dropout ? dropout.getSeed() : Value(),
      dropout ? dropout.getStep() : Value(), builder.getF64FloatAttr(factor),
      builder.getI64IntegerAttr(bounds.left),
      builder.getI64IntegerAttr(bounds.right), builder.getF64FloatAttr(0),
      dropout ? dropout.getRatioAttr() : builder.getF64FloatAttr(0),
      dropout ? dropout.getStreamAttr() : builder.getI32IntegerAttr(0));
  Value result = TransposeOp::create(
      builder, loc,
      RankedTensorType::get({batch, heads, queries, vType.getDimSize(3)},
                            element),
      attention.getResult(), ArrayRef<int64_t>{0, 2, 1, 3});
  Value replacement =
      reshapeTo(builder, loc, result, mixed.getType().getShape());
  mixed->getResult(0).replaceAllUsesWith(replacement);
  return attention;
}

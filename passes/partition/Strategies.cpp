// SPDX-License-Identifier: Apache-2.0

#include "passes/partition/Strategies.h"

#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/TensorTypes.h"

using namespace mlir;
using namespace ingot;

bool Placement::operator==(const Placement &other) const {
  if (kind != other.kind)
    return false;
  if (kind == Split)
    return dim == other.dim && segments == other.segments && pad == other.pad;
  return kind == Whole || combination == other.combination;
}

double ingot::getExchangedBytes(double bytes, const Placement &from,
                                const Placement &to, int64_t parts) {
  // Taking a part of what all ranks have sends nothing.
  if (from == to || from.kind == Placement::Whole)
    return 0;
  double share = static_cast<double>(parts - 1) / static_cast<double>(parts);
  if (from.kind == Placement::Partial)
    return (to.kind == Placement::Split ? 1 : 2) * share * bytes;
  // Other segments are parts of the whole, which has to be there first.
  bool isGathered = to.kind == Placement::Whole || to.dim == from.dim ||
                    to.segments.size() > 1 || from.segments.size() > 1 ||
                    to.pad != 0 || from.pad != 0;
  if (!isGathered)
    return share * bytes / static_cast<double>(parts);
  return share * bytes + (to.kind == Placement::Split ? 1 : 0);
}

std::optional<SmallVector<int64_t>>
ingot::getBorders(ArrayRef<FactorRange> ranges, ArrayRef<int64_t> segments) {
  SmallVector<int64_t> borders;
  size_t next = 0;
  for (const FactorRange &range : ranges) {
    int64_t at = range.begin;
    while (at < range.end) {
      if (next == segments.size() || segments[next] % range.scale != 0)
        return std::nullopt;
      at += segments[next++] / range.scale;
      borders.push_back(at);
    }
    if (at != range.end)
      return std::nullopt;
  }
  return borders;
}

SmallVector<int64_t> ingot::addBorders(ArrayRef<int64_t> segments,
                                       ArrayRef<int64_t> further) {
  SmallVector<int64_t> borders(further), merged;
  int64_t at = 0;
  borders.push_back(0);
  for (int64_t size : segments)
    borders.push_back(at += size);
  llvm::sort(borders);
  borders.erase(llvm::unique(borders), borders.end());
  for (size_t i = 1; i < borders.size(); ++i)
    merged.push_back(borders[i] - borders[i - 1]);
  return merged;
}

/// Returns whether all dimensions of a factor can have the same padding, and
/// nothing can be made of it.
static bool canPad(Operation *op, const Factor &factor) {
  if (factor.hasRanges())
    return false;
  auto isFactor = [&](Value value, int64_t dim) {
    if (dim < 0)
      return true;
    bool hasNeutral = factor.kind == Factor::Free ||
                      factor.kind == Factor::Sum ||
                      isa<FloatType>(tensorType(value).getElementType());
    return hasNeutral && tensorType(value).getDimSize(dim) == factor.size;
  };
  return llvm::all_of(llvm::zip_equal(op->getOperands(), factor.operandDims),
                      [&](auto pair) {
                        return isFactor(std::get<0>(pair), std::get<1>(pair));
                      }) &&
         llvm::all_of(llvm::zip_equal(op->getResults(), factor.resultDims),
                      [&](auto pair) {
                        return isFactor(std::get<0>(pair), std::get<1>(pair));
                      });
}

std::optional<Strategy> ingot::getFactorStrategy(Operation *op,
                                                 const Factor &factor,
                                                 ArrayRef<Placement> placed,
                                                 int64_t parts,
                                                 const Placement *want) {
  // Ranks do not exchange products.
  if (factor.size == 0 || factor.kind == Factor::Prod)
    return std::nullopt;
  SmallVector<int64_t> segments = factor.getSegments(op);
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
    if (placed[i].kind != Placement::Split || factor.operandDims[i] < 0 ||
        placed[i].dim != factor.operandDims[i])
      continue;
    if (auto borders =
            getBorders(factor.getOperandRanges(op, i), placed[i].segments))
      segments = addBorders(segments, *borders);
  }
  if (want && want->kind == Placement::Split &&
      want->dim == factor.resultDims.front())
    if (auto borders =
            getBorders(factor.getResultRanges(op, 0), want->segments))
      segments = addBorders(segments, *borders);
  int64_t pad = want && want->dim == factor.resultDims.front() ? want->pad : 0;
  for (auto [placement, dim] : llvm::zip_equal(placed, factor.operandDims))
    if (placement.kind == Placement::Split && placement.dim == dim)
      pad = std::max(pad, placement.pad);
  if (factor.isContiguous && segments.size() > 1)
    return std::nullopt;
  if (pad != 0 && !canPad(op, factor))
    return std::nullopt;
  for (int64_t size : segments)
    if ((size + pad) % parts != 0)
      return std::nullopt;
  Strategy strategy{Strategy::InParts, factor};
  strategy.factor.pad = pad;
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
    int64_t dim = factor.operandDims[i];
    strategy.operands.push_back(
        dim < 0
            ? Placement()
            : Placement::split(
                  dim, getDimSegments(factor.getOperandRanges(op, i), segments),
                  pad));
  }
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i) {
    int64_t dim = factor.resultDims[i];
    if (dim >= 0)
      strategy.results.push_back(Placement::split(
          dim, getDimSegments(factor.getResultRanges(op, i), segments), pad));
    else if (factor.kind == Factor::Free)
      return std::nullopt;
    else
      strategy.results.push_back(Placement::partial(factor.kind));
  }
  return strategy;
}

/// Returns whether the op can take terms: `partial` operands are sums over the
/// axis. A sum over another axis is one, too; for those that know one axis
/// only, such a sum is where terms end.
static bool takesTerms(Operation *op, const llvm::SmallBitVector &partial) {
  if (auto sum = dyn_cast<AllReduceOp>(op))
    return sum.getKind() == ReductionKind::Sum;
  return keepsPartialSums(op, partial);
}

std::optional<Strategy>
ingot::getTermsStrategy(Operation *op, const llvm::SmallBitVector &partial) {
  if (partial.none() || !takesTerms(op, partial))
    return std::nullopt;
  Strategy strategy{Strategy::OnTerms};
  strategy.operands.resize(op->getNumOperands());
  for (unsigned i : partial.set_bits())
    strategy.operands[i] = Placement::partial(Factor::Sum);
  strategy.results.assign(op->getNumResults(), Placement::partial(Factor::Sum));
  return strategy;
}

SmallVector<Strategy, 0>
ingot::getStrategies(Operation *op, ArrayRef<Placement> placed, int64_t parts) {
  SmallVector<Strategy, 0> strategies;
  auto add = [&](Strategy strategy) {
    for (auto [i, want] : llvm::enumerate(strategy.operands))
      strategy.bytes += getExchangedBytes(
          static_cast<double>(byteSize(tensorType(op->getOperand(i)))),
          placed[i], want, parts);
    strategies.push_back(std::move(strategy));
  };
  if (op->getNumRegions() == 0)
    for (const Factor &factor : getFactors(op)) {
      bool isSplit = false;
      for (auto [placement, dim] : llvm::zip_equal(placed, factor.operandDims))
        isSplit |= placement.kind == Placement::Split && placement.dim == dim;
      if (!isSplit)
        continue;
      if (auto strategy = getFactorStrategy(op, factor, placed, parts))
        add(std::move(*strategy));
    }
  llvm::SmallBitVector partial(op->getNumOperands());
  for (auto [i, placement] : llvm::enumerate(placed))
    if (placement == Placement::partial(Factor::Sum))
      partial.set(static_cast<unsigned>(i));
  if (auto strategy = getTermsStrategy(op, partial))
    add(std::move(*strategy));
  Strategy whole;
  whole.operands.resize(op->getNumOperands());
  whole.results.resize(op->getNumResults());
  add(std::move(whole));
  return strategies;
}

Strategy ingot::chooseStrategy(
    Operation *op, ArrayRef<Placement> placed, int64_t parts,
    function_ref<bool(unsigned operand, const Placement &)> isThere) {
  SmallVector<Strategy, 0> strategies = getStrategies(op, placed, parts);
  auto getBytes = [](Value value) {
    return static_cast<double>(byteSize(tensorType(value)));
  };
  for (Strategy &strategy : strategies) {
    for (auto [i, want] : llvm::enumerate(strategy.operands))
      if (isThere(static_cast<unsigned>(i), want))
        strategy.bytes -= getExchangedBytes(
            getBytes(op->getOperand(static_cast<unsigned>(i))), placed[i], want,
            parts);
    // Terms have to be added up at some time, in parts at best.
    if (strategy.kind == Strategy::InParts)
      for (auto [result, placement] :
           llvm::zip_equal(op->getResults(), strategy.results))
        if (placement.kind == Placement::Partial)
          strategy.bytes += getExchangedBytes(getBytes(result), placement,
                                              Placement::split(0, {}), parts);
  }
  bool isShared = false;
  for (auto [operand, placement] : llvm::zip_equal(op->getOperands(), placed))
    isShared |= placement.kind == Placement::Partial &&
                llvm::any_of(operand.getUsers(),
                             [&](Operation *user) { return user != op; });
  // What a contraction computes costs more than what it reads.
  bool isSplit =
      isContraction(op) && strategies.front().kind == Strategy::InParts;
  const Strategy *best = nullptr;
  for (const Strategy &strategy : strategies)
    if (!(isSplit && strategy.kind != Strategy::InParts) &&
        !(isShared && strategy.kind == Strategy::OnTerms) &&
        (!best || strategy.bytes < best->bytes))
      best = &strategy;
  return *best;
}

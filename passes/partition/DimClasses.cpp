// SPDX-License-Identifier: Apache-2.0

#include "passes/partition/DimClasses.h"

#include "dialects/ingot/ir/TensorTypes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ingot;

std::optional<int64_t> DimClasses::Class::getPad(int64_t parts) const {
  llvm::SmallDenseSet<Value> seen;
  bool isEqual = true;
  for (auto &[argument, placement] : arguments) {
    if (!seen.insert(argument).second ||
        (isContiguous && placement.segments.size() > 1))
      return std::nullopt;
    for (int64_t size : placement.segments)
      isEqual &= size % parts == 0;
  }
  if (isEqual)
    return 0;
  // Padding is behind all elements, and as long in each dimension.
  int64_t size = arguments.front().second.segments.front();
  for (auto &[argument, placement] : arguments)
    if (placement.segments.size() > 1 || placement.segments.front() != size)
      return std::nullopt;
  return size < parts ? std::nullopt
                      : std::optional<int64_t>(parts - size % parts);
}

std::optional<unsigned> DimClasses::getClass(Value value, int64_t dim) const {
  auto found = first.find(value);
  if (found == first.end())
    return std::nullopt;
  unsigned number = found->second + static_cast<unsigned>(dim);
  if (!ofArguments.test(number))
    return std::nullopt;
  return joined.findLeader(number);
}

unsigned DimClasses::getNumber(Value value, int64_t dim) {
  auto [found, isNew] = first.try_emplace(value, segments.size());
  if (isNew)
    for (int64_t size : tensorType(value).getShape())
      segments.push_back({size});
  return found->second + static_cast<unsigned>(dim);
}

/// Visits the ranges and the number of each dimension that has the factor and
/// comes from arguments.
template <typename Visit>
void DimClasses::forEachDim(Operation *op, const Factor &factor, Visit visit) {
  auto visitDim = [&](ArrayRef<FactorRange> ranges, unsigned number) {
    if (ofArguments.test(number))
      visit(ranges, number);
  };
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    if (factor.operandDims[i] >= 0)
      visitDim(factor.getOperandRanges(op, i),
               getNumber(op->getOperand(i), factor.operandDims[i]));
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    if (factor.resultDims[i] >= 0)
      visitDim(factor.getResultRanges(op, i),
               getNumber(op->getResult(i), factor.resultDims[i]));
}

/// Gives all dimensions of a factor the segments of each. Returns whether one
/// had others.
bool DimClasses::refine(Operation *op, const Factor &factor) {
  SmallVector<int64_t> common = factor.getSegments(op);
  forEachDim(op, factor, [&](ArrayRef<FactorRange> ranges, unsigned number) {
    if (auto borders = getBorders(ranges, segments[number]))
      common = addBorders(common, *borders);
  });
  bool hasChanged = false;
  forEachDim(op, factor, [&](ArrayRef<FactorRange> ranges, unsigned number) {
    SmallVector<int64_t> own = getDimSegments(ranges, common);
    // Segments only become more, so that this ends.
    if (own.size() <= segments[number].size())
      return;
    segments[number] = std::move(own);
    hasChanged = true;
  });
  return hasChanged;
}

DimClasses::DimClasses(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    getNumber(argument, 0);
  SmallVector<std::pair<Operation *, Factor>, 0> factors;
  for (Operation &op : block.without_terminator()) {
    for (Value result : op.getResults())
      getNumber(result, 0);
    if (op.getNumRegions() == 0)
      for (Factor &factor : getFactors(&op))
        if (factor.size > 0 && factor.kind != Factor::Prod)
          factors.emplace_back(&op, std::move(factor));
  }
  joined.grow(segments.size());
  ofArguments.resize(segments.size());
  for (BlockArgument argument : block.getArguments())
    for (int64_t dim = 0, e = tensorType(argument).getRank(); dim < e; ++dim)
      ofArguments.set(getNumber(argument, dim));
  llvm::BitVector contiguous(segments.size());
  for (auto &[op, factor] : factors) {
    std::optional<unsigned> leader;
    forEachDim(op, factor, [&](ArrayRef<FactorRange>, unsigned number) {
      leader = number;
    });
    if (!leader)
      continue;
    for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
      if (factor.resultDims[i] >= 0)
        ofArguments.set(getNumber(op->getResult(i), factor.resultDims[i]));
    forEachDim(op, factor, [&](ArrayRef<FactorRange>, unsigned number) {
      joined.join(*leader, number);
    });
    if (factor.isContiguous)
      contiguous.set(*leader);
  }
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (auto &[op, factor] : factors)
      hasChanged |= refine(op, factor);
  }
  llvm::MapVector<unsigned, Class> found;
  for (BlockArgument argument : block.getArguments())
    for (int64_t dim = 0, e = tensorType(argument).getRank(); dim < e; ++dim) {
      unsigned number = getNumber(argument, dim);
      found[joined.findLeader(number)].arguments.emplace_back(
          argument, Placement::split(dim, segments[number]));
    }
  for (unsigned number : contiguous.set_bits())
    if (auto own = found.find(joined.findLeader(number)); own != found.end())
      own->second.isContiguous = true;
  for (auto &[leader, own] : found)
    classes.push_back(std::move(own));
}

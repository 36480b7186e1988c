// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Factors of any op, what their dimensions consist of, and ops on parts.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/partition/PartitionModels.h"
#include <limits>

using namespace mlir;
using namespace ingot;

#include "dialects/ingot/partition/Partitionable.cpp.inc"

//===----------------------------------------------------------------------===//
// Ranges and segments
//===----------------------------------------------------------------------===//

static std::vector<FactorRange>
getRanges(const Factor &factor, ArrayRef<std::vector<FactorRange>> all,
          unsigned index, Value value, int64_t dim) {
  if (index < all.size() && !all[index].empty())
    return all[index];
  int64_t size = tensorType(value).getDimSize(dim);
  return {{0, factor.size, factor.size == 0 ? 1 : size / factor.size}};
}

std::vector<FactorRange> Factor::getOperandRanges(Operation *op,
                                                  unsigned operand) const {
  return getRanges(*this, operandRanges, operand, op->getOperand(operand),
                   operandDims[operand]);
}

std::vector<FactorRange> Factor::getResultRanges(Operation *op,
                                                 unsigned result) const {
  return getRanges(*this, resultRanges, result, op->getResult(result),
                   resultDims[result]);
}

SmallVector<int64_t> Factor::getSegments(Operation *op) const {
  SmallVector<int64_t> borders = {0, size};
  auto addBorders = [&](ArrayRef<FactorRange> ranges) {
    for (const FactorRange &range : ranges)
      borders.append({range.begin, range.end});
  };
  if (hasRanges()) {
    for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
      if (operandDims[i] >= 0)
        addBorders(getOperandRanges(op, i));
    for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
      if (resultDims[i] >= 0)
        addBorders(getResultRanges(op, i));
  }
  llvm::sort(borders);
  borders.erase(llvm::unique(borders), borders.end());
  SmallVector<int64_t> segments;
  for (size_t i = 1; i < borders.size(); ++i)
    segments.push_back(borders[i] - borders[i - 1]);
  return segments;
}

SmallVector<int64_t> ingot::getDimSegments(ArrayRef<FactorRange> ranges,
                                           ArrayRef<int64_t> factorSegments) {
  SmallVector<int64_t> segments;
  for (const FactorRange &range : ranges) {
    int64_t at = 0;
    for (int64_t size : factorSegments) {
      if (at >= range.begin && at < range.end)
        segments.push_back(size * range.scale);
      at += size;
    }
  }
  return segments;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Returns the factors of a reduction that stay in its results.
static SmallVector<Factor> getKeptFactors(Reduction reduction) {
  SmallVector<Factor> factors;
  RankedTensorType type = tensorType(reduction->getOperand(0));
  int64_t kept = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(reduction.getReducedDims(), dim))
      factors.push_back(
          {Factor::Free,
           type.getDimSize(dim),
           {dim},
           SmallVector<int64_t>(reduction->getNumResults(), kept++)});
  return factors;
}

SmallVector<Factor> ingot::getDefaultFactors(Operation *op) {
  if (auto reduction = dyn_cast<Reduction>(op))
    return op->getNumOperands() == 1 ? getKeptFactors(reduction)
                                     : SmallVector<Factor>();
  auto body = dyn_cast<ScalarBody>(op);
  // The elements of an op without operands may depend on their position.
  if (!body || op->getNumOperands() == 0 || op->getNumResults() == 0)
    return {};
  SmallVector<SmallVector<int64_t>> reads;
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
    std::optional<SmallVector<int64_t>> dims = body.getReadDims(i);
    if (!dims)
      return {};
    reads.push_back(std::move(*dims));
  }
  RankedTensorType type = tensorType(op->getResult(0));
  SmallVector<Factor> factors;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Factor factor{Factor::Free,
                  type.getDimSize(dim),
                  {},
                  SmallVector<int64_t>(op->getNumResults(), dim)};
    bool isOnce = true;
    for (ArrayRef<int64_t> dims : reads) {
      isOnce &= llvm::count(dims, dim) <= 1;
      const int64_t *found = llvm::find(dims, dim);
      factor.operandDims.push_back(
          found == dims.end() ? -1 : std::distance(dims.begin(), found));
    }
    if (isOnce)
      factors.push_back(std::move(factor));
  }
  return factors;
}

SmallVector<Factor> ingot::getFactors(Operation *op) {
  if (auto partitionable = dyn_cast<Partitionable>(op))
    return partitionable.getFactors();
  return getDefaultFactors(op);
}

bool ingot::isContraction(Operation *op) {
  return llvm::any_of(getFactors(op), [&](const Factor &factor) {
    if (factor.kind != Factor::Sum)
      return false;
    // Indices are not multiplied.
    int64_t multiplied = 0;
    for (auto [operand, dim] :
         llvm::zip_equal(op->getOperands(), factor.operandDims))
      multiplied +=
          dim >= 0 && isa<FloatType>(tensorType(operand).getElementType());
    return multiplied > 1;
  });
}

FactorBuilder &FactorBuilder::add(Factor::Kind kind, int64_t size) {
  factors.push_back({kind, size, SmallVector<int64_t>(op->getNumOperands(), -1),
                     SmallVector<int64_t>(op->getNumResults(), -1)});
  return *this;
}

FactorBuilder &FactorBuilder::operand(unsigned number, int64_t dim) {
  factors.back().operandDims[number] = dim;
  return *this;
}

FactorBuilder &FactorBuilder::result(unsigned number, int64_t dim) {
  factors.back().resultDims[number] = dim;
  return *this;
}

FactorBuilder &FactorBuilder::ranges(unsigned operand,
                                     ArrayRef<FactorRange> operandRanges) {
  factors.back().operandRanges.resize(op->getNumOperands());
  llvm::append_range(factors.back().operandRanges[operand], operandRanges);
  return *this;
}

FactorBuilder &FactorBuilder::resultRanges(unsigned result,
                                           ArrayRef<FactorRange> ranges) {
  factors.back().resultRanges.resize(op->getNumResults());
  llvm::append_range(factors.back().resultRanges[result], ranges);
  return *this;
}

FactorBuilder &FactorBuilder::contiguous() {
  factors.back().isContiguous = true;
  return *this;
}

//===----------------------------------------------------------------------===//
// Ops on parts
//===----------------------------------------------------------------------===//

SmallVector<Value> ingot::clonePart(OpBuilder &builder, Operation *op,
                                    const Factor &factor, int64_t parts,
                                    ValueRange operands) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  for (auto [result, dim] :
       llvm::zip_equal(copy->getResults(), factor.resultDims)) {
    if (dim < 0)
      continue;
    RankedTensorType type = tensorType(result);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = (shape[dim] + factor.pad) / parts;
    result.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  if (auto partitionable = dyn_cast<Partitionable>(copy))
    partitionable.setFactorSize(factor, factor.getPartSize(parts));
  return SmallVector<Value>(copy->getResults());
}

/// Returns an operand that has the value that changes nothing where its factor
/// is padded.
static Value maskPadding(OpBuilder &builder, Value operand, int64_t dim,
                         const Factor &factor, Value number) {
  Arithmetic a(builder, operand.getLoc());
  RankedTensorType type = tensorType(operand);
  RankedTensorType indices = withElement(type, builder.getI64Type());
  Value first =
      getFirstOfPart(builder, operand.getLoc(), number, type.getDimSize(dim));
  Value at = a.add(a.iota(indices, dim), a.fill(first, type.getShape()));
  double infinity = std::numeric_limits<double>::infinity();
  double neutral = factor.kind == Factor::Max   ? -infinity
                   : factor.kind == Factor::Min ? infinity
                                                : 0;
  return a.select(
      a.compare(Predicate::LT, at, static_cast<double>(factor.size)), operand,
      neutral);
}

SmallVector<Value> ingot::buildPart(OpBuilder &builder, Operation *op,
                                    const Factor &factor, int64_t parts,
                                    ValueRange operands, Value number) {
  SmallVector<Value> masked(operands);
  // Nothing is looked up in padding.
  if (factor.pad != 0 && factor.kind != Factor::Free && !factor.isContiguous)
    for (auto [operand, dim] : llvm::zip_equal(masked, factor.operandDims))
      if (dim >= 0)
        operand = maskPadding(builder, operand, dim, factor, number);
  if (auto partitionable = dyn_cast<Partitionable>(op))
    return partitionable.buildPart(builder, factor, parts, masked, number);
  return clonePart(builder, op, factor, parts, masked);
}

bool ingot::keepsPartialSums(Operation *op,
                             const llvm::SmallBitVector &partial) {
  auto partitionable = dyn_cast<Partitionable>(op);
  return partitionable && partitionable.keepsPartialSums(partial);
}

Value ingot::getFirstOfPart(OpBuilder &builder, Location loc, Value number,
                            int64_t size) {
  return MulOp::create(
      builder, loc, number.getType(), number,
      splat(builder, loc, tensorType(number), static_cast<double>(size)));
}

// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the ops of all families are computed in parts, and what is linear in sums
// over ranks.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Extensions.h"
#include "dialects/ingot/partition/PartitionModels.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace ingot;

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {

/// Returns the factors of the dimensions that are the same in an operand and a
/// result, each of those that `isFree` is true for.
template <typename IsFree>
SmallVector<Factor> getFreeDims(RankedTensorType type, IsFree isFree) {
  SmallVector<Factor> factors;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (isFree(dim))
      factors.push_back({Factor::Free, type.getDimSize(dim), {dim}, {dim}});
  return factors;
}

struct MatmulModel : PartitionModel<MatmulOp, MatmulModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto matmul = cast<MatmulOp>(op);
    RankedTensorType type = tensorType(matmul.getResult());
    MatmulOp::Sizes sizes = matmul.getSizes();
    int64_t rows = type.getRank() - 2, columns = rows + 1;
    bool left = matmul.getTransposeLhs(), right = matmul.getTransposeRhs();
    SmallVector<Factor> factors;
    for (int64_t dim = 0; dim < rows; ++dim)
      factors.push_back(
          {Factor::Free, type.getDimSize(dim), {dim, dim}, {dim}});
    factors.push_back(
        {Factor::Free, sizes.m, {left ? columns : rows, -1}, {rows}});
    factors.push_back(
        {Factor::Free, sizes.n, {-1, right ? rows : columns}, {columns}});
    factors.push_back({Factor::Sum,
                       sizes.k,
                       {left ? rows : columns, right ? columns : rows},
                       {-1}});
    return factors;
  }
};

/// Parts cut no block of elements that have one scale, and no vector of
/// instructions for 8-bit floats.
struct ScaledMatmulModel : PartitionModel<ScaledMatmulOp, ScaledMatmulModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto matmul = cast<ScaledMatmulOp>(op);
    MatmulOp::Sizes sizes = matmul.getSizes();
    int64_t left = matmul.getTransposeLhs() ? 1 : 0,
            right = matmul.getTransposeRhs() ? 1 : 0;
    Scales lhs = getScales(matmul.getLhsLayout()),
           rhs = getScales(matmul.getRhsLayout());
    FactorBuilder factors(op);
    auto add = [&](Factor::Kind kind, int64_t size, int64_t unit) {
      if (size % unit != 0)
        return false;
      factors.add(kind, size / unit);
      return true;
    };
    if (add(Factor::Free, sizes.m, lhs.rowUnit))
      factors.operand(0, left).operand(2, lhs.rowDim).result(0, 0);
    if (add(Factor::Free, sizes.n, rhs.rowUnit))
      factors.operand(1, 1 - right).operand(3, rhs.rowDim).result(0, 1);
    if (add(Factor::Sum, sizes.k, std::max(lhs.innerUnit, rhs.innerUnit)))
      factors.operand(0, 1 - left)
          .operand(1, right)
          .operand(2, lhs.innerDim)
          .operand(3, rhs.innerDim);
    return factors.take();
  }

private:
  /// The dimensions of scales that are those of rows and of the contracted
  /// elements, and the elements that a part has a multiple of.
  struct Scales {
    int64_t rowDim, innerDim, rowUnit, innerUnit;
  };

  static Scales getScales(ScaleLayout layout) {
    constexpr int64_t vector = 16, block = 128, blocks = 4;
    switch (layout) {
    case ScaleLayout::Tensor:
      return {-1, -1, vector, vector};
    case ScaleLayout::Runs:
      return {1, 0, vector, block};
    case ScaleLayout::Squares:
      return {0, 1, block, blocks * block};
    case ScaleLayout::Tiles:
      return {0, 1, block, block};
    }
    llvm_unreachable("unknown layout of scales");
  }
};

struct ReduceModel : PartitionModel<ReduceOp, ReduceModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto reduce = cast<ReduceOp>(op);
    RankedTensorType type = tensorType(reduce.getOperand());
    SmallVector<Factor> factors = getDefaultFactors(op);
    for (int64_t dim : reduce.getDims())
      factors.push_back(
          {getKind(reduce.getKind()), type.getDimSize(dim), {dim}, {-1}});
    return factors;
  }

  bool keepsPartialSums(Operation *op, const llvm::SmallBitVector &) const {
    return cast<ReduceOp>(op).getKind() == ReductionKind::Sum;
  }

private:
  static Factor::Kind getKind(ReductionKind kind) {
    switch (kind) {
    case ReductionKind::Sum:
      return Factor::Sum;
    case ReductionKind::Prod:
      return Factor::Prod;
    case ReductionKind::Max:
      return Factor::Max;
    case ReductionKind::Min:
      return Factor::Min;
    }
    llvm_unreachable("unknown kind of reduction");
  }
};

struct ArgMaxModel : PartitionModel<ArgMaxOp, ArgMaxModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto argmax = cast<ArgMaxOp>(op);
    RankedTensorType type = tensorType(argmax.getOperand());
    auto reduced = static_cast<int64_t>(argmax.getDim());
    SmallVector<Factor> factors;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != reduced)
        factors.push_back({Factor::Free,
                           type.getDimSize(dim),
                           {dim},
                           {dim < reduced ? dim : dim - 1}});
    return factors;
  }
};

/// The first dimensions of groups of dimensions with the same elements, without
/// those of size 1.
struct ReshapeModel : PartitionModel<ReshapeOp, ReshapeModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    ArrayRef<int64_t> from = tensorType(op->getOperand(0)).getShape();
    ArrayRef<int64_t> to = tensorType(op->getResult(0)).getShape();
    SmallVector<Factor> factors;
    if (llvm::is_contained(from, 0))
      return factors;
    size_t i = 0, j = 0;
    while (skipOnes(from, i) && skipOnes(to, j)) {
      int64_t size = std::gcd(from[i], to[j]);
      if (size > 1)
        factors.push_back({Factor::Free,
                           size,
                           {static_cast<int64_t>(i)},
                           {static_cast<int64_t>(j)}});
      int64_t left = from[i++], right = to[j++];
      while (left != right)
        if (left < right)
          left *= from[i++];
        else
          right *= to[j++];
    }
    return factors;
  }

  bool keepsPartialSums(Operation *, const llvm::SmallBitVector &) const {
    return true;
  }

private:
  static bool skipOnes(ArrayRef<int64_t> shape, size_t &at) {
    while (at < shape.size() && shape[at] == 1)
      ++at;
    return at < shape.size();
  }
};

/// A slice of some segments has parts of these.
struct SliceModel : PartitionModel<SliceOp, SliceModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto slice = cast<SliceOp>(op);
    RankedTensorType type = tensorType(slice.getOperand());
    FactorBuilder factors(op);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = type.getDimSize(dim), first = slice.getStarts()[dim],
              limit = slice.getLimits()[dim];
      if (slice.getStrides()[dim] != 1 || first >= limit)
        continue;
      factors.add(Factor::Free, size).operand(0, dim).result(0, dim);
      if (limit - first != size)
        factors.resultRanges(0, {{first, limit, 1}});
    }
    return factors.take();
  }
  void setFactorSize(Operation *op, const Factor &factor, int64_t size) const {
    auto slice = cast<SliceOp>(op);
    int64_t dim = factor.operandDims.front(), parts = factor.size / size;
    SmallVector<int64_t> starts(slice.getStarts()), limits(slice.getLimits());
    starts[dim] /= parts;
    limits[dim] = factor.hasRanges() ? limits[dim] / parts : size;
    slice.setStarts(starts);
    slice.setLimits(limits);
  }
};

/// The margins around the operand are segments of the result.
struct PadModel : PartitionModel<PadOp, PadModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto pad = cast<PadOp>(op);
    RankedTensorType type = tensorType(pad.getResult());
    FactorBuilder factors(op);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = type.getDimSize(dim), low = pad.getLow()[dim],
              end = size - pad.getHigh()[dim];
      if (pad.getInterior()[dim] != 0 || low >= end)
        continue;
      factors.add(Factor::Free, size).operand(0, dim).result(0, dim);
      if (end - low != size)
        factors.ranges(0, {{low, end, 1}});
    }
    return factors.take();
  }
  void setFactorSize(Operation *op, const Factor &factor, int64_t size) const {
    auto pad = cast<PadOp>(op);
    int64_t dim = factor.operandDims.front(), parts = factor.size / size;
    SmallVector<int64_t> low(pad.getLow()), high(pad.getHigh());
    low[dim] /= parts;
    high[dim] /= parts;
    pad.setLow(low);
    pad.setHigh(high);
  }
};

/// The operands are segments of the result.
struct ConcatModel : PartitionModel<ConcatOp, ConcatModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto joined = static_cast<int64_t>(cast<ConcatOp>(op).getDim());
    RankedTensorType type = tensorType(op->getResult(0));
    FactorBuilder factors(op);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      factors.add(Factor::Free, type.getDimSize(dim)).result(0, dim);
      int64_t first = 0;
      for (OpOperand &operand : op->getOpOperands()) {
        unsigned number = operand.getOperandNumber();
        factors.operand(number, dim);
        if (dim != joined)
          continue;
        int64_t size = tensorType(operand.get()).getDimSize(dim);
        factors.ranges(number, {{first, first + size, 1}});
        first += size;
      }
    }
    return factors.take();
  }
};

/// The dimensions whose order stays.
struct ReverseModel : PartitionModel<ReverseOp, ReverseModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    return getFreeDims(tensorType(op->getResult(0)), [&](int64_t dim) {
      return !llvm::is_contained(cast<ReverseOp>(op).getDims(), dim);
    });
  }
};

/// Over other axes, each element is by itself.
struct AllReduceModel : PartitionModel<AllReduceOp, AllReduceModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    return getFreeDims(tensorType(op->getResult(0)),
                       [](int64_t) { return true; });
  }
};

//===----------------------------------------------------------------------===//
// Sums over ranks: what is linear in them
//===----------------------------------------------------------------------===//

/// Ops whose operands are all sums.
template <typename Op>
struct LinearModel : PartitionModel<Op, LinearModel<Op>> {
  bool keepsPartialSums(Operation *,
                        const llvm::SmallBitVector &partial) const {
    return partial.all();
  }
};

struct MulModel : PartitionModel<MulOp, MulModel> {
  bool keepsPartialSums(Operation *,
                        const llvm::SmallBitVector &partial) const {
    return partial.count() == 1;
  }
};

struct DivModel : PartitionModel<DivOp, DivModel> {
  bool keepsPartialSums(Operation *op,
                        const llvm::SmallBitVector &partial) const {
    return isa<FloatType>(tensorType(op->getResult(0)).getElementType()) &&
           partial.test(0) && !partial.test(1);
  }
};

/// Either a sum or zero on all ranks.
struct SelectModel : PartitionModel<SelectOp, SelectModel> {
  bool keepsPartialSums(Operation *op,
                        const llvm::SmallBitVector &partial) const {
    auto isLinear = [&](unsigned operand) {
      return partial.test(operand) ||
             matchPattern(op->getOperand(operand), m_AnyZeroFloat());
    };
    return !partial.test(0) && partial.any() && isLinear(1) && isLinear(2);
  }
};

/// Narrower types would round what each rank has.
struct CastModel : PartitionModel<CastOp, CastModel> {
  bool keepsPartialSums(Operation *op,
                        const llvm::SmallBitVector &partial) const {
    auto from =
        dyn_cast<FloatType>(tensorType(op->getOperand(0)).getElementType());
    auto to =
        dyn_cast<FloatType>(tensorType(op->getResult(0)).getElementType());
    return partial.all() && from && to && from.getWidth() >= 32 &&
           to.getWidth() > from.getWidth();
  }
};

} // namespace

void ingot::attachPartitions(MLIRContext &context) {
  attachPositionPartitions(context);
  attachLookupPartitions(context);
  attachNormalizationPartitions(context);
  attachWindowPartitions(context);
  attachAttentionPartitions(context);
  MatmulOp::attachInterface<MatmulModel>(context);
  ScaledMatmulOp::attachInterface<ScaledMatmulModel>(context);
  ReduceOp::attachInterface<ReduceModel>(context);
  ArgMaxOp::attachInterface<ArgMaxModel>(context);
  ReshapeOp::attachInterface<ReshapeModel>(context);
  ConcatOp::attachInterface<ConcatModel>(context);
  ReverseOp::attachInterface<ReverseModel>(context);
  SliceOp::attachInterface<SliceModel>(context);
  PadOp::attachInterface<PadModel>(context);
  AllReduceOp::attachInterface<AllReduceModel>(context);
  TransposeOp::attachInterface<LinearModel<TransposeOp>>(context);
  NegOp::attachInterface<LinearModel<NegOp>>(context);
  AddOp::attachInterface<LinearModel<AddOp>>(context);
  SubOp::attachInterface<LinearModel<SubOp>>(context);
  MulOp::attachInterface<MulModel>(context);
  DivOp::attachInterface<DivModel>(context);
  SelectOp::attachInterface<SelectModel>(context);
  CastOp::attachInterface<CastModel>(context);
}

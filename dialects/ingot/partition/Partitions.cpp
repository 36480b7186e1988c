// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// How the ops of all families are computed in parts, and what is linear in sums
// over ranks.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Extensions.h"
#include "dialects/ingot/partition/Partitionable.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace ingot;

#include "dialects/ingot/partition/Partitionable.cpp.inc"

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
  return llvm::any_of(getFactors(op), [](const Factor &factor) {
    return factor.kind == Factor::Sum &&
           llvm::count_if(factor.operandDims,
                          [](int64_t dim) { return dim >= 0; }) > 1;
  });
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {

template <typename Op, typename Model>
using ModelOf = Partitionable::ExternalModel<Model, Op>;

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

struct MatmulModel : ModelOf<MatmulOp, MatmulModel> {
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

struct ReduceModel : ModelOf<ReduceOp, ReduceModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto reduce = cast<ReduceOp>(op);
    RankedTensorType type = tensorType(reduce.getOperand());
    SmallVector<Factor> factors = getDefaultFactors(op);
    for (int64_t dim : reduce.getDims())
      factors.push_back(
          {getKind(reduce.getKind()), type.getDimSize(dim), {dim}, {-1}});
    return factors;
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

struct ArgMaxModel : ModelOf<ArgMaxOp, ArgMaxModel> {
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

struct CrossEntropyModel : ModelOf<CrossEntropyOp, CrossEntropyModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto loss = cast<CrossEntropyOp>(op);
    RankedTensorType type = tensorType(loss.getLogits());
    auto classes = static_cast<int64_t>(loss.getDim());
    SmallVector<Factor> factors;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t kept = dim < classes ? dim : dim - 1;
      if (dim != classes)
        factors.push_back(
            {Factor::Free, type.getDimSize(dim), {dim, kept}, {kept, kept}});
    }
    return factors;
  }
};

/// The first dimensions of groups of dimensions with the same elements, without
/// those of size 1.
struct ReshapeModel : ModelOf<ReshapeOp, ReshapeModel> {
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

private:
  static bool skipOnes(ArrayRef<int64_t> shape, size_t &at) {
    while (at < shape.size() && shape[at] == 1)
      ++at;
    return at < shape.size();
  }
};

/// The dimensions that are whole and in place.
struct SliceModel : ModelOf<SliceOp, SliceModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto slice = cast<SliceOp>(op);
    RankedTensorType type = tensorType(slice.getOperand());
    return getFreeDims(type, [&](int64_t dim) {
      return slice.getStarts()[dim] == 0 && slice.getStrides()[dim] == 1 &&
             slice.getLimits()[dim] == type.getDimSize(dim);
    });
  }
  void setFactorSize(Operation *op, const Factor &factor, int64_t size) const {
    auto slice = cast<SliceOp>(op);
    SmallVector<int64_t> limits(slice.getLimits());
    limits[factor.operandDims.front()] = size;
    slice.setLimits(limits);
  }
};

struct PadModel : ModelOf<PadOp, PadModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto pad = cast<PadOp>(op);
    return getFreeDims(tensorType(pad.getOperand()), [&](int64_t dim) {
      return pad.getLow()[dim] == 0 && pad.getHigh()[dim] == 0 &&
             pad.getInterior()[dim] == 0;
    });
  }
};

struct IotaModel : ModelOf<IotaOp, IotaModel> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto iota = cast<IotaOp>(op);
    SmallVector<Factor> factors =
        getFreeDims(tensorType(iota.getResult()), [&](int64_t dim) {
          return dim != static_cast<int64_t>(iota.getDim());
        });
    for (Factor &factor : factors)
      factor.operandDims.clear();
    return factors;
  }
};

//===----------------------------------------------------------------------===//
// Sums over ranks: what is linear in them
//===----------------------------------------------------------------------===//

/// Ops whose operands are all sums.
template <typename Op> struct LinearModel : ModelOf<Op, LinearModel<Op>> {
  bool keepsPartialSums(Operation *,
                        const llvm::SmallBitVector &partial) const {
    return partial.all();
  }
};

struct MulModel : ModelOf<MulOp, MulModel> {
  bool keepsPartialSums(Operation *,
                        const llvm::SmallBitVector &partial) const {
    return partial.count() == 1;
  }
};

struct DivModel : ModelOf<DivOp, DivModel> {
  bool keepsPartialSums(Operation *op,
                        const llvm::SmallBitVector &partial) const {
    return isa<FloatType>(tensorType(op->getResult(0)).getElementType()) &&
           partial.test(0) && !partial.test(1);
  }
};

/// Either a sum or zero on all ranks.
struct SelectModel : ModelOf<SelectOp, SelectModel> {
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
struct CastModel : ModelOf<CastOp, CastModel> {
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
  MatmulOp::attachInterface<MatmulModel>(context);
  ReduceOp::attachInterface<ReduceModel>(context);
  ArgMaxOp::attachInterface<ArgMaxModel>(context);
  CrossEntropyOp::attachInterface<CrossEntropyModel>(context);
  ReshapeOp::attachInterface<ReshapeModel>(context);
  SliceOp::attachInterface<SliceModel>(context);
  PadOp::attachInterface<PadModel>(context);
  IotaOp::attachInterface<IotaModel>(context);
  NegOp::attachInterface<LinearModel<NegOp>>(context);
  AddOp::attachInterface<LinearModel<AddOp>>(context);
  SubOp::attachInterface<LinearModel<SubOp>>(context);
  MulOp::attachInterface<MulModel>(context);
  DivOp::attachInterface<DivModel>(context);
  SelectOp::attachInterface<SelectModel>(context);
  CastOp::attachInterface<CastModel>(context);
}

// SPDX-License-Identifier: Apache-2.0

#include "test/random-graphs/catalogue/Catalogue.h"

#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

static Operation *buildConstant(Source &s) {
  RankedTensorType type = s.realType(s.choose.shape());
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(
        s.builder.getFloatAttr(s.element, s.choose.inDomain(Domain::Any)));
  return ConstantOp::create(s.builder, s.loc(), type,
                            DenseElementsAttr::get(type, values));
}

static Operation *buildIota(Source &s) {
  Shape shape = s.choose.shape();
  auto type = RankedTensorType::get(shape, s.numberElement());
  return IotaOp::create(s.builder, s.loc(), type,
                        s.choose.between(0, shape.size() - 1));
}

static Operation *buildBroadcast(Source &s) {
  Shape to = s.choose.shape(s.choose.between(1, 4), 3), from;
  SmallVector<int64_t> dims;
  for (auto [d, size] : llvm::enumerate(to)) {
    if (s.choose.chance(0.4))
      continue;
    dims.push_back(d);
    from.push_back(s.choose.chance(0.4) ? 1 : size);
  }
  Value x = s.real(from);
  return BroadcastOp::create(s.builder, s.loc(), s.realType(to), x, dims);
}

static Operation *buildReshape(Source &s) {
  Shape factors = s.choose.shape(3, 3);
  auto [a, b, c] = std::tuple(factors[0], factors[1], factors[2]);
  std::vector<Shape> forms = {{a, b, c},    {a * b, c}, {a, b * c},
                              {a * b * c},  {c, a, b},  {1, a * c, b},
                              {b * a, 1, c}};
  Value x = s.real(s.choose.pick(forms));
  return ReshapeOp::create(s.builder, s.loc(), s.realType(s.choose.pick(forms)),
                           x);
}

static Operation *buildTranspose(Source &s) {
  Shape shape = s.choose.shape(s.choose.between(1, 4), 3);
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  for (size_t i = permutation.size(); i > 1; --i)
    std::swap(permutation[i - 1], permutation[s.choose.between(0, i - 1)]);
  Shape to;
  for (int64_t d : permutation)
    to.push_back(shape[d]);
  Value x = s.real(shape);
  return TransposeOp::create(s.builder, s.loc(), s.realType(to), x,
                             permutation);
}

static Operation *buildSlice(Source &s) {
  Shape shape = s.choose.shape(s.choose.between(1, 3), 5), to;
  SmallVector<int64_t> starts, limits, strides;
  for (int64_t size : shape) {
    starts.push_back(s.choose.between(0, size - 1));
    limits.push_back(s.choose.between(starts.back() + 1, size));
    strides.push_back(s.choose.between(1, 3));
    to.push_back((limits.back() - starts.back() + strides.back() - 1) /
                 strides.back());
  }
  Value x = s.real(shape);
  return SliceOp::create(s.builder, s.loc(), s.realType(to), x, starts, limits,
                         strides);
}

static Operation *buildPad(Source &s) {
  Shape shape = s.choose.shape(s.choose.between(1, 3), 3), to;
  SmallVector<int64_t> low, high, interior;
  for (int64_t size : shape) {
    low.push_back(s.choose.between(0, 2));
    high.push_back(s.choose.between(0, 2));
    interior.push_back(s.choose.between(0, 2));
    to.push_back(low.back() + high.back() + size +
                 (size - 1) * interior.back());
  }
  Value x = s.real(shape);
  return PadOp::create(s.builder, s.loc(), s.realType(to), x, low, high,
                       interior, APFloat(0.5));
}

static Operation *buildConcat(Source &s) {
  Shape shape = s.choose.shape(s.choose.between(1, 3), 3);
  int64_t dim = s.choose.between(0, shape.size() - 1), total = 0;
  SmallVector<Value> inputs;
  for (int64_t i = 0, e = s.choose.between(1, 3); i < e; ++i) {
    shape[dim] = s.choose.between(1, 3);
    total += shape[dim];
    inputs.push_back(s.real(shape));
  }
  shape[dim] = total;
  return ConcatOp::create(s.builder, s.loc(), s.realType(shape), inputs, dim);
}

/// Each dimension with this probability.
static SmallVector<int64_t> someDims(Source &s, size_t rank,
                                     double probability) {
  SmallVector<int64_t> dims;
  for (size_t d = 0; d < rank; ++d)
    if (s.choose.chance(probability))
      dims.push_back(d);
  return dims;
}

static Operation *buildReverse(Source &s) {
  Shape shape = s.choose.shape();
  Value x = s.real(shape);
  return ReverseOp::create(s.builder, s.loc(), x.getType(), x,
                           someDims(s, shape.size(), 0.6));
}

static Operation *buildReduce(Source &s, ReductionKind kind) {
  Shape shape = s.choose.shape();
  auto type = RankedTensorType::get(shape, s.numberElement());
  SmallVector<int64_t> dims = someDims(s, shape.size(), 0.6);
  Value x = s.number(type, Domain::NonZero);
  return ReduceOp::create(s.builder, s.loc(), dropDims(type, dims), kind, x,
                          dims);
}

static Operation *buildSquaredDeviations(Source &s) {
  Shape shape = s.choose.shape();
  SmallVector<int64_t> dims = someDims(s, shape.size(), 0.6);
  return SquaredDeviationsOp::create(s.builder, s.loc(),
                                     dropDims(s.realType(shape), dims),
                                     s.real(shape), dims);
}

static Operation *buildArgMax(Source &s) {
  Shape shape = s.choose.shape();
  auto type = RankedTensorType::get(shape, s.numberElement());
  int64_t dim = s.choose.between(0, shape.size() - 1);
  Value x = s.number(type);
  return ArgMaxOp::create(
      s.builder, s.loc(),
      withElement(dropDims(type, dim), s.builder.getI64Type()), x, dim);
}

/// Half the time the transposed matrix, with the flag that says so.
static Value matrix(Source &s, Shape batch, int64_t rows, int64_t columns,
                    UnitAttr &transposed) {
  if (s.choose.chance(0.5)) {
    transposed = s.builder.getUnitAttr();
    std::swap(rows, columns);
  }
  batch.append({rows, columns});
  return s.real(batch);
}

static Operation *buildMatmul(Source &s) {
  Shape batch = s.choose.shape(s.choose.between(0, 2), 3);
  Shape sizes = s.choose.shape(3);
  UnitAttr transposeLhs, transposeRhs;
  Value lhs = matrix(s, batch, sizes[0], sizes[1], transposeLhs);
  Value rhs = matrix(s, batch, sizes[1], sizes[2], transposeRhs);
  batch.append({sizes[0], sizes[2]});
  return MatmulOp::create(s.builder, s.loc(), s.realType(batch), lhs, rhs,
                          transposeLhs, transposeRhs);
}

void ingot::testing::addShape(std::vector<Entry> &entries) {
  addEntry<ConstantOp>(entries, buildConstant);
  addEntry<IotaOp>(entries, buildIota);
  addEntry<BroadcastOp>(entries, buildBroadcast);
  addEntry<ReshapeOp>(entries, buildReshape);
  addEntry<TransposeOp>(entries, buildTranspose);
  addEntry<SliceOp>(entries, buildSlice);
  addEntry<PadOp>(entries, buildPad);
  addEntry<ConcatOp>(entries, buildConcat);
  addEntry<ReverseOp>(entries, buildReverse);
  for (ReductionKind kind : {ReductionKind::Sum, ReductionKind::Prod,
                             ReductionKind::Max, ReductionKind::Min})
    addEntry<ReduceOp>(entries,
                       [kind](Source &s) { return buildReduce(s, kind); });
  addEntry<SquaredDeviationsOp>(entries, buildSquaredDeviations);
  addEntry<ArgMaxOp>(entries, buildArgMax);
  addEntry<MatmulOp>(entries, buildMatmul);
}

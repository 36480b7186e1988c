// SPDX-License-Identifier: Apache-2.0

#include "test/random-graphs/catalogue/Catalogue.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::testing;

static RankedTensorType indexType(Source &s, ArrayRef<int64_t> shape) {
  Type element =
      s.choose.chance(0.5) ? s.builder.getI64Type() : s.builder.getI32Type();
  return RankedTensorType::get(shape, element);
}

/// `shape` with the dimension `dim` replaced by those of the indices.
static Shape replaceDim(ArrayRef<int64_t> shape, int64_t dim,
                        ArrayRef<int64_t> indices) {
  Shape result(shape.take_front(dim));
  result.append(indices.begin(), indices.end());
  result.append(shape.begin() + dim + 1, shape.end());
  return result;
}

static Operation *buildGather(Source &s) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  Shape picked = s.choose.shape(s.choose.between(0, 2), 3);
  Value x = s.real(shape);
  Value indices = s.indices(indexType(s, picked), shape[dim]);
  return GatherOp::create(s.builder, s.loc(),
                          s.realType(replaceDim(shape, dim, picked)), x,
                          indices, dim);
}

static Operation *buildTakeAlong(Source &s) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  Shape picked = shape;
  picked[dim] = s.choose.between(1, 4);
  Value x = s.real(shape);
  Value indices = s.indices(indexType(s, picked), shape[dim]);
  return TakeAlongOp::create(s.builder, s.loc(), s.realType(picked), x, indices,
                             dim);
}

static Operation *buildScatterAdd(Source &s) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  Shape picked = s.choose.shape(s.choose.between(0, 2), 3);
  Value indices = s.indices(indexType(s, picked), shape[dim]);
  Value updates = s.real(replaceDim(shape, dim, picked));
  Value init = s.choose.chance(0.5) ? s.real(shape) : Value();
  return ScatterAddOp::create(s.builder, s.loc(), s.realType(shape), indices,
                              updates, init, dim);
}

static Operation *buildScatter(Source &s, ScatterKind kind) {
  Shape shape = s.choose.shape();
  int64_t dim = s.choose.between(0, shape.size() - 1);
  Shape updated = shape;
  updated[dim] = s.choose.between(1, 4);
  Shape picked = s.choose.chance(0.5) ? updated : Shape{updated[dim]};
  // Gradients of products divide by the operands.
  Domain domain = kind == ScatterKind::Mul ? Domain::Positive : Domain::Any;
  Value init = s.real(shape, domain);
  Value indices = s.indices(indexType(s, picked), shape[dim]);
  Value updates = s.real(updated, domain);
  return ScatterOp::create(s.builder, s.loc(), init.getType(), kind, init,
                           indices, updates, dim);
}

void ingot::testing::addIndexing(std::vector<Entry> &entries) {
  addEntry<GatherOp>(entries, buildGather);
  addEntry<TakeAlongOp>(entries, buildTakeAlong);
  addEntry<ScatterAddOp>(entries, buildScatterAdd);
  for (ScatterKind kind : {ScatterKind::Set, ScatterKind::Add, ScatterKind::Mul,
                           ScatterKind::Max, ScatterKind::Min})
    addEntry<ScatterOp>(entries,
                        [kind](Source &s) { return buildScatter(s, kind); });
}

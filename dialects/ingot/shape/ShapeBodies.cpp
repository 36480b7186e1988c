// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Scalar code of shape ops: where each element of the result comes from.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Buffers.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ingot;

using Elements = SmallVector<Value>;

Elements ConstantOp::emitElements(OpBuilder &b, Location loc, ValueRange,
                                  ElementSource) {
  auto value = cast<DenseElementsAttr>(getValue());
  assert(value.isSplat() && "constants with several values live in memory");
  Type type = codeType(tensorType(getResult()).getElementType());
  if (isa<FloatType>(type))
    return {arith::ConstantOp::create(
        b, loc, FloatAttr::get(type, value.getSplatValue<APFloat>()))};
  return {arith::ConstantOp::create(
      b, loc, IntegerAttr::get(type, value.getSplatValue<APInt>()))};
}

Elements IotaOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                              ElementSource) {
  Value i = indices[getDim()];
  Type type = codeType(tensorType(getResult()).getElementType());
  if (isa<IntegerType>(type))
    return {arith::IndexCastOp::create(b, loc, type, i)};
  Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), i);
  return {arith::SIToFPOp::create(b, loc, type, integer)};
}

Elements BroadcastOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  SmallVector<Value> source;
  for (auto [size, dim] :
       llvm::zip_equal(tensorType(getOperand()).getShape(), getDims()))
    source.push_back(size == 1 ? e.index(0) : indices[dim]);
  return {load(0, source)};
}

std::optional<SmallVector<int64_t>> BroadcastOp::getReadDims(unsigned) {
  SmallVector<int64_t> dims;
  for (auto [size, dim] :
       llvm::zip_equal(tensorType(getOperand()).getShape(), getDims()))
    dims.push_back(size == 1 ? -1 : dim);
  return dims;
}

Elements ReshapeOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                 ElementSource load) {
  ScalarEmitter e{b, loc};
  ArrayRef<int64_t> to = tensorType(getResult()).getShape();
  ArrayRef<int64_t> from = tensorType(getOperand()).getShape();
  SmallVector<Value> source;
  // Dimensions are matched in the smallest groups of equal size, so that only
  // those that are split or merged need divisions.
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    size_t beginTo = i, beginFrom = j;
    int64_t sizeTo = i < to.size() ? to[i++] : 1;
    int64_t sizeFrom = j < from.size() ? from[j++] : 1;
    while (sizeTo != sizeFrom) {
      if (sizeTo < sizeFrom)
        sizeTo *= to[i++];
      else
        sizeFrom *= from[j++];
    }
    Value position = e.linearize(indices.slice(beginTo, i - beginTo),
                                 to.slice(beginTo, i - beginTo));
    llvm::append_range(
        source, e.delinearize(position, from.slice(beginFrom, j - beginFrom)));
  }
  return {load(0, source)};
}

Elements TransposeOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  SmallVector<Value> source(indices.size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    source[dim] = indices[i];
  return {load(0, source)};
}

std::optional<SmallVector<int64_t>> TransposeOp::getReadDims(unsigned) {
  SmallVector<int64_t> dims(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    dims[dim] = static_cast<int64_t>(i);
  return dims;
}

Elements SliceOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                               ElementSource load) {
  ScalarEmitter e{b, loc};
  SmallVector<Value> source;
  for (auto [i, start, stride] :
       llvm::zip_equal(indices, getStarts(), getStrides()))
    source.push_back(e.add(e.mul(i, stride), start));
  return {load(0, source)};
}

Elements PadOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                             ElementSource load) {
  ScalarEmitter e{b, loc};
  RankedTensorType from = tensorType(getOperand());
  ArrayRef<int64_t> to = tensorType(getResult()).getShape();
  Value padding =
      e.constant(codeType(from.getElementType()), getValue().convertToDouble());
  if (from.getNumElements() == 0)
    return {padding};
  Value inside;
  SmallVector<Value> source;
  for (auto [d, i] : llvm::enumerate(indices)) {
    int64_t step = getInterior()[d] + 1;
    Value shifted = e.add(i, -getLow()[d]);
    if (step > 1) {
      // A shifted index below 0 becomes a huge quotient, which is out of range
      // as well.
      inside =
          e.logicalAnd(inside, e.compare(arith::CmpIPredicate::eq,
                                         e.rem(shifted, step), e.index(0)));
      inside = e.logicalAnd(
          inside, e.compare(arith::CmpIPredicate::sge, shifted, e.index(0)));
      shifted = e.div(shifted, step);
    }
    if (from.getDimSize(d) != to[d])
      inside = e.logicalAnd(inside, e.inRange(shifted, from.getDimSize(d)));
    source.push_back(shifted);
  }
  if (!inside)
    return {load(0, source)};
  return {e.branch(
      inside, padding.getType(), [&] { return load(0, source); },
      [&] { return padding; })};
}

Elements ConcatOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                ElementSource load) {
  int64_t dim = getDim();
  SmallVector<int64_t> starts;
  int64_t end = 0;
  for (Value input : getInputs()) {
    starts.push_back(end);
    end += tensorType(input).getDimSize(dim);
  }
  ScalarEmitter e{b, loc};
  Type type = codeType(tensorType(getResult()).getElementType());
  auto read = [&](size_t input) {
    SmallVector<Value> source(indices);
    source[dim] = e.add(indices[dim], -starts[input]);
    return load(input, source);
  };
  // Halves, so that branches are nested no deeper than the logarithm of the
  // number of inputs: what MLIR does with branches takes time for each that
  // they are nested in. Inputs [first, last] are left.
  auto pick = [&](auto &self, size_t first, size_t last) -> Value {
    if (first == last)
      return read(first);
    size_t middle = first + (last - first + 1) / 2;
    Value isLater = e.compare(arith::CmpIPredicate::sge, indices[dim],
                              e.index(starts[middle]));
    return e.branch(
        isLater, type, [&] { return self(self, middle, last); },
        [&] { return self(self, first, middle - 1); });
  };
  // A slice of the result reads few of the inputs, often one.
  auto [least, greatest] =
      ScalarEmitter::bounds(indices[dim]).value_or(std::pair(0L, end - 1));
  auto inputAt = [&](int64_t position) -> size_t {
    position = std::clamp<int64_t>(position, 0, std::max<int64_t>(end - 1, 0));
    return llvm::upper_bound(starts, position) - starts.begin() - 1;
  };
  return {pick(pick, inputAt(least), inputAt(greatest))};
}

Elements ReverseOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                 ElementSource load) {
  ScalarEmitter e{b, loc};
  SmallVector<Value> source(indices);
  for (int64_t dim : getDims())
    source[dim] = e.sub(e.index(tensorType(getOperand()).getDimSize(dim) - 1),
                        indices[dim]);
  return {load(0, source)};
}

Elements GatherOp::emitElements(OpBuilder &b, Location loc, ValueRange indices,
                                ElementSource load) {
  ScalarEmitter e{b, loc};
  int64_t dim = getDim(), rank = tensorType(getIndices()).getRank();
  Value row = load(1, indices.slice(dim, rank));
  SmallVector<Value> source(indices.take_front(dim));
  source.push_back(
      e.clampedIndex(row, tensorType(getOperand()).getDimSize(dim)));
  llvm::append_range(source, indices.drop_front(dim + rank));
  return {load(0, source)};
}

Elements TakeAlongOp::emitElements(OpBuilder &b, Location loc,
                                   ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  SmallVector<Value> source(indices);
  source[getDim()] = e.clampedIndex(
      load(1, indices), tensorType(getOperand()).getDimSize(getDim()));
  return {load(0, source)};
}

//===----------------------------------------------------------------------===//
// scatter_add: threads are distributed over the columns, and each adds rows in
// order, so that the result does not depend on the number of threads.
//===----------------------------------------------------------------------===//

int64_t ScatterAddOp::getParallelExtent() {
  return splitAround(tensorType(getResult()).getShape(), getDim())[2];
}

bool ScatterAddOp::readsPointwise(unsigned operand) {
  return operand >= getODSOperandIndexAndLength(2).first;
}

void ScatterAddOp::emitKernel(OpBuilder &b, Location loc, ValueRange inputs,
                              ValueRange outputs, Value begin, Value end) {
  ScalarEmitter e{b, loc};
  auto view = [&](Value buffer, ArrayRef<int64_t> sizes) {
    return reshapeBuffer(b, loc, buffer, sizes);
  };
  auto out = splitAround(tensorType(getResult()).getShape(), getDim());
  int64_t count = tensorType(getIndices()).getNumElements();
  Value rows = view(inputs[0], {count});
  Value updates = view(inputs[1], {out[0], count, out[2]});
  Value result = view(outputs[0], out);
  Type element = cast<MemRefType>(result.getType()).getElementType();

  auto overColumns = [&](const ScalarEmitter &in, auto body) {
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::ForOp::create(b, loc, begin, end, in.index(1));
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  };
  bool isInPlace = getInit() && inputs[2] == outputs[0];
  Value init = getInit() && !isInPlace ? view(inputs[2], out) : Value();
  if (!isInPlace)
    e.loops(
        {out[0], out[1]}, {},
        [&](const ScalarEmitter &in, ValueRange at, ValueRange) -> Elements {
          Value zero = in.constant(element, 0);
          overColumns(in, [&](Value column) {
            SmallVector<Value> target{at[0], at[1], column};
            Value first =
                init ? memref::LoadOp::create(b, loc, init, target) : zero;
            memref::StoreOp::create(b, loc, first, result, target);
          });
          return {};
        });
  e.loops({out[0], count}, {},
          [&](const ScalarEmitter &in, ValueRange at, ValueRange) -> Elements {
            Value row = in.clampedIndex(
                memref::LoadOp::create(b, loc, rows, at[1]), out[1]);
            overColumns(in, [&](Value column) {
              SmallVector<Value> target{at[0], row, column};
              Value sum = memref::LoadOp::create(b, loc, result, target);
              Value more = memref::LoadOp::create(
                  b, loc, updates, SmallVector<Value>{at[0], at[1], column});
              sum = arith::AddFOp::create(b, loc, sum, more);
              memref::StoreOp::create(b, loc, sum, result, target);
            });
            return {};
          });
}

static constexpr int64_t kBitsOfByte = 8;

Elements PackBitsOp::emitElements(OpBuilder &b, Location loc,
                                  ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  int64_t size = tensorType(getOperand()).getShape().back();
  bool isFull = size == kBitsOfByte * tensorType(getResult()).getShape().back();
  SmallVector<Value> source(indices);
  Value first = e.mul(indices.back(), kBitsOfByte), last = e.index(size - 1);
  Type i8 = b.getI8Type();
  Value byte = arith::ConstantIntOp::create(b, loc, i8, 0);
  for (int64_t bit = 0; bit < kBitsOfByte; ++bit) {
    Value at = e.add(first, bit);
    source.back() =
        isFull ? at : arith::MinSIOp::create(b, loc, at, last).getResult();
    Value value = load(0, source);
    if (!isFull)
      value = arith::AndIOp::create(b, loc, value, e.inRange(at, size));
    value = arith::ExtUIOp::create(b, loc, i8, value);
    value = arith::ShLIOp::create(
        b, loc, value, arith::ConstantIntOp::create(b, loc, i8, bit));
    byte = arith::OrIOp::create(b, loc, byte, value);
  }
  return {byte};
}

Elements UnpackBitsOp::emitElements(OpBuilder &b, Location loc,
                                    ValueRange indices, ElementSource load) {
  ScalarEmitter e{b, loc};
  SmallVector<Value> source(indices);
  source.back() = e.div(indices.back(), kBitsOfByte);
  Type i8 = b.getI8Type();
  Value bit = arith::IndexCastOp::create(b, loc, i8,
                                         e.rem(indices.back(), kBitsOfByte));
  Value shifted = arith::ShRUIOp::create(b, loc, load(0, source), bit);
  return {arith::TruncIOp::create(b, loc, b.getI1Type(), shifted)};
}

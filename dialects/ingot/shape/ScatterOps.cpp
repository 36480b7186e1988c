// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// scatter: its rules, its loops and its gradient.
//
// Elements whose other coordinates differ are independent: threads are
// distributed over these, and each applies its updates in order, so that the
// result does not depend on the number of threads.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/builders/Buffers.h"
#include "dialects/ingot/builders/Scalars.h"
#include "dialects/ingot/support/Verification.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

/// Returns whether one vector of indices holds for all other coordinates.
static bool sharesIndices(ScatterOp op) {
  return tensorType(op.getIndices()).getRank() == 1;
}

LogicalResult ScatterOp::verify() {
  auto fail = [&](const Twine &message) { return emitOpError(message); };
  RankedTensorType result = tensorType(getResult());
  RankedTensorType updates = tensorType(getUpdates());
  RankedTensorType indices = tensorType(getIndices());
  int64_t dim = getDim();
  if (failed(checkDim(fail, "C1", dim, result.getRank())) ||
      failed(checkElement(fail, "C2", "the result", updates.getElementType(),
                          result.getElementType())))
    return failure();
  if (updates.getRank() != result.getRank())
    return emitOpError("C3: updates must have the result's rank ")
           << result.getRank() << ", got " << updates.getRank();
  SmallVector<int64_t> want(result.getShape());
  want[dim] = updates.getDimSize(dim);
  if (failed(checkShape(fail, "C3", "updates", want, updates.getShape())))
    return failure();
  if (sharesIndices(*this))
    want = {updates.getDimSize(dim)};
  if (failed(checkShape(fail, "C4", "indices", want, indices.getShape())))
    return failure();
  if (result.getDimSize(dim) == 0 && updates.getNumElements() != 0)
    return emitOpError("C5: dimension ") << dim << " must not be empty";
  if (result.getElementType().isInteger(1) && getKind() != ScatterKind::Set)
    return emitOpError("C6: booleans can only be set");
  return success();
}

ElementIndices ScatterOp::getElementIndices() {
  return {getIndices(), tensorType(getResult()).getDimSize(getDim())};
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

int64_t ScatterOp::getParallelExtent() {
  auto sizes = splitAround(tensorType(getResult()).getShape(), getDim());
  return sizes[0] * sizes[2];
}

bool ScatterOp::readsPointwise(unsigned operand) { return operand == 0; }

static Value emitCombine(const ScalarEmitter &e, ScatterKind kind,
                         bool isUnsigned, Value old, Value update) {
  bool isFloat = isa<FloatType>(old.getType());
  auto emit = [&]<typename Float, typename Signed, typename Unsigned>(
                  Float *, Signed *, Unsigned *) -> Value {
    if (isFloat)
      return Float::create(e.b, e.loc, old, update);
    if (isUnsigned)
      return Unsigned::create(e.b, e.loc, old, update);
    return Signed::create(e.b, e.loc, old, update);
  };
  auto as = []<typename Op>() -> Op * { return nullptr; };
  switch (kind) {
  case ScatterKind::Set:
    return update;
  case ScatterKind::Add:
    return emit(as.operator()<arith::AddFOp>(), as.operator()<arith::AddIOp>(),
                as.operator()<arith::AddIOp>());
  case ScatterKind::Mul:
    return emit(as.operator()<arith::MulFOp>(), as.operator()<arith::MulIOp>(),
                as.operator()<arith::MulIOp>());
  case ScatterKind::Max:
    return emit(as.operator()<arith::MaximumFOp>(),
                as.operator()<arith::MaxSIOp>(),
                as.operator()<arith::MaxUIOp>());
  case ScatterKind::Min:
    return emit(as.operator()<arith::MinimumFOp>(),
                as.operator()<arith::MinSIOp>(),
                as.operator()<arith::MinUIOp>());
  }
  llvm_unreachable("unknown kind");
}

void ScatterOp::emitKernel(OpBuilder &b, Location loc, ValueRange inputs,
                           ValueRange outputs, Value begin, Value end) {
  ScalarEmitter e{b, loc};
  auto view = [&](Value buffer, ArrayRef<int64_t> sizes) {
    return reshapeBuffer(b, loc, buffer, sizes);
  };
  auto out = splitAround(tensorType(getResult()).getShape(), getDim());
  auto from = splitAround(tensorType(getUpdates()).getShape(), getDim());
  bool isShared = sharesIndices(*this);
  bool isInPlace = inputs[0] == outputs[0];
  Value result = view(outputs[0], out), updates = view(inputs[2], from);
  Value init = isInPlace ? Value() : view(inputs[0], out);
  Value indices = isShared ? view(inputs[1], {from[1]}) : view(inputs[1], from);
  bool isUnsigned =
      tensorType(getResult()).getElementType().isUnsignedInteger();

  auto loop = scf::ForOp::create(b, loc, begin, end, e.index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value before = e.div(loop.getInductionVar(), out[2]);
  Value column = e.rem(loop.getInductionVar(), out[2]);
  if (init)
    e.loops({out[1]}, {},
            [&](const ScalarEmitter &in, ValueRange at,
                ValueRange) -> SmallVector<Value> {
              SmallVector<Value> target{before, at[0], column};
              Value value = memref::LoadOp::create(b, loc, init, target);
              memref::StoreOp::create(b, loc, value, result, target);
              return {};
            });
  e.loops({from[1]}, {},
          [&](const ScalarEmitter &in, ValueRange at,
              ValueRange) -> SmallVector<Value> {
            SmallVector<Value> source{before, at[0], column};
            Value index = memref::LoadOp::create(
                b, loc, indices, isShared ? SmallVector<Value>{at[0]} : source);
            SmallVector<Value> target{before, in.clampedIndex(index, out[1]),
                                      column};
            Value update = memref::LoadOp::create(b, loc, updates, source);
            Value value = update;
            if (getKind() != ScatterKind::Set) {
              Value old = memref::LoadOp::create(b, loc, result, target);
              value = emitCombine(in, getKind(), isUnsigned, old, update);
            }
            memref::StoreOp::create(b, loc, value, result, target);
            return {};
          });
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

namespace {
/// Builds ops with the indices of a scatter.
class Scatters : public Arithmetic {
public:
  Scatters(OpBuilder &builder, ScatterOp op)
      : Arithmetic(builder, op.getLoc()), b(builder), op(op) {}

  /// Returns the elements that the indices select.
  Value gather(Value from) {
    RankedTensorType type = withElement(tensorType(op.getUpdates()),
                                        tensorType(from).getElementType());
    if (sharesIndices(op) && tensorType(from).getRank() == 1)
      type = RankedTensorType::get(tensorType(op.getIndices()).getShape(),
                                   type.getElementType());
    int64_t dim = tensorType(from).getRank() == 1 ? 0 : op.getDim();
    if (sharesIndices(op))
      return GatherOp::create(b, op.getLoc(), type, from, op.getIndices(), dim);
    return TakeAlongOp::create(b, op.getLoc(), type, from, op.getIndices(),
                               dim);
  }

  Value scatter(ScatterKind kind, Value updates, Value init, int64_t dim) {
    return ScatterOp::create(b, op.getLoc(), init.getType(), kind, init,
                             op.getIndices(), updates, dim);
  }

  /// Returns where the update is the last one of its element.
  Value isLast() {
    RankedTensorType updates = tensorType(op.getUpdates());
    RankedTensorType rows = tensorType(op.getResult());
    int64_t dim = op.getDim();
    if (sharesIndices(op)) {
      updates = RankedTensorType::get({updates.getDimSize(dim)},
                                      updates.getElementType());
      rows =
          RankedTensorType::get({rows.getDimSize(dim)}, rows.getElementType());
      dim = 0;
    }
    Type i64 = b.getI64Type();
    Value number = iota(withElement(updates, i64), dim);
    Value last = scatter(ScatterKind::Set, number,
                         constant(withElement(rows, i64), -1), dim);
    Value kept = compare(Predicate::EQ, gather(last), number);
    return sharesIndices(op)
               ? broadcast(kept, tensorType(op.getUpdates()).getShape(),
                           {static_cast<int64_t>(op.getDim())})
               : kept;
  }

private:
  OpBuilder &b;
  ScatterOp op;
};
} // namespace

LogicalResult ScatterOp::buildVjp(OpBuilder &builder, ArrayRef<Value> g,
                                  const llvm::BitVector &needed,
                                  MutableArrayRef<Value> out) {
  if (!isa<FloatType>(tensorType(getResult()).getElementType()) ||
      tensorType(getResult()).getNumElements() == 0)
    return success();
  if (tensorType(getUpdates()).getNumElements() == 0) {
    out[0] = g[0];
    return success();
  }
  Scatters a(builder, *this);
  int64_t dim = getDim();
  bool toInit = needed[0], toUpdates = needed[2];
  switch (getKind()) {
  case ScatterKind::Set:
    if (toInit)
      out[0] = a.scatter(ScatterKind::Set, a.constantLike(getUpdates(), 0.0),
                         g[0], dim);
    if (toUpdates)
      out[2] = a.select(a.isLast(), a.gather(g[0]), 0.0);
    return success();
  case ScatterKind::Add:
    if (toInit)
      out[0] = g[0];
    if (toUpdates)
      out[2] = a.gather(g[0]);
    return success();
  case ScatterKind::Mul: {
    // The product of the other factors: without zeros, and 0 unless none of
    // the others is 0.
    Type element = tensorType(getResult()).getElementType();
    auto isZero = [&](Value x) { return a.compare(Predicate::EQ, x, 0.0); };
    Value zeroInit = isZero(getInit()), zeroUpdates = isZero(getUpdates());
    Value init = a.select(zeroInit, 1.0, getInit());
    Value updates = a.select(zeroUpdates, 1.0, getUpdates());
    Value zeros = a.scatter(ScatterKind::Add, a.cast(zeroUpdates, element),
                            a.cast(zeroInit, element), dim);
    Value product =
        a.mul(g[0], a.scatter(ScatterKind::Mul, updates, init, dim));
    auto where = [&](double count) {
      return a.select(a.compare(Predicate::EQ, zeros, count), product, 0.0);
    };
    Value alone = where(1.0), others = where(0.0);
    if (toInit)
      out[0] = a.select(zeroInit, alone, a.div(others, init));
    if (toUpdates)
      out[2] = a.select(zeroUpdates, a.gather(alone),
                        a.div(a.gather(others), updates));
    return success();
  }
  case ScatterKind::Max:
  case ScatterKind::Min: {
    Type element = tensorType(getResult()).getElementType();
    Value initWins =
        a.cast(a.compare(Predicate::EQ, getInit(), getResult()), element);
    Value updateWins = a.cast(
        a.compare(Predicate::EQ, getUpdates(), a.gather(getResult())), element);
    Value winners = a.scatter(ScatterKind::Add, updateWins, initWins, dim);
    // Without a winner the result is NaN, and so is the gradient.
    Value share = a.div(g[0], winners);
    if (toInit)
      out[0] = a.mul(initWins, share);
    if (toUpdates)
      out[2] = a.mul(updateWins, a.gather(share));
    return success();
  }
  }
  llvm_unreachable("unknown kind");
}

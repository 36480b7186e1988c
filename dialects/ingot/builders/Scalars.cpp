// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/builders/Scalars.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

static std::optional<int64_t> knownIndex(Value value) {
  IntegerAttr attr;
  if (matchPattern(value, m_Constant(&attr)))
    return attr.getInt();
  return std::nullopt;
}

Value ScalarEmitter::index(int64_t value) const {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value ScalarEmitter::constant(Type type, double value) const {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  if (type.isInteger(1))
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(value != 0));
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value ScalarEmitter::add(Value a, Value other) const {
  auto x = knownIndex(a), y = knownIndex(other);
  if (x && y)
    return index(*x + *y);
  if (x && *x == 0)
    return other;
  if (y && *y == 0)
    return a;
  return arith::AddIOp::create(b, loc, a, other);
}

Value ScalarEmitter::add(Value a, int64_t other) const {
  return other == 0 ? a : add(a, index(other));
}

Value ScalarEmitter::sub(Value a, Value other) const {
  if (auto y = knownIndex(other); y && *y == 0)
    return a;
  return arith::SubIOp::create(b, loc, a, other);
}

Value ScalarEmitter::mul(Value a, int64_t factor) const {
  if (factor == 1)
    return a;
  if (auto x = knownIndex(a))
    return index(*x * factor);
  return arith::MulIOp::create(b, loc, a, index(factor));
}

Value ScalarEmitter::div(Value a, int64_t divisor) const {
  if (divisor == 1)
    return a;
  if (auto x = knownIndex(a))
    return index(*x / divisor);
  return arith::DivUIOp::create(b, loc, a, index(divisor));
}

Value ScalarEmitter::rem(Value a, int64_t divisor) const {
  if (divisor == 1)
    return index(0);
  if (auto x = knownIndex(a))
    return index(*x % divisor);
  return arith::RemUIOp::create(b, loc, a, index(divisor));
}

Value ScalarEmitter::compare(arith::CmpIPredicate predicate, Value a,
                             Value other) const {
  return arith::CmpIOp::create(b, loc, predicate, a, other);
}

std::optional<std::pair<int64_t, int64_t>> ScalarEmitter::bounds(Value a) {
  // An index is a short expression. Whatever is longer is not worth the time.
  constexpr unsigned deepest = 8;
  using Bounds = std::optional<std::pair<int64_t, int64_t>>;
  auto find = [](auto &self, Value value, unsigned depth) -> Bounds {
    if (auto known = knownIndex(value))
      return {{*known, *known}};
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // A block that is emitted to be read only is in no operation.
      auto loop =
          dyn_cast_if_present<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument != loop.getInductionVar())
        return std::nullopt;
      auto from = knownIndex(loop.getLowerBound());
      auto to = knownIndex(loop.getUpperBound());
      if (!from || !to || *from >= *to)
        return std::nullopt;
      return {{*from, *to - 1}};
    }
    Operation *op = value.getDefiningOp();
    if (depth == 0 || op->getNumOperands() != 2)
      return std::nullopt;
    auto right = knownIndex(op->getOperand(1));
    if (isa<arith::RemUIOp>(op) && right && *right > 0)
      return {{0, *right - 1}};
    Bounds left = self(self, op->getOperand(0), depth - 1);
    if (!left || !right)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return {{left->first + *right, left->second + *right}};
    if (isa<arith::MulIOp>(op) && *right >= 0)
      return {{left->first * *right, left->second * *right}};
    if (isa<arith::DivUIOp>(op) && *right > 0 && left->first >= 0)
      return {{left->first / *right, left->second / *right}};
    return std::nullopt;
  };
  return find(find, a, deepest);
}

Value ScalarEmitter::inRange(Value a, int64_t limit) const {
  // One unsigned comparison: a negative index is a huge one.
  return compare(arith::CmpIPredicate::ult, a, index(limit));
}

Value ScalarEmitter::logicalAnd(Value a, Value other) const {
  if (!a || !other)
    return a ? a : other;
  return arith::AndIOp::create(b, loc, a, other);
}

/// Returns the dividend of an index division or remainder by `divisor`; null
/// otherwise.
template <typename Op> static Value dividend(Value value, int64_t divisor) {
  auto op = value.getDefiningOp<Op>();
  return op && knownIndex(op.getRhs()) == divisor ? op.getLhs() : Value();
}

Value ScalarEmitter::linearize(ValueRange indices,
                               ArrayRef<int64_t> shape) const {
  // Combines indices that delinearize() split, so that collapsed loops keep
  // unit strides.
  SmallVector<std::pair<Value, int64_t>> parts;
  for (auto [i, size] : llvm::zip_equal(indices, shape))
    if (size != 1)
      parts.push_back({i, size});
  Value position = index(0);
  int64_t stride = 1;
  while (!parts.empty()) {
    auto [part, size] = parts.pop_back_val();
    if (Value whole = dividend<arith::RemUIOp>(part, size)) {
      // `base` is the value that was divided last, by `divisor`.
      Value base = whole;
      int64_t divisor = size, span = size;
      bool complete = false;
      while (!parts.empty() && !complete) {
        auto [outer, outerSize] = parts.back();
        complete = dividend<arith::DivUIOp>(outer, divisor) == base;
        if (!complete) {
          Value quotient = dividend<arith::RemUIOp>(outer, outerSize);
          if (!quotient || dividend<arith::DivUIOp>(quotient, divisor) != base)
            break;
          base = quotient;
          divisor = outerSize;
        }
        span *= outerSize;
        parts.pop_back();
      }
      if (span != size)
        part = complete ? whole : rem(whole, span);
      size = span;
    }
    position = add(position, mul(part, stride));
    stride *= size;
  }
  return position;
}

SmallVector<Value> ScalarEmitter::delinearize(Value position,
                                              ArrayRef<int64_t> shape) const {
  SmallVector<Value> indices(shape.size());
  // The outermost dimension that is not 1 needs no remainder.
  size_t outer = 0;
  while (outer < shape.size() && shape[outer] == 1)
    ++outer;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) {
      indices[i] = index(0);
      continue;
    }
    indices[i] = i == outer ? position : rem(position, shape[i]);
    if (i != outer)
      position = div(position, shape[i]);
  }
  return indices;
}

Value ScalarEmitter::clampedIndex(Value element, int64_t size) const {
  // An index may have 32 bits, which numbers out of bounds need not fit.
  Type type = element.getType();
  if (type.getIntOrFloatBitWidth() > 32) {
    auto bound = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, loc, type, value);
    };
    element = arith::MaxSIOp::create(b, loc, element, bound(0));
    element = arith::MinSIOp::create(b, loc, element, bound(size - 1));
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), element);
  }
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), element);
  i = arith::MaxSIOp::create(b, loc, i, index(0));
  return arith::MinSIOp::create(b, loc, i, index(size - 1));
}

/// Returns an f64 as an f32 whose last bit is odd if the conversion is not
/// exact, so that rounding once more yields the same result as rounding once.
static Value roundToOdd(const ScalarEmitter &e, Value value) {
  OpBuilder &b = e.b;
  Type f64 = value.getType(), i32 = b.getI32Type();
  Value near = arith::TruncFOp::create(b, e.loc, b.getF32Type(), value);
  Value back = arith::ExtFOp::create(b, e.loc, f64, near);
  Value bits = arith::BitcastOp::create(b, e.loc, i32, near);
  auto magnitude = [&](Value x) -> Value {
    return math::AbsFOp::create(b, e.loc, x);
  };
  Value tooSmall = arith::CmpFOp::create(b, e.loc, arith::CmpFPredicate::OLT,
                                         magnitude(back), magnitude(value));
  Value inexact =
      arith::CmpFOp::create(b, e.loc, arith::CmpFPredicate::ONE, back, value);
  Value isEven =
      e.compare(arith::CmpIPredicate::eq,
                arith::AndIOp::create(b, e.loc, bits, e.constant(i32, 1)),
                e.constant(i32, 0));
  Value step = arith::SelectOp::create(b, e.loc, tooSmall, e.constant(i32, 1),
                                       e.constant(i32, -1));
  Value odd = arith::AddIOp::create(b, e.loc, bits, step);
  Value chosen = arith::SelectOp::create(
      b, e.loc, e.logicalAnd(inexact, isEven), odd, bits);
  return arith::BitcastOp::create(b, e.loc, b.getF32Type(), chosen);
}

Value ScalarEmitter::convertFloat(Value value, Type type) const {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type || !isa<FloatType>(type))
    return value;
  if (from < to)
    return arith::ExtFOp::create(b, loc, type, value);
  if (type.isBF16() && from == 64)
    value = roundToOdd(*this, value);
  if (from > to)
    return arith::TruncFOp::create(b, loc, type, value);
  // f16 and bf16 are converted by way of f32.
  Value wide = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
  return arith::TruncFOp::create(b, loc, type, wide);
}

Value ScalarEmitter::branch(Value condition, Type type,
                            function_ref<Value()> then,
                            function_ref<Value()> otherwise) const {
  OpBuilder::InsertionGuard guard(b);
  auto op = scf::IfOp::create(b, loc, type, condition, /*withElseRegion=*/true);
  b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(b, loc, then());
  b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return op.getResult(0);
}

SmallVector<Value> ScalarEmitter::loops(ArrayRef<int64_t> sizes,
                                        ValueRange initial,
                                        LoopBody body) const {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> indices;
  SmallVector<scf::ForOp> nest;
  ValueRange carried = initial;
  for (int64_t size : sizes) {
    if (size == 1) {
      indices.push_back(index(0));
      continue;
    }
    auto loop =
        scf::ForOp::create(b, loc, index(0), index(size), index(1), carried);
    indices.push_back(loop.getInductionVar());
    carried = loop.getRegionIterArgs();
    nest.push_back(loop);
    b.setInsertionPointToStart(loop.getBody());
  }
  SmallVector<Value> results =
      body(*this, indices, SmallVector<Value>(carried));
  for (scf::ForOp loop : llvm::reverse(nest)) {
    b.setInsertionPointToEnd(loop.getBody());
    // A loop that carries nothing has its terminator already.
    if (!results.empty())
      scf::YieldOp::create(b, loc, results);
    results = llvm::to_vector_of<Value>(loop.getResults());
  }
  return results;
}

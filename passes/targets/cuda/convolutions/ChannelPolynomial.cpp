// SPDX-License-Identifier: Apache-2.0

#include "passes/targets/cuda/convolutions/ChannelPolynomial.h"

#include "dialects/ingot/builders/Arithmetic.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ingot;

unsigned ChannelPolynomial::getDegree() const {
  for (unsigned power = coefficients.size(); power-- > 1;)
    if (!coefficients[power].isZero())
      return power;
  return 0;
}

ChannelPolynomials::ChannelPolynomials(OpBuilder &builder, Value x)
    : builder(builder), x(x) {}

Value ChannelPolynomials::materialize(const ChannelNumber &number) {
  if (number.vector)
    return number.vector;
  Arithmetic a(builder, x.getLoc());
  auto type = RankedTensorType::get({tensorType(x).getShape().back()},
                                    builder.getF64Type());
  return a.constant(type, number.constant);
}

ChannelNumber ChannelPolynomials::add(const ChannelNumber &a,
                                      const ChannelNumber &b) {
  if (!a.vector && !b.vector)
    return {a.constant + b.constant, {}};
  if (a.isZero())
    return b;
  if (b.isZero())
    return a;
  return {0,
          Arithmetic(builder, x.getLoc()).add(materialize(a), materialize(b))};
}

ChannelNumber ChannelPolynomials::multiply(const ChannelNumber &a,
                                           const ChannelNumber &b) {
  if (!a.vector && !b.vector)
    return {a.constant * b.constant, {}};
  if (a.isZero() || b.isZero())
    return {};
  if (!a.vector && a.constant == 1)
    return b;
  if (!b.vector && b.constant == 1)
    return a;
  return {0,
          Arithmetic(builder, x.getLoc()).mul(materialize(a), materialize(b))};
}

ChannelPolynomial ChannelPolynomials::add(const ChannelPolynomial &a,
                                          const ChannelPolynomial &b,
                                          double factor) {
  ChannelPolynomial sum;
  for (size_t i = 0; i < sum.coefficients.size(); ++i)
    sum.coefficients[i] =
        add(a.coefficients[i], multiply({factor, {}}, b.coefficients[i]));
  return sum;
}

std::optional<ChannelPolynomial>
ChannelPolynomials::multiply(const ChannelPolynomial &a,
                             const ChannelPolynomial &b) {
  ChannelPolynomial product;
  if (a.getDegree() + b.getDegree() >= product.coefficients.size())
    return std::nullopt;
  for (unsigned i = 0; i <= a.getDegree(); ++i)
    for (unsigned j = 0; j <= b.getDegree(); ++j)
      product.coefficients[i + j] =
          add(product.coefficients[i + j],
              multiply(a.coefficients[i], b.coefficients[j]));
  return product;
}

std::optional<ChannelPolynomial> ChannelPolynomials::compute(Value value,
                                                             unsigned depth) {
  constexpr unsigned mostDepth = 32;
  Operation *op = value.getDefiningOp();
  if (!op || depth > mostDepth || op->getNumResults() != 1 ||
      tensorType(value).getShape() != tensorType(x).getShape() ||
      !tensorType(value).getElementType().isF32())
    return std::nullopt;
  ChannelPolynomial result;
  DenseElementsAttr constant;
  if (matchPattern(op, m_Constant(&constant)) && constant.isSplat()) {
    result.coefficients[0].constant =
        constant.getSplatValue<APFloat>().convertToDouble();
    return result;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    RankedTensorType from = tensorType(broadcast.getOperand());
    int64_t channels = tensorType(x).getRank() - 1;
    if (from.getRank() != 1 || broadcast.getDims()[0] != channels ||
        from.getDimSize(0) != tensorType(x).getDimSize(channels))
      return std::nullopt;
    result.coefficients[0].vector =
        Arithmetic(builder, x.getLoc())
            .cast(broadcast.getOperand(), builder.getF64Type());
    return result;
  }
  if (auto cast = dyn_cast<CastOp>(op)) {
    if (cast.getOperand() != x)
      return std::nullopt;
    result.coefficients[1].constant = 1;
    return result;
  }
  if (!isa<AddOp, SubOp, MulOp>(op))
    return std::nullopt;
  auto operand = [&](unsigned i) -> std::optional<ChannelPolynomial> {
    Value of = op->getOperand(i);
    auto found = known.find(of);
    if (found != known.end())
      return found->second;
    auto computed = compute(of, depth + 1);
    known[of] = computed;
    return computed;
  };
  std::optional<ChannelPolynomial> a = operand(0), b = operand(1);
  if (!a || !b)
    return std::nullopt;
  if (isa<MulOp>(op))
    return multiply(*a, *b);
  return add(*a, *b, isa<SubOp>(op) ? -1 : 1);
}

std::optional<ChannelPolynomial> ChannelPolynomials::of(Value value) {
  return compute(value, /*depth=*/0);
}
